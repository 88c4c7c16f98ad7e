package erasure

// Make is New by another normalization.
var Make = Keys.make
