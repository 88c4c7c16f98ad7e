package query_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
		// Past 2^53 a float64 does not tell an integer from the one beside it.
		{"stories", "9007199254740993", span("stories", "9007199254740993", "9007199254740993")},
		{"stories", "-9007199254740993", span("stories", "-9007199254740993", "-9007199254740993")},
		{"stories", "9007199254740993.0e0", span("stories", "9007199254740993", "9007199254740993")},
		{"stories", "90071992547409930e-1", span("stories", "9007199254740993", "9007199254740993")},
		{"stories", "9007199254740992.5", nothing},
		{"stories", "[9007199254740992.5,9007199254740993.5]", span("stories", "9007199254740993", "9007199254740993")},
		{"stories", "[9007199254740993,null]", span("stories", "9007199254740993", "")},
		{"stories", "[null,-9007199254740993]", span("stories", "", "-9007199254740993")},
		{"stories", "4611686018427387905", span("stories", "4611686018427387904", "4611686018427387904")},
		{"stories", "3.00000000000000000000001", nothing},
		{"stories", "[2.99999999999999999999999,3.00000000000000000000001]", span("stories", "3", "3")},
		{"stories", "[-3.00000000000000000000001,null]", span("stories", "-3", "")},
		{"stories", "1e-999999999999999999999", nothing},
		{"stories", "[-1e-999999999999999999999,1e-999999999999999999999]", span("stories", "0", "0")},
		{"stories", "0e999999999999999999999", span("stories", "0", "0")},
		{"cost", "3", span("cost", "3", "3")},
		// No double is written as the first of these, and 1e23 is, though the
		// double itself is a little less.
		{"cost", "9007199254740993", nothing},
		{"cost", "-9007199254740993", nothing},
		{"cost", "9007199254740994", span("cost", "9.007199254740994e+15", "9.007199254740994e+15")},
		{"cost", "[9007199254740993,null]", span("cost", "9.007199254740994e+15", "")},
		{"cost", "[null,9007199254740993]", span("cost", "", "9.007199254740992e+15")},
		{"cost", "[9007199254740995,9007199254740997]", span("cost", "9.007199254740996e+15", "9.007199254740996e+15")},
		{"cost", "[-9007199254740997,-9007199254740995]", span("cost", "-9.007199254740996e+15", "-9.007199254740996e+15")},
		{"cost", "9007199254740992.5", nothing},
		{"cost", "[null,9007199254740992.5]", span("cost", "", "9.007199254740992e+15")},
		{"cost", "1e23", span("cost", "1e+23", "1e+23")},
		{"cost", "99999999999999991611392", span("cost", "1e+23", "1e+23")},
		{"cost", "99999999999999991611393", nothing},
		{"cost", "[99999999999999991611393,null]", span("cost", "1.0000000000000001e+23", "")},
		{"cost", "1.7976931348623157e308", span("cost", "1.7976931348623157e+308", "1.7976931348623157e+308")},
		{"cost", "[1.79769313486231575e308,null]", nothing},
		{"cost", "[null,-1.79769313486231575e308]", nothing},
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

// Any number of any length in any spelling is compared with integers as it is.
func TestIntegerSpansAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`).Draw(r, "literal")
		n, ok := new(big.Rat).SetString(literal)
		if !ok {
			r.Fatal("no number")
		}
		least, whole := new(big.Int).DivMod(n.Num(), n.Denom(), new(big.Int))
		greatest := new(big.Int).Set(least)
		if whole.Sign() != 0 {
			least.Add(least, big.NewInt(1))
		}
		bounded := func(n *big.Int) string {
			if most := big.NewInt(1 << 62); n.CmpAbs(most) > 0 {
				return most.Mul(most, big.NewInt(int64(n.Sign()))).String()
			}
			return n.String()
		}
		for value, want := range map[string]query.Node{
			"[" + literal + ",null]": span("stories", bounded(least), ""), "[null," + literal + "]": span("stories", "", bounded(greatest)),
		} {
			q, err := parse(t, query.Projects, query.Data, `{"filters":{"stories":{"value":`+value+`}}}`)
			if err != nil {
				r.Fatal(err)
			}
			if diff := cmp.Diff([]query.Node{want}, q.Where); diff != "" {
				r.Fatalf("%s (-want +got):\n%s", value, diff)
			}
		}
	})
}

// Which of two numbers is the lower is told exactly too, of every field.
func TestRangesThatAreCrossed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value   string
		crossed bool
	}{
		{"[9007199254740993,9007199254740992]", true},
		{"[9007199254740992,9007199254740993]", false},
		{"[-9007199254740992,-9007199254740993]", true},
		{"[2.9,2.1]", true},
		{"[2.1,2.9]", false},
		{"[1e2,100]", false},
		{"[0.1,0.10]", false},
		{"[1e-999999999999,0]", true},
		{"[-0,0.0]", false},
		{"[0,-0]", false},
		{"[1,-1]", true},
	} {
		for _, key := range []string{"stories", "cost"} {
			_, err := parse(t, query.Projects, query.Data, fmt.Sprintf(`{"relations":{},"filters":{%q:{"value":%s}}}`, key, c.value))
			if (err != nil) != c.crossed {
				t.Errorf("%s %s: %v", key, c.value, err)
			}
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
