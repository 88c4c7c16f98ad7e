package document

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"atlas/search/catalog"
)

// drawLine draws a line with any fields of a dataset.
func drawLine(t *rapid.T, d catalog.Dataset) []byte {
	id := rapid.Custom(func(t *rapid.T) string {
		return uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")).String()
	})
	noNUL := func(s string) string { return strings.ReplaceAll(s, "\x00", "0") }
	line := map[string]any{}
	for _, f := range catalog.Fields(d) {
		if f.Derive != nil || !f.Required && rapid.Bool().Draw(t, f.Name+" unknown") {
			continue
		}
		var value any
		switch {
		case f.Vocabulary != nil:
			value = rapid.SampledFrom(f.Vocabulary.Values()).Draw(t, f.Name)
			if f.List() {
				value = []any{value}
			}
		case f.Type == catalog.String:
			value = "x" + noNUL(rapid.StringN(0, 50, -1).Draw(t, f.Name))
		case f.Type == catalog.Strings:
			value = rapid.SliceOfN(rapid.Map(rapid.StringN(0, 20, -1), noNUL), 0, 5).Draw(t, f.Name)
		case f.Type == catalog.Integer:
			value = rapid.Int64Range(-1<<53, 1<<53).Draw(t, f.Name)
		case f.Type == catalog.Double:
			value = rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, f.Name)
		case f.Type == catalog.Time:
			value = time.UnixMilli(rapid.Int64Range(-60_000_000_000_000, 250_000_000_000_000).Draw(t, f.Name)).UTC().Format(catalog.TimeLayout)
		case f.Type == catalog.UUID:
			value = id.Draw(t, f.Name)
		case f.Type == catalog.UUIDs:
			value = rapid.SliceOfN(id, 0, 4).Draw(t, f.Name)
		}
		line[f.Name] = value
	}
	b, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A decoded record builds the same document and does not alias its input.
func TestBinaryRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				line := drawLine(t, d)
				r, problems := Parse(d, line, time.UnixMilli(1_700_000_000_000))
				if len(problems) > 0 {
					t.Fatalf("%v, of %s", problems, line)
				}
				packed := r.AppendBinary([]byte("before"))[len("before"):]
				again, err := DecodeBinary(d, packed)
				if err != nil {
					t.Fatalf("%v, of %s", err, line)
				}
				for i := range packed {
					packed[i] = 0xAA
				}
				if diff := cmp.Diff(r.values, again.values); diff != "" {
					t.Fatal(diff)
				}
				if a, b := Build(r, None{}), Build(again, None{}); !bytes.Equal(a, b) {
					t.Fatalf("%s\n%s", a, b)
				}
			})
		})
	}
}

// Damaged bytes yield an error or another record, never a panic.
func FuzzDecodeBinary(f *testing.F) {
	r, problems := Parse(catalog.Projects, []byte(`{"id":"0198c0de-0000-7000-8000-000000000001","name":"Mill","stories":3,"cost":1.5,"account_ids":["0198c0de-0000-7000-8000-000000000002"],"filed_at":"2024-01-02"}`), time.UnixMilli(0))
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	packed := r.AppendBinary(nil)
	f.Add(packed)
	for n := range packed {
		f.Add(packed[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range catalog.Datasets {
			if r, err := DecodeBinary(d, b); err == nil {
				_ = r.ID()
			}
		}
	})
}

func TestIDBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got := IDBytes(id.String()); got != id {
			t.Fatalf("%v, want %v", got, id)
		}
		if got := idText(id); got != id.String() {
			t.Fatalf("%v, want %v", got, id)
		}
	})
}
