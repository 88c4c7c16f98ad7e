package elastic

import "testing"

func TestAllIndexed(t *testing.T) {
	for answer, want := range map[string]int{
		`{"items":[{"index":{"status":201}}]}`:                          1,
		`{"items":[{"index":{"status":201}},{"index":{"status":200}}]}`: 2,
		`{}`:           0,
		`{"items":[]}`: 0,
		`{"items":[{"index":{"status":201}},{"index":{"status":429}}]}`:            0,
		`{"items":[{"index":{"status":202}}]}`:                                     0,
		`{"items":[{"index":{"status":2010}}]}`:                                    0,
		`{"items":[{"index":{"status":201,"error":{}}}]}`:                          0,
		`{"items":[{"delete":{"status":200}}]}`:                                    0,
		`{"items":[{"index":{"status":201}},{"delete":{"status":200}}]}`:           0,
		`{"items":[{"index":{"status":201}},`:                                      0,
		`{"items":[{"index":{"status":201}}`:                                       0,
		`{"items":[{"index":{"status":201}}]} `:                                    0,
		`{"items":[{"index":{"status":201}}]}{"items":[{"index":{"status":201}}]}`: 0,
		`{"errors":false,"items":[{"index":{"status":201}}]}`:                      0,
	} {
		if n, ok := allIndexed([]byte(answer)); n != want && ok || ok != (want > 0) {
			t.Errorf("%s: %d, %t", answer, n, ok)
		}
	}
}
