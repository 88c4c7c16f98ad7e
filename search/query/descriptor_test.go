package query_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

func frequent(d catalog.Dataset, f catalog.Field) catalog.Vocabulary {
	return catalog.Vocabulary{{Value: string(d) + " " + f.Name, Label: "x", Description: "1 record"}}
}

func TestDescriptors(t *testing.T) {
	t.Parallel()
	all := catalog.Descriptors(frequent)
	keys := map[string][]string{}
	for _, d := range all {
		keys[d.Dataset] = append(keys[d.Dataset], d.Key)
		checkDescriptor(t, d)
	}
	// TestKeysOfEachBase lists the keys of the fields.
	want := map[string]string{}
	add := func(dataset string, d catalog.Dataset, base catalog.BaseKind) {
		var expected []string
		for _, f := range catalog.FilterFields(d, base) {
			expected = append(expected, f.Key)
		}
		for _, rel := range catalog.RelationsOf(d) {
			expected = append(expected, "has_"+rel.Singular, "without_"+rel.Singular)
		}
		want[dataset] = strings.Join(expected, " ")
	}
	for _, d := range catalog.Datasets {
		add(string(d), d, catalog.Data)
	}
	for _, d := range catalog.Held {
		add("workspace_"+string(d), d, catalog.Book)
	}
	got := map[string]string{}
	for dataset, k := range keys {
		got[dataset] = strings.Join(k, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
}

// checkDescriptor holds every descriptor to its shape: values on enums only,
// sub-fields on relations only and one level deep.
func checkDescriptor(t *testing.T, d catalog.Descriptor) {
	t.Helper()
	name := d.Dataset + " " + d.Key
	if d.Description == "" || !slices.Contains(catalog.Kinds, d.Kind) {
		t.Errorf("%s: description %q, kind %q", name, d.Description, d.Kind)
	}
	if (d.Kind == catalog.Enum) != (d.Values != nil) {
		t.Errorf("%s is of kind %s and has the values %v", name, d.Kind, d.Values)
	}
	if len(d.Values) == 0 && d.Kind == catalog.Enum && d.Key != "tags" {
		t.Errorf("%s has no values", name)
	}
	for _, v := range d.Values {
		if v.Value == "" || v.Label == "" || v.Description == "" {
			t.Errorf("%s: %+v is not described", name, v)
		}
	}
	if (d.Kind == catalog.Related) != (d.SubFields != nil) {
		t.Errorf("%s is of kind %s and has %d sub-fields", name, d.Kind, len(d.SubFields))
	}
	if d.Kind != catalog.Related {
		return
	}
	var keys []string
	for _, sub := range d.SubFields {
		if sub.Kind == catalog.Related {
			t.Errorf("%s: the sub-field %s is a relation", name, sub.Key)
		}
		checkDescriptor(t, sub)
		keys = append(keys, sub.Key)
	}
	child := catalog.Dataset(d.SubFields[0].Dataset)
	var want []string
	for _, f := range catalog.FilterFields(child, catalog.Data) {
		want = append(want, f.Key)
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("%s: sub-fields (-want +got):\n%s", name, diff)
	}
}

// The vocabularies, as docs/api.md lists them.
func TestVocabularies(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"accounts account_type":       "developer owner general_contractor subcontractor architect engineer lender broker supplier public_agency other",
		"projects stage":              "pre_filing filed under_review approved permitted under_construction completed",
		"projects disposition":        "active on_hold cancelled expired refused",
		"projects primary_use":        "single_family multifamily mixed_use office retail industrial hospitality healthcare education institutional infrastructure other",
		"projects gc_status":          "assigned unassigned unknown",
		"contacts role":               "owner executive developer project_manager architect engineer estimator superintendent broker lender public_official other",
		"contacts status":             "active inactive unverified",
		"signals signal_type":         "permit_filed permit_issued construction_started project_completed project_on_hold project_cancelled permit_expired gc_assigned cost_changed stage_changed",
		"signals stage":               "pre_filing filed under_review approved permitted under_construction completed",
		"workspace_accounts icp_tier": "tier_1 tier_2 tier_3 disqualified",
		"workspace_contacts tags":     "",
		"accounts city":               "accounts city",
		"workspace_projects state":    "projects state",
	}
	got := map[string]string{}
	for _, d := range catalog.Descriptors(frequent) {
		if name := d.Dataset + " " + d.Key; want[name] != "" || name == "workspace_contacts tags" {
			got[name] = strings.Join(d.Values.Values(), " ")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestDescriptorJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		descriptor catalog.Descriptor
		want       string
	}{
		"text": {
			catalog.Descriptor{Dataset: "accounts", Key: "name", Kind: catalog.FullText, Description: "d"},
			`{"dataset":"accounts","key":"name","kind":"text","description":"d"}`,
		},
		"no tags": {
			catalog.Descriptor{Dataset: "x", Key: "tags", Kind: catalog.Enum, Description: "d", Values: catalog.Vocabulary{}},
			`{"dataset":"x","key":"tags","kind":"enum","description":"d","values":[]}`,
		},
		"relation": {
			catalog.Descriptor{Dataset: "x", Key: "has_x", Kind: catalog.Related, Description: "d", SubFields: []catalog.Descriptor{}},
			`{"dataset":"x","key":"has_x","kind":"relation","description":"d","sub_fields":[]}`,
		},
	} {
		got, err := json.Marshal(c.descriptor)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

func searchFields(t *testing.T, body string) (query.FieldSearch, error) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	return query.FieldSearchRule.Parse(v)
}

func TestFieldSearch(t *testing.T) {
	t.Parallel()
	all := catalog.Descriptors(frequent)
	for _, c := range []struct {
		body     string
		found    string // dataset.key, the first few
		count    int
		notFound []string
	}{
		{`{}`, "accounts.name accounts.account_type", len(all), nil},
		{`{"dataset":"signals"}`, "signals.signal_type signals.title", 13, nil},
		{`{"dataset":"signals","kind":"date"}`, "signals.occurred_at signals.detected_at signals.created_at", 3, nil},
		{`{"kind":"relation"}`, "accounts.has_project", 6 + 2 + 2 + 6 + 2 + 2, nil},
		{`{"dataset":"signals","kind":"relation"}`, "", 0, nil},
		{`{"query":"ICP_"}`, "workspace_accounts.icp_tier", 1, nil},
		{`{"query":"IDEAL customer"}`, "workspace_accounts.icp_tier", 1, nil},
		{`{"query":""}`, "accounts.name", len(all), nil},
		{`{"query":"no such words"}`, "", 0, nil},
		{`{"keys":["stage"]}`, "projects.stage signals.stage workspace_projects.stage", 3, nil},
		{`{"dataset":"projects","keys":["stage","nope","Stage","nope"]}`, "projects.stage", 1, []string{"nope", "Stage"}},
		{`{"keys":["stage"],"kind":"date","query":"zzz","dataset":"signals"}`, "signals.stage", 1, nil},
		{`{"keys":["has_signal"],"dataset":"signals"}`, "", 0, []string{"has_signal"}},
		{`{"keys":["account_types"]}`, "", 0, []string{"account_types"}},
		{`{"keys":[" stage",""]}`, "", 0, []string{" stage", ""}},
		{`{"keys":[]}`, "", 0, nil},
	} {
		s, err := searchFields(t, c.body)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		found, notFound := s.Select(all)
		var names []string
		for _, d := range found {
			names = append(names, d.Dataset+"."+d.Key)
		}
		if got := strings.Join(names, " "); len(found) != c.count || !strings.HasPrefix(got, c.found) {
			t.Errorf("%s: %d found, %.100s; want %d, %s", c.body, len(found), got, c.count, c.found)
		}
		if found == nil || notFound == nil {
			t.Errorf("%s: an empty list would be answered as null", c.body)
		}
		if c.notFound == nil {
			c.notFound = []string{}
		}
		if s.Keys != nil {
			if diff := cmp.Diff(c.notFound, notFound); diff != "" {
				t.Errorf("%s: not found (-want +got):\n%s", c.body, diff)
			}
		}
	}
}

func TestFieldSearchRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{`{"dataset":"account"}`, "invalid_union /dataset"},
		{`{"dataset":null}`, "invalid_union /dataset"},
		{`{"dataset":"workspace_signals"}`, "invalid_union /dataset"},
		{`{"kind":"boolean"}`, "invalid_union /kind"},
		{`{"keys":"stage"}`, "invalid_type /keys"},
		{`{"keys":["stage",1]}`, "invalid_type /keys/1"},
		{`{"query":1}`, "invalid_type /query"},
		{`{"limit":1,"q":""}`, "unrecognized_keys / [limit q]"},
	} {
		_, err := searchFields(t, c.body)
		if got := fmt.Sprint(strings.Join(issueLines(t, err), "; ")); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}

func TestIncludes(t *testing.T) {
	t.Parallel()
	want := map[catalog.Dataset]string{
		catalog.Accounts: "contacts projects signals", catalog.Projects: "accounts contacts signals",
		catalog.Contacts: "account(1) projects", catalog.Signals: "accounts project(1)",
	}
	for d, keys := range want {
		var got []string
		for _, inc := range query.Includes(d) {
			key := inc.Key
			if inc.One {
				key += "(1)"
			}
			got = append(got, key)
		}
		slices.Sort(got)
		if diff := cmp.Diff(keys, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
	}
}
