package search_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
)

// checkGet gets records of the cases' world with every include.
func checkGet(t *testing.T, e *search.Engine) {
	for _, c := range []struct {
		dataset catalog.Dataset
		id      string
		want    map[string]string // include key to ids; "null" where one is missing
	}{
		{catalog.Accounts, searchtest.ID("a", 1), map[string]string{"contacts": "$c3 $c1", "projects": "$p2 $p4 $p1", "signals": "$s3 $s2 $s1"}},
		{catalog.Accounts, searchtest.ID("a", 8), map[string]string{"contacts": "", "projects": "", "signals": ""}},
		{catalog.Projects, searchtest.ID("p", 1), map[string]string{"accounts": "$a1 $a2", "contacts": "$c1", "signals": "$s2 $s1"}},
		{catalog.Projects, searchtest.ID("p", 5), map[string]string{"accounts": "", "contacts": "", "signals": ""}},
		{catalog.Contacts, searchtest.ID("c", 1), map[string]string{"account": "$a1", "projects": "$p2 $p1"}},
		{catalog.Contacts, searchtest.ID("c", 4), map[string]string{"account": "null", "projects": ""}},
		{catalog.Signals, searchtest.ID("s", 1), map[string]string{"project": "$p1", "accounts": "$a1 $a2"}},
		{catalog.Signals, searchtest.ID("s", 6), map[string]string{"project": "null", "accounts": ""}},
		// Links to records that do not exist.
		{catalog.Signals, searchtest.ID("s", 7), map[string]string{"project": "null", "accounts": ""}},
	} {
		t.Run(searchtest.Short([]string{c.id})[0], func(t *testing.T) {
			t.Parallel()
			plain, err := e.Get(t.Context(), c.dataset, c.id, nil)
			if err != nil {
				t.Fatal(err)
			}
			full, err := e.Get(t.Context(), c.dataset, c.id, query.Includes(c.dataset))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(full), strings.TrimSuffix(string(plain), "}")+",") {
				t.Errorf("with includes the record is another:\n%s\n%s", full, plain)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(full, &members); err != nil {
				t.Fatalf("%v\n%s", err, full)
			}
			got := map[string]string{}
			for key := range c.want {
				got[key] = idsOf(t, members[key])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("embedded (-want +got):\n%s", diff)
			}
			if want := len(catalog.Fields(c.dataset)) + len(query.Includes(c.dataset)); len(members) != want {
				t.Errorf("%d members, want %d", len(members), want)
			}
			checkPublic(t, c.dataset, plain)
		})
	}
	t.Run("not there", func(t *testing.T) {
		t.Parallel()
		for _, includes := range [][]query.Include{nil, query.Includes(catalog.Accounts)} {
			if _, err := e.Get(t.Context(), catalog.Accounts, searchtest.ID("a", 99), includes); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("got %v", err)
			}
		}
		// An id of another dataset is not found.
		if _, err := e.Get(t.Context(), catalog.Accounts, searchtest.ID("c", 1), nil); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

// checkPublic checks that a record has the keys of the catalog, in order.
func checkPublic(t *testing.T, d catalog.Dataset, record []byte) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(record)))
	var keys []string
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var value any
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, f := range catalog.Fields(d) {
		want = append(want, f.Name)
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// idsOf reads embedded records: the ids of an array or an object, or null.
func idsOf(t *testing.T, v json.RawMessage) string {
	t.Helper()
	type record struct {
		ID string `json:"id"`
	}
	var ids []string
	switch {
	case string(v) == "null":
		return "null"
	case len(v) > 0 && v[0] == '{':
		var one record
		if err := json.Unmarshal(v, &one); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.ID)
	default:
		var all []record
		if err := json.Unmarshal(v, &all); err != nil {
			t.Fatalf("%v: %s", err, v)
		}
		for _, r := range all {
			ids = append(ids, r.ID)
		}
	}
	return strings.Join(searchtest.Short(ids), " ")
}

// checkFrequentValues reads the dynamic enums of the cases' world: the spellings of
// a value are counted together, and the most frequent one is listed.
func checkFrequentValues(t *testing.T, e *search.Engine) {
	frequent, err := e.FrequentValues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, d := range catalog.Datasets {
		for _, f := range catalog.Fields(d) {
			if !f.Dynamic() {
				continue
			}
			var all []string
			for _, v := range frequent(d, f) {
				if v.Value != v.Label {
					t.Errorf("%+v", v)
				}
				all = append(all, v.Value+" "+v.Description)
			}
			got[string(d)+" "+f.Name] = strings.Join(all, ", ")
		}
	}
	// Of spellings and values of the same frequency, the first in order is listed.
	want := map[string]string{
		"accounts city":    "Calgary 2 records, Lodz 2 records, Quebec 2 records, İstanbul 1 record, 東京 1 record",
		"accounts state":   "AB 2 records, QC 2 records",
		"accounts country": "CA 4 records, PL 2 records, JP 1 record, TR 1 record",
		"projects city":    "Calgary 2 records, Quebec 2 records, Łódź 1 record",
		"projects state":   "AB 2 records, QC 2 records",
		"projects country": "CA 4 records, PL 1 record",
		"projects source":  "City of Bow 1 record",
		"contacts city":    "Calgary 1 record, Québec 1 record",
		"contacts state":   "AB 1 record, QC 1 record",
		"signals city":     "Calgary 4 records, Québec 1 record",
		"signals state":    "AB 4 records, QC 1 record",
		"signals source":   "City 1 record",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frequent values (-want +got):\n%s", diff)
	}
	if again, err := e.FrequentValues(t.Context()); err != nil || len(again(catalog.Accounts, catalog.Field{Name: "city"})) != 5 {
		t.Errorf("asked again within a minute: %v", err)
	}
}
