package query_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"atlas/search/catalog"
	"atlas/search/query"
)

// nothing is the condition that no record meets.
const nothing = "FALSE"

func TestNumberRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key, value string
		want       string
	}{
		{"stories", "3", between("stories", "3", "3")},
		{"stories", "3.0", between("stories", "3", "3")},
		{"stories", "-0", between("stories", "0", "0")},
		{"stories", "3.5", nothing},
		{"stories", "[3,5]", between("stories", "3", "5")},
		{"stories", "[3,3]", between("stories", "3", "3")},
		{"stories", "[null,5]", between("stories", "", "5")},
		{"stories", "[3,null]", between("stories", "3", "")},
		{"stories", "[2.1,4.9]", between("stories", "3", "4")},
		{"stories", "[2.1,2.9]", nothing},
		{"stories", "[-2.5,null]", between("stories", "-2", "")},
		{"stories", "[null,-2.5]", between("stories", "", "-3")},
		// Beyond 64-bit integers, and beyond every record.
		{"stories", "1e300", between("stories", "4611686018427387904", "4611686018427387904")},
		{"stories", "[-1e300,1e300]", between("stories", "-4611686018427387904", "4611686018427387904")},
		// A float64 cannot represent every integer above 2^53.
		{"stories", "9007199254740993", between("stories", "9007199254740993", "9007199254740993")},
		{"stories", "-9007199254740993", between("stories", "-9007199254740993", "-9007199254740993")},
		{"stories", "9007199254740993.0e0", between("stories", "9007199254740993", "9007199254740993")},
		{"stories", "90071992547409930e-1", between("stories", "9007199254740993", "9007199254740993")},
		{"stories", "9007199254740992.5", nothing},
		{"stories", "[9007199254740992.5,9007199254740993.5]", between("stories", "9007199254740993", "9007199254740993")},
		{"stories", "[9007199254740993,null]", between("stories", "9007199254740993", "")},
		{"stories", "[null,-9007199254740993]", between("stories", "", "-9007199254740993")},
		{"stories", "4611686018427387905", between("stories", "4611686018427387904", "4611686018427387904")},
		{"stories", "3.00000000000000000000001", nothing},
		{"stories", "[2.99999999999999999999999,3.00000000000000000000001]", between("stories", "3", "3")},
		{"stories", "[-3.00000000000000000000001,null]", between("stories", "-3", "")},
		{"stories", "1e-999999999999999999999", nothing},
		{"stories", "[-1e-999999999999999999999,1e-999999999999999999999]", between("stories", "0", "0")},
		{"stories", "0e999999999999999999999", between("stories", "0", "0")},
		{"cost", "3", between("cost", "3", "3")},
		// The first is not a double. 1e23 is the shortest spelling of a double that is
		// a little less.
		{"cost", "9007199254740993", nothing},
		{"cost", "-9007199254740993", nothing},
		{"cost", "9007199254740994", between("cost", "9.007199254740994e+15", "9.007199254740994e+15")},
		{"cost", "[9007199254740993,null]", between("cost", "9.007199254740994e+15", "")},
		{"cost", "[null,9007199254740993]", between("cost", "", "9.007199254740992e+15")},
		{"cost", "[9007199254740995,9007199254740997]", between("cost", "9.007199254740996e+15", "9.007199254740996e+15")},
		{"cost", "[-9007199254740997,-9007199254740995]", between("cost", "-9.007199254740996e+15", "-9.007199254740996e+15")},
		{"cost", "9007199254740992.5", nothing},
		{"cost", "[null,9007199254740992.5]", between("cost", "", "9.007199254740992e+15")},
		{"cost", "1e23", between("cost", "1e+23", "1e+23")},
		{"cost", "99999999999999991611392", between("cost", "1e+23", "1e+23")},
		{"cost", "99999999999999991611393", nothing},
		{"cost", "[99999999999999991611393,null]", between("cost", "1.0000000000000001e+23", "")},
		{"cost", "1.7976931348623157e308", between("cost", "1.7976931348623157e+308", "1.7976931348623157e+308")},
		{"cost", "[1.79769313486231575e308,null]", nothing},
		{"cost", "[null,-1.79769313486231575e308]", nothing},
		{"cost", "3.25", between("cost", "3.25", "3.25")},
		{"cost", "[0.1,0.3]", between("cost", "0.1", "0.3")},
		{"cost", "[null,1e300]", between("cost", "", "1e+300")},
		{"cost", "1e-400", between("cost", "0", "0")},
		// Elasticsearch orders -0 before 0; clients do not expect that.
		{"cost", "-0", between("cost", "0", "0")},
		{"cost", "[-5,-0.0]", between("cost", "-5", "0")},
		{"cost", "[-1e-400,null]", between("cost", "0", "")},
	} {
		q, err := parse(t, catalog.Projects, catalog.Data, fmt.Sprintf(`{"filters":{%q:{"value":%s}}}`, c.key, c.value))
		if err != nil {
			t.Errorf("%s %s: %v", c.key, c.value, err)
			continue
		}
		if got := query.Simplify(q.Where[0]).String(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.key, c.value, got, c.want)
		}
	}
}

