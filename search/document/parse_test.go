package document_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/search/catalog"
	"atlas/search/document"
)

const (
	id1 = "00000000-0000-4000-8000-000000000001"
	id2 = "00000000-0000-4000-8000-00000000000a"
)

// loadedAt is the time of the load in these tests.
var loadedAt = time.Date(2024, 5, 6, 7, 8, 9, 123_456_789, time.UTC)

const loadedText = "2024-05-06T07:08:09.123Z"

// with returns a valid line of a dataset with additional members.
func with(d catalog.Dataset, members string) string {
	line := `{"id":"` + id1 + `"`
	if d == catalog.Signals {
		line += `,"title":"T","signal_type":"permit_filed","occurred_at":"2024-01-01"`
	} else {
		line += `,"name":"N"`
	}
	if members != "" {
		line += "," + members
	}
	return line + "}"
}

func TestParseRefusesLines(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") }
	for _, c := range []struct {
		name    string
		dataset catalog.Dataset
		line    string
		fields  string // of the problems, in order; "-" is the whole line
	}{
		{"nothing", catalog.Accounts, ``, "-"},
		{"blanks", catalog.Accounts, `  `, "-"},
		{"no JSON", catalog.Accounts, `id,name`, "-"},
		{"an array", catalog.Accounts, `[]`, "-"},
		{"null", catalog.Accounts, `null`, "-"},
		{"cut", catalog.Accounts, `{"id":"` + id1, "-"},
		{"cut in a list", catalog.Accounts, `{"domains":["x"`, "-"},
		{"two objects", catalog.Accounts, with(catalog.Accounts, "") + `{}`, "-"},
		{"text after it", catalog.Accounts, with(catalog.Accounts, "") + ` x`, "-"},
		{"a key twice", catalog.Accounts, with(catalog.Accounts, `"name":"M"`), "-"},
		{"invalid UTF-8", catalog.Accounts, with(catalog.Accounts, "\"city\":\"\xff\""), "-"},
		{"half a surrogate pair", catalog.Accounts, with(catalog.Accounts, `"city":"\udc00"`), "-"},
		{"broken JSON in a derived field", catalog.Accounts, with(catalog.Accounts, `"projects_count":[}`), "-"},
		{"nothing required", catalog.Accounts, `{}`, "id name"},
		{"nothing required of a signal", catalog.Signals, `{}`, "id signal_type title occurred_at"},
		{"required null", catalog.Contacts, `{"id":null,"name":null}`, "id name"},
		{"required empty", catalog.Contacts, `{"id":"` + id1 + `","name":" \t"}`, "name"},
		{"an empty id", catalog.Contacts, `{"id":"","name":"x"}`, "id"},
		{"unknown keys", catalog.Projects, with(catalog.Projects, `"colour":"red","ix":{"a":[1]},"account_types":[]`), "colour ix account_types"},
		{"a filter key is no record key", catalog.Accounts, with(catalog.Accounts, `"account_type":["owner"]`), "account_type"},
		{"another case", catalog.Accounts, with(catalog.Accounts, `"Name":"x"`), "Name"},
		{"the overlay's", catalog.Accounts, with(catalog.Accounts, `"tags":["x"],"notes":"y"`), "tags notes"},
		{
			"ids that are none", catalog.Projects,
			with(catalog.Projects, `"account_ids":["x","`+id1+`","00000000000040008000000000000001"]`),
			"account_ids account_ids",
		},
		{"an id of another type", catalog.Contacts, with(catalog.Contacts, `"account_id":5`), "account_id"},
		{
			"strings of other types", catalog.Accounts,
			with(catalog.Accounts, `"city":5,"state":["x"],"country":{},"phone":true,"domains":"x","website":["a",{"b":1}]`),
			"city state country phone domains website",
		},
		{"elements of other types", catalog.Accounts, with(catalog.Accounts, `"domains":["x",5,null,["y"]]`), "domains domains domains"},
		{
			"numbers of other types", catalog.Projects,
			with(catalog.Projects, `"stories":"3","cost":"3","sqft":true,"residential_units":[1]`),
			"stories cost sqft residential_units",
		},
		{"no integers", catalog.Projects, with(catalog.Projects, `"stories":1.5,"residential_units":1e-1`), "stories residential_units"},
		{
			"numbers past bounds", catalog.Projects,
			with(catalog.Projects, `"stories":9007199254740993,"residential_units":-1e300,"cost":1e999`),
			"stories residential_units cost",
		},
		{
			"dates that are none", catalog.Projects,
			with(catalog.Projects, `"filed_at":"soon","permitted_at":"2023-02-29","completed_at":1704067200,"created_at":"","detected_at":"2024-01-01T00:00:00"`),
			"filed_at permitted_at completed_at created_at detected_at",
		},
		{
			"outside a vocabulary", catalog.Projects,
			with(catalog.Projects, `"stage":"Filed","disposition":"open","primary_use":"x","gc_status":"y"`),
			"stage disposition primary_use gc_status",
		},
		{
			"elements outside a vocabulary", catalog.Accounts,
			with(catalog.Accounts, `"account_types":["owner","builder","x"]`), "account_types account_types",
		},
		{"NUL", catalog.Accounts, with(catalog.Accounts, `"city":"a\u0000","domains":["\u0000b"]`), "city domains"},
		{"a name of 1001", catalog.Accounts, `{"id":"` + id1 + `","name":"` + strings.Repeat("é", 1001) + `"}`, "name"},
		{"a description of 20001", catalog.Accounts, with(catalog.Accounts, `"description":"`+strings.Repeat("é", 20_001)+`"`), "description"},
		{"long elements", catalog.Accounts, with(catalog.Accounts, `"domains":["`+strings.Repeat("x", 1001)+`"]`), "domains"},
		{"a list of 1001", catalog.Accounts, with(catalog.Accounts, `"domains":[`+list(1001)+`]`), "domains"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, problems := document.Parse(c.dataset, []byte(c.line), loadedAt)
			var fields []string
			for _, p := range problems {
				if p.Reason == "" || len(p.Error()) > 1000 {
					t.Errorf("a problem nobody can read: %+v", p)
				}
				field := p.Field
				if field == "" {
					field = "-"
				}
				fields = append(fields, field)
			}
			if diff := cmp.Diff(c.fields, strings.Join(fields, " ")); diff != "" {
				t.Errorf("problems (-want +got):\n%s\n%v", diff, problems)
			}
		})
	}
}

