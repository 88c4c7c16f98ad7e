//go:build !race

package api

const raceSlows = 1