// Numbers of any length and in any spelling are compared with integers exactly.
func TestIntegerRangesAreExact(t *testing.T) {
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
		for value, want := range map[string]string{
			"[" + literal + ",null]": between("stories", bounded(least), ""), "[null," + literal + "]": between("stories", "", bounded(greatest)),
		} {
			q, err := parse(t, catalog.Projects, catalog.Data, `{"filters":{"stories":{"value":`+value+`}}}`)
			if err != nil {
				r.Fatal(err)
			}
			if got := query.Simplify(q.Where[0]).String(); got != want {
				r.Fatalf("%s: %s, want %s", value, got, want)
			}
		}
	})
}

// The ends of a range are compared with each other exactly, for both types.
func TestCrossedRanges(t *testing.T) {
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
			_, err := parse(t, catalog.Projects, catalog.Data, fmt.Sprintf(`{"relations":{},"filters":{%q:{"value":%s}}}`, key, c.value))
			if (err != nil) != c.crossed {
				t.Errorf("%s %s: %v", key, c.value, err)
			}
		}
	}
}

func TestDateRanges(t *testing.T) {
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
		// Records have milliseconds: a finer instant lies between two values.
		{`"2024-02-29T12:30:00.0001Z"`, "-", "-"},
		{`"2024-02-29T12:30:00.000000001Z"`, "-", "-"},
		{`["2024-02-29T12:30:00.0001Z","2024-02-29T12:30:00.0019Z"]`, `"2024-02-29T12:30:00.001Z"`, `"2024-02-29T12:30:00.001Z"`},
		{`["2024-02-29T12:30:00.000000001Z",null]`, `"2024-02-29T12:30:00.001Z"`, ""},
		{`[null,"2024-02-29T12:30:00.000999999Z"]`, "", `"2024-02-29T12:30:00.000Z"`},
		{`"0001-01-01"`, `"0001-01-01T00:00:00.000Z"`, `"0001-01-01T23:59:59.999Z"`},
		{`"9999-12-31"`, `"9999-12-31T00:00:00.000Z"`, `"9999-12-31T23:59:59.999Z"`},
		{`[null,"1969-12-31T23:59:59.999Z"]`, "", `"1969-12-31T23:59:59.999Z"`},
	} {
		q, err := parse(t, catalog.Projects, catalog.Data, fmt.Sprintf(`{"filters":{"filed_at":{"value":%s}}}`, c.value))
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		want := between("filed_at", c.from, c.to)
		if c.from == "-" {
			want = nothing
		}
		if got := query.Simplify(q.Where[0]).String(); got != want {
			t.Errorf("%s: %s, want %s", c.value, got, want)
		}
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"2024-01-01T00:00:00Z", "2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.123456789Z", "2024-01-01T00:00:00+00:00",
		"2024-01-01T23:59:59-23:59", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z",
	} {
		if _, ok := catalog.ParseInstant(good); !ok {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{
		"", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00Z", "2024-1-1T00:00:00Z", "2024-01-01T1:02:03Z",
		"2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+24:00",
		"2024-01-01T00:00:00+0100", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z",
		"0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", " 2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z ",
	} {
		if at, ok := catalog.ParseInstant(bad); ok {
			t.Errorf("%q is read as %v", bad, at)
		}
	}
	for _, bad := range []string{"", "2024-1-1", "2024-02-30", "0000-01-01", "24-01-01", "2024-01-01Z", "20240101", "-001-01-01"} {
		if at, ok := catalog.ParseDay(bad); ok {
			t.Errorf("the day %q is read as %v", bad, at)
		}
	}
}