func record(t testing.TB, d catalog.Dataset, line string) document.Record {
	t.Helper()
	r, problems := document.Parse(d, []byte(line), loadedAt)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", line, problems)
	}
	return r
}

func TestParseReadsValues(t *testing.T) {
	t.Parallel()
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMilli()
	}
	for _, c := range []struct {
		dataset catalog.Dataset
		members string
		field   string
		want    any
	}{
		{catalog.Accounts, `"website":"  https://x.example \n"`, "website", "https://x.example"},
		{catalog.Accounts, `"website":"  "`, "website", nil},
		{catalog.Accounts, `"website":null`, "website", nil},
		{catalog.Accounts, ``, "website", nil},
		{catalog.Accounts, `"city":"e\u0301\ud83d\ude00"`, "city", "e\u0301😀"},
		{catalog.Accounts, `"domains":[" a.example ","","b.example","a.example"]`, "domains", []string{"a.example", "b.example", "a.example"}},
		{catalog.Accounts, `"domains":[]`, "domains", nil},
		{catalog.Accounts, `"domains":null`, "domains", nil},
		{catalog.Accounts, `"account_types":["owner","developer"]`, "account_types", []string{"owner", "developer"}},
		{catalog.Contacts, `"account_id":"` + strings.ToUpper(id2) + `"`, "account_id", id2},
		{catalog.Projects, `"account_ids":["` + strings.ToUpper(id2) + `"]`, "account_ids", []string{id2}},
		{catalog.Projects, `"stories":3.0`, "stories", int64(3)},
		{catalog.Projects, `"stories":-0.0`, "stories", int64(0)},
		{catalog.Projects, `"stories":9007199254740992`, "stories", int64(1 << 53)},
		{catalog.Projects, `"stories":-90071992547409920e-1`, "stories", int64(-1 << 53)},
		{catalog.Projects, `"cost":3`, "cost", 3.0},
		{catalog.Projects, `"cost":1.5e6`, "cost", 1.5e6},
		{catalog.Projects, `"filed_at":"2024-02-29"`, "filed_at", at("2024-02-29T00:00:00Z")},
		{catalog.Projects, `"filed_at":"2024-02-29T01:02:03.9999+02:00"`, "filed_at", at("2024-02-28T23:02:03.999Z")},
		{catalog.Projects, `"filed_at":"1969-12-31T23:59:59.9999Z"`, "filed_at", int64(-1)},
		{catalog.Projects, ``, "created_at", loadedAt.UnixMilli()},
		{catalog.Projects, `"updated_at":null`, "updated_at", loadedAt.UnixMilli()},
		{catalog.Projects, ``, "detected_at", loadedAt.UnixMilli()},
		{catalog.Signals, ``, "detected_at", loadedAt.UnixMilli()},
		{catalog.Projects, ``, "filed_at", nil},
		// Derived fields are ignored, whatever they hold.
		{catalog.Projects, `"signals_count":7,"last_signal_at":"nonsense"`, "signals_count", nil},
		{catalog.Projects, `"signals_count":{"a":[]},"last_signal_at":["x"]`, "last_signal_at", nil},
		{catalog.Accounts, `"projects_count":"x","contacts_count":-1,"signals_count":null,"last_activity_at":5`, "last_activity_at", nil},
		// Values at the limits.
		{catalog.Accounts, `"website":"` + strings.Repeat("é", 1000) + `"`, "website", strings.Repeat("é", 1000)},
		{catalog.Accounts, `"description":"` + strings.Repeat("é", 20_000) + `"`, "description", strings.Repeat("é", 20_000)},
		{catalog.Accounts, `"domains":[` + strings.Repeat(`"x",`, 999) + `"x"]`, "domains", slices.Repeat([]string{"x"}, 1000)},
	} {
		r := record(t, c.dataset, with(c.dataset, c.members))
		if diff := cmp.Diff(c.want, r.Value(c.field)); diff != "" {
			t.Errorf("%.60s: %s (-want +got):\n%s", c.members, c.field, diff)
		}
		if r.ID() != id1 {
			t.Errorf("the id is %q", r.ID())
		}
	}
}

