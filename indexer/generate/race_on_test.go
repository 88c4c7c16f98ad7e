//go:build race

package generate

// memoryRecords is how many records the memory test makes. The race detector makes each
// several times slower.
const memoryRecords = 200_000
