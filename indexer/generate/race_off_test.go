//go:build !race

package generate

// memoryRecords is how many records the memory test makes.
const memoryRecords = 1_000_000
