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
		`null`: "-", `""`: "-", `"a\u001b[31mb\nc\td"`: "a\uFFFD[31mb c d", `["x","y"]`: "x, y", `12.50`: "12.50",
		`true`: "true", `{"a":1}`: `{"a":1}`, ``: "-",
		`"2020-01-02T00:00:00.000Z"`: "2020-01-02", `"` + strings.Repeat("é", 50) + `"`: strings.Repeat("é", 43) + "…",
		`"\u202eevil"`: "\uFFFDevil",
	} {
		if got := shownCell(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// The rows of a Parquet file wait in a file beside it, which the cursor file must not be.
func TestCursorFileIsAnotherFile(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"/d/x.parquet": true, "/d/x.parquet.ndjson": true, "/d/x.parquet.cursor": false} {
		c := Export{Out: "/d/x.parquet", CursorFile: name}
		err := c.Check()
		if got := err != nil && strings.Contains(err.Error(), "--cursor-file must be another file"); got != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
