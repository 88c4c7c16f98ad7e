//go:build race

package api

// raceSlows is how many times slower the race detector may make an answer.
const raceSlows = 10
