package views

// Arranged is what a change makes of an order of Favorites.
var Arranged = applyFavoriteChanges