func TestParents(t *testing.T) {
	t.Parallel()
	relation := func(parent, child catalog.Dataset) catalog.Relation {
		for _, r := range catalog.RelationsOf(parent) {
			if r.Child == child {
				return r
			}
		}
		t.Fatalf("%s have no %s", parent, child)
		return catalog.Relation{}
	}
	p := record(t, catalog.Projects, with(catalog.Projects, fmt.Sprintf(`"account_ids":[%q,%q,%q]`, id2, id1, strings.ToUpper(id2))))
	if diff := cmp.Diff([]string{id2, id1}, p.Parents(relation(catalog.Accounts, catalog.Projects))); diff != "" {
		t.Errorf("accounts of a project (-want +got):\n%s", diff)
	}
	if got := p.Parents(relation(catalog.Contacts, catalog.Projects)); len(got) > 0 {
		t.Errorf("contacts of a project without: %v", got)
	}
	c := record(t, catalog.Contacts, with(catalog.Contacts, fmt.Sprintf(`"account_id":%q`, id2)))
	if diff := cmp.Diff([]string{id2}, c.Parents(relation(catalog.Accounts, catalog.Contacts))); diff != "" {
		t.Errorf("account of a contact (-want +got):\n%s", diff)
	}
	if got := record(t, catalog.Contacts, with(catalog.Contacts, "")).Parents(relation(catalog.Accounts, catalog.Contacts)); len(got) > 0 {
		t.Errorf("account of a contact without: %v", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, d := range catalog.Datasets {
		f.Add(string(d), with(d, ""))
	}
	f.Add("accounts", with(catalog.Accounts, `"domains":["x",5],"city":"a\u0000"`))
	f.Add("projects", with(catalog.Projects, `"cost":1e999,"stories":-0.0,"filed_at":"2024-02-30"`))
	f.Add("signals", `{"id":`)
	f.Fuzz(func(t *testing.T, dataset, line string) {
		if !catalog.IsDataset(dataset) {
			return
		}
		r, problems := document.Parse(catalog.Dataset(dataset), []byte(line), loadedAt)
		if len(problems) > 0 {
			return
		}
		checkDocument(t, document.Build(r, document.None{}))
		// A public record can be read back unchanged.
		public := publicOf(r)
		again := record(t, r.Dataset, public)
		document.Build(again, document.None{})
		if got := publicOf(again); got != public {
			t.Errorf("%s\nreads again as\n%s", public, got)
		}
	})
}
