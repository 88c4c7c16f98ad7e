package search

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a record holds does not steer the terminal.
func TestShownCells(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`null`: "-", `""`: "-", `"a\u001b[31mb\nc\td"`: "a\uFFFD[31mb c d", `["x","y"]`: "x, y", `12.50`: "12.50", `true`: "true", `{"a":1}`: `{"a":1}`, ``: "-",
		`"2020-01-02T00:00:00.000Z"`: "2020-01-02", `"` + strings.Repeat("é", 50) + `"`: strings.Repeat("é", 43) + "…", `"\u202eevil"`: "\uFFFDevil",
	} {
		if got := shownCell(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
