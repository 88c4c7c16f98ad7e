package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

func fieldSet(t *testing.T, d catalog.Dataset, base catalog.BaseKind, names string) (catalog.FieldSet, error) {
	t.Helper()
	body, problems := input.Decode([]byte(`{"fields":` + names + `}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	q, err := query.Parse(body, d, query.Base{Kind: base})
	return q.Fields, err
}

// The id is always selected, the order is that of the record, and values keep their
// bytes.
func TestSelect(t *testing.T) {
	t.Parallel()
	const record = `{"id":"i","name":"a \"name\":1 ,}","account_types":["owner"], "domains" : [ ] ,"city":null,"projects_count":1.50,"description":"{\\"}`
	for names, want := range map[string]string{
		`["name"]`:                     `{"id":"i","name":"a \"name\":1 ,}"}`,
		`["city","id","name","city"]`:  `{"id":"i","name":"a \"name\":1 ,}","city":null}`,
		`["description","domains"]`:    `{"id":"i","domains":[ ],"description":"{\\"}`,
		`["projects_count","country"]`: `{"id":"i","projects_count":1.50}`,
		`["id"]`:                       `{"id":"i"}`,
	} {
		set, err := fieldSet(t, catalog.Accounts, catalog.Data, names)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := set.Select(jsontext.Value(record)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", names, got, err, want)
		}
		if _, err := set.Select(jsontext.Value(`{"name"`)); err == nil {
			t.Errorf("%s: a broken record is read", names)
		}
	}
	if got, err := (catalog.FieldSet{}).Select(jsontext.Value(record)); err != nil || string(got) != record {
		t.Errorf("all: %s, %v", got, err)
	}
}

// Rows of books and Views have their own members.
func TestFieldSetsOfBases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dataset catalog.Dataset
		base    catalog.BaseKind
		names   string
		issue   string // its path, "" for none
	}{
		{catalog.Accounts, catalog.Data, `["website"]`, ""},
		{catalog.Accounts, catalog.Data, `["icp_tier"]`, "fields.0"},
		{catalog.Accounts, catalog.Data, `["account_type"]`, "fields.0"}, // the key of a filter
		{catalog.Accounts, catalog.Book, `["name","icp_tier","updated_at","website"]`, ""},
		{catalog.Accounts, catalog.Book, `["name","description","phone","created_at"]`, ""},
		{catalog.Accounts, catalog.View, `["icp_tier","updated_at"]`, ""},
		{catalog.Accounts, catalog.View, `["notes","atlas_trend","projects_count"]`, ""},
		{catalog.Accounts, catalog.View, `["cost"]`, "fields.0"},
		{catalog.Accounts, catalog.Book, `["account_type"]`, "fields.0"},
		{catalog.Projects, catalog.Book, `["cost","icp_tier"]`, "fields.1"},
		{catalog.Signals, catalog.Data, `["source_url"]`, ""},
		{catalog.Contacts, catalog.Data, `["Email"]`, "fields.0"},
		{catalog.Contacts, catalog.Data, `[]`, "fields"},
		{catalog.Contacts, catalog.Data, `null`, "fields"},
		{catalog.Contacts, catalog.Data, `"email"`, "fields"},
		{catalog.Contacts, catalog.Data, `[1]`, "fields.0"},
		{catalog.Contacts, catalog.Data, `["e\u0301mail"]`, "fields.0"},
	} {
		_, err := fieldSet(t, c.dataset, c.base, c.names)
		path := ""
		if e, ok := errors.AsType[*fault.Error](err); ok && len(e.Issues) == 1 {
			path = strings.Join(e.Issues[0].Path, ".")
		}
		if path != c.issue || (err == nil) != (c.issue == "") {
			t.Errorf("%s of %s, %s: %v", c.dataset, c.base, c.names, err)
		}
	}
}
