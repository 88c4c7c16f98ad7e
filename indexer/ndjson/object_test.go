package ndjson_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"atlas/indexer/ndjson"
)

func TestObject(t *testing.T) {
	t.Parallel()
	var o ndjson.Object
	if got := string(o.Line()); got != "{}" {
		t.Errorf("an empty object is %s", got)
	}
	o.Reset()
	o.Text("name", "Caf\u00e9 \"A\\B\"\n\x01")
	o.Text("unknown", "")
	o.List("none", nil)
	o.List("two", []string{"a", "b"})
	o.Int("n", -7)
	o.Float("cost", 1250000000.5)
	o.Float("nothing", math.NaN())
	o.Time("at", time.Date(2024, 2, 29, 23, 0, 0, 7_900_000, time.FixedZone("", -3600)))
	o.Time("never", time.Time{})
	want := `{"name":"Café \"A\\B\"\n\u0001","none":[],"two":["a","b"],"n":-7,"cost":1250000000.5,"at":"2024-03-01T00:00:00.007Z"}`
	if diff := cmp.Diff(want, string(o.Line())); diff != "" {
		t.Error(diff)
	}
}

// Whatever a record holds, its line is one line of JSON that says the same.
func TestObjectRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(rt, "bytes")) + rapid.String().Draw(rt, "text")
		number := rapid.Float64().Draw(rt, "number")
		var o ndjson.Object
		o.Text("text", text)
		o.List("list", []string{text, ""})
		o.Float("number", number)
		line := o.Line()
		if strings.ContainsAny(string(line), "\r\n") {
			rt.Fatalf("more than one line: %q", line)
		}
		var back struct {
			Text   string
			List   []string
			Number float64
		}
		if err := json.Unmarshal(line, &back); err != nil {
			rt.Fatalf("%s: %v", line, err)
		}
		want := strings.ToValidUTF8(text, "\uFFFD")
		if len([]rune(back.Text)) != len([]rune(text)) || strings.ToValidUTF8(text, "") == text && back.Text != want ||
			len(back.List) != 2 || back.List[0] != back.Text || back.Number != number {
			rt.Fatalf("%q came back as %+v", text, back)
		}
	})
}
