package query_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/query"
)

// nothing is the condition that no record meets.
var nothing = query.Any{}

func span(path, from, to string) query.Node {
	return query.Span{Path: path, From: from, To: to}
}

func TestNumberSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key, value string
		want       query.Node
	}{
		{"stories", "3", span("stories", "3", "3")},
		{"stories", "3.0", span("stories", "3", "3")},
		{"stories", "-0", span("stories", "0", "0")},
		{"stories", "3.5", nothing},
		{"stories", "[3,5]", span("stories", "3", "5")},
		{"stories", "[3,3]", span("stories", "3", "3")},
		{"stories", "[null,5]", span("stories", "", "5")},
		{"stories", "[3,null]", span("stories", "3", "")},
		{"stories", "[2.1,4.9]", span("stories", "3", "4")},
		{"stories", "[2.1,2.9]", nothing},
		{"stories", "[-2.5,null]", span("stories", "-2", "")},
		{"stories", "[null,-2.5]", span("stories", "", "-3")},
		// Past what an index of 64-bit integers takes, and past every record.
		{"stories", "1e300", span("stories", "4611686018427387904", "4611686018427387904")},
		{"stories", "[-1e300,1e300]", span("stories", "-4611686018427387904", "4611686018427387904")},
		{"cost", "3", span("cost", "3", "3")},
		{"cost", "3.25", span("cost", "3.25", "3.25")},
		{"cost", "[0.1,0.3]", span("cost", "0.1", "0.3")},
		{"cost", "[null,1e300]", span("cost", "", "1e+300")},
		{"cost", "1e-400", span("cost", "0", "0")},
		// Elasticsearch orders -0 before 0; a client does not.
		{"cost", "-0", span("cost", "0", "0")},
		{"cost", "[-5,-0.0]", span("cost", "-5", "0")},
		{"cost", "[-1e-400,null]", span("cost", "0", "")},
	} {
		q, err := parse(t, query.Projects, query.Data, fmt.Sprintf(`{"filters":{%q:{"value":%s}}}`, c.key, c.value))
		if err != nil {
			t.Errorf("%s %s: %v", c.key, c.value, err)
			continue
		}
		if diff := cmp.Diff([]query.Node{c.want}, q.Where); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.key, c.value, diff)
		}
	}
}

func TestDateSpans(t *testing.T) {
	t.Parallel()
	const firstMS, lastMS = `"2024-02-29T00:00:00.000Z"`, `"2024-02-29T23:59:59.999Z"`
	for _, c := range []struct {
		value    string
		from, to string // both "-": matches nothing
	}{
		{`"2024-02-29"`, firstMS, lastMS},
		{`["2024-02-29","2024-02-29"]`, firstMS, lastMS},
		{`["2024-02-29",null]`, firstMS, ""},
		{`[null,"2024-02-29"]`, "", lastMS},
		{`["2024-02-28","2024-02-29"]`, `"2024-02-28T00:00:00.000Z"`, lastMS},
		{`"2024-02-29T12:30:00Z"`, `"2024-02-29T12:30:00.000Z"`, `"2024-02-29T12:30:00.000Z"`},
		{`"2024-02-29T12:30:00.5+02:00"`, `"2024-02-29T10:30:00.500Z"`, `"2024-02-29T10:30:00.500Z"`},
		{`["2024-02-29T12:30:00-05:30",null]`, `"2024-02-29T18:00:00.000Z"`, ""},
		{`["2024-02-29","2024-02-29T00:00:00Z"]`, firstMS, firstMS},
		{`["2024-02-29T23:59:59.999Z","2024-02-29"]`, lastMS, lastMS},
		// Records have milliseconds: a finer instant lies between two of them.
		{`"2024-02-29T12:30:00.0001Z"`, "-", "-"},
		{`"2024-02-29T12:30:00.000000001Z"`, "-", "-"},
		{`["2024-02-29T12:30:00.0001Z","2024-02-29T12:30:00.0019Z"]`, `"2024-02-29T12:30:00.001Z"`, `"2024-02-29T12:30:00.001Z"`},
		{`["2024-02-29T12:30:00.000000001Z",null]`, `"2024-02-29T12:30:00.001Z"`, ""},
		{`[null,"2024-02-29T12:30:00.000999999Z"]`, "", `"2024-02-29T12:30:00.000Z"`},
		{`"0001-01-01"`, `"0001-01-01T00:00:00.000Z"`, `"0001-01-01T23:59:59.999Z"`},
		{`"9999-12-31"`, `"9999-12-31T00:00:00.000Z"`, `"9999-12-31T23:59:59.999Z"`},
		{`[null,"1969-12-31T23:59:59.999Z"]`, "", `"1969-12-31T23:59:59.999Z"`},
	} {
		q, err := parse(t, query.Projects, query.Data, fmt.Sprintf(`{"filters":{"filed_at":{"value":%s}}}`, c.value))
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		want := span("filed_at", c.from, c.to)
		if c.from == "-" {
			want = nothing
		}
		if diff := cmp.Diff([]query.Node{want}, q.Where); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.value, diff)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"2024-01-01T00:00:00Z", "2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00+00:00",
		"2024-01-01T23:59:59-23:59", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
	} {
		if _, ok := query.ParseInstant(good); !ok {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{
		"", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00Z", "2024-1-1T00:00:00Z", "2024-01-01T1:02:03Z",
		"2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+24:00",
		"2024-01-01T00:00:00+0100", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
		"0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", " 2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z ",
	} {
		if at, ok := query.ParseInstant(bad); ok {
			t.Errorf("%q is read as %v", bad, at)
		}
	}
	for _, bad := range []string{"", "2024-1-1", "2024-02-30", "0000-01-01", "24-01-01", "2024-01-01Z", "20240101", "-001-01-01"} {
		if at, ok := query.ParseDay(bad); ok {
			t.Errorf("the day %q is read as %v", bad, at)
		}
	}
}
