package value

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDates(t *testing.T) {
	t.Parallel()
	chicago, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, want string
		dates    Dates
	}{
		{"2016-01-05", "2016-01-05", Dates{}},
		{"2024-05-02T00:00:00.000", "2024-05-02", Dates{}},
		{"2024/10/03 00:00:00+00", "2024-10-03", Dates{}},
		{"2024/10/03 05:00:00+00", "2024-10-03", Dates{Zone: chicago}},
		{"2024-05-02T13:30:00Z", "2024-05-02T13:30:00Z", Dates{}},
		{"2024-05-02 13:30:00-0500", "2024-05-02T18:30:00Z", Dates{}},
		{"2024-05-02 13:30:00", "2024-05-02T18:30:00Z", Dates{Zone: chicago}},
		{"20160105", "2016-01-05", Dates{}},
		{"01/05/2016", "2016-01-05", Dates{Forms: []Form{MonthFirst}}},
		{"1/5/16", "2016-01-05", Dates{Forms: []Form{MonthFirst}}},
		{"12/31/69", "2069-12-31", Dates{Forms: []Form{MonthFirst}}},
		{"1/5/71", "1971-01-05", Dates{Forms: []Form{MonthFirst}}},
		{"1/5/2016 1:00:00 PM", "2016-01-05T13:00:00Z", Dates{Forms: []Form{MonthFirst}}},
		{"1/5/2016 12:00:00 AM", "2016-01-05", Dates{Forms: []Form{MonthFirst}}},
		{"05.01.2016", "2016-01-05", Dates{Forms: []Form{DayFirst}}},
		{"05-JAN-16", "2016-01-05", Dates{}},
		{"Jan 5, 2016", "2016-01-05", Dates{}},
		{"January 5th, 2016 10:00 AM", "2016-01-05T10:00:00Z", Dates{}},
		{"Tue, 5 Jan 2016 00:00:00 GMT", "2016-01-05", Dates{}},
		{"1451952000000", "2016-01-05", Dates{}},
		{"1451973600000", "2016-01-05", Dates{Zone: chicago}},
		{"-86400000", "", Dates{}},
		{"-864000000000", "1942-08-16", Dates{}},
		{"/Date(1451952000000)/", "2016-01-05", Dates{}},
		{"/Date(1451952000000-0600)/", "2016-01-05", Dates{}},
		{"1451952000", "2016-01-05", Dates{Forms: []Form{Unix}}},
		{"42374", "2016-01-05", Dates{Forms: []Form{Serial}}},
		{"42374.5", "2016-01-05T12:00:00Z", Dates{Forms: []Form{Serial}}},
		{"0001-01-01T00:00:00", "none", Dates{}},
		{"1900-01-01", "none", Dates{}},
		{"", "none", Dates{}},
		{"01/05/2016", "", Dates{}},
		{"2024-13-01", "", Dates{}},
		{"2023-02-29", "", Dates{}},
		{"yesterday", "", Dates{}},
		{"13/40/2016", "", Dates{Forms: []Form{MonthFirst}}},
		{"42374", "", Dates{}},
		{"2916-01-05", "", Dates{}},
		{"1e5", "", Dates{}},
		{"2024-05-02T25:00", "", Dates{}},
	} {
		got, err := c.dates.Parse(c.in)
		switch {
		case c.want == "":
			if err == nil {
				t.Errorf("%q is read as %v", c.in, got)
			}
		case c.want == "none":
			if err != nil || !got.IsZero() {
				t.Errorf("%q is read as %v, %v", c.in, got, err)
			}
		default:
			want, _ := time.Parse("2006-01-02", c.want)
			if strings.Contains(c.want, "T") {
				want, _ = time.Parse(time.RFC3339, c.want)
			}
			if err != nil || !got.Equal(want) {
				t.Errorf("%q is read as %v, %v; want %v", c.in, got, err, want)
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		"20000": 20000, "$20,000.00": 20000, "$20000.00": 20000, " 1.5e3 ": 1500, "CAD 1,234.5": 1234.5, "1 200 sq. ft.": 1200, "2,000 SF": 2000,
		"100 m2": 100 * SquareMetre, "100 m²": 100 * SquareMetre, "(20.00)": -20, "12 units": 12, "-5": -5, "1.2M": 1.2e6, "3 storeys": 3,
	} {
		if got, ok, err := (Numbers{}).Parse(in); err != nil || !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%q is read as %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"NaN", "0x10", "Inf", "1,2", "12 apples", "abc", "--", "1.2.3", "1,2345"} {
		if got, _, err := (Numbers{}).Parse(in); err == nil {
			t.Errorf("%q is read as %v", in, got)
		}
	}
	if got, _, err := (Numbers{Comma: true}).Parse("1.234,5"); err != nil || got != 1234.5 {
		t.Error(got, err)
	}
	if _, _, err := (Numbers{}).Whole("1.5"); err == nil {
		t.Error("1.5 is whole")
	}
	if n, ok, err := (Numbers{}).Whole("12.0"); n != 12 || !ok || err != nil {
		t.Error(n, ok, err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	cells := map[string]string{"number": "12", "street": "MAIN", "suffix": "ST", "city": "Austin", "class": "House"}
	for in, want := range map[string]string{
		"{number} {direction} {street} {suffix}": "12 MAIN ST",
		"{number} {street}, {class}":             "12 MAIN, House",
		"{none}, {class}":                        "House",
		"{class}, {none}":                        "House",
		"{none|city}":                            "Austin",
		"{none|}":                                "",
		"https://x.example/{number}":             "https://x.example/12",
		"https://x.example/{none}":               "",
		"Calgary":                                "Calgary",
		"{number} {none}, {city}":                "12, Austin",
		"{none}{class} of {city}":                "House of Austin",
		"{ NUMBER }":                             "12",
		`\{x\} {city}`:                           "{x} Austin",
		"no. {none}-{number}":                    "no. 12",
	} {
		var c Columns
		tpl, err := ParseTemplate(in, &c)
		if err != nil {
			t.Fatal(err)
		}
		if got := tpl.Text(func(n int) string { return cells[ColumnKey(c.Names[n])] }); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"{", "{}", "{|}", strings.Repeat("x", maxTemplate+1)} {
		if _, err := ParseTemplate(in, &Columns{}); err == nil {
			t.Errorf("%.20q is a template", in)
		}
	}
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	m, err := NewMatcher([]string{"Hold*", "In Review", "*plan*review*", "/^[0-9]{4}$/", "Hold Fees"})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]int{
		"HOLD - x": 0, "in  review": 1, "Pending Plans Review Assignment": 2, "1234": 3, "hold fees": 4, "On Hold": -1,
		"": -1,
	} {
		if got := m.Find(in); got != want {
			t.Errorf("%q is entry %d, want %d", in, got, want)
		}
	}
	if _, err := NewMatcher([]string{"/(/"}); err == nil {
		t.Error("no pattern is read")
	}
}

func FuzzValues(f *testing.F) {
	f.Add("1/5/16", "{a} {b|c}")
	f.Add("/Date(-1)/", `\`)
	f.Fuzz(func(_ *testing.T, cell, template string) {
		_, _ = Dates{Forms: Forms}.Parse(cell)
		_, _, _ = Numbers{}.Parse(cell)
		var c Columns
		if tpl, err := ParseTemplate(template, &c); err == nil {
			_ = tpl.Text(func(int) string { return cell })
		}
	})
}
