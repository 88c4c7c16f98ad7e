//go:build race

package generate

// memoryRecords is how many records the memory test makes; the race detector
// makes each several times dearer.
const memoryRecords = 200_000
