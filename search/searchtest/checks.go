package searchtest

import (
	"testing"

	"pgregory.net/rapid"
)

// CheckAll is rapid.Check with all its checks. With -short rapid runs a fifth of them,
// which is too few for a test that counts what was drawn.
func CheckAll(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	repeated := 1
	if testing.Short() {
		repeated = 5
	}
	for range repeated {
		rapid.Check(t, property)
	}
}
