package clients

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
	"atlas/search/query"
)

// The records of the client have the fields of the catalog, each with its type,
// and what a get can include.
func TestRecordsAreTheCatalogs(t *testing.T) {
	t.Parallel()
	for d, record := range map[query.Dataset]reflect.Type{
		query.Accounts: reflect.TypeFor[client.Account](), query.Contacts: reflect.TypeFor[client.Contact](),
		query.Projects: reflect.TypeFor[client.Project](), query.Signals: reflect.TypeFor[client.Signal](),
	} {
		want := map[string]string{}
		for _, f := range query.Fields(d) {
			want[f.Name] = typeOf(f)
		}
		records := map[query.Dataset]string{
			query.Accounts: "client.Account", query.Contacts: "client.Contact", query.Projects: "client.Project",
			query.Signals: "client.Signal",
		}
		for _, inc := range query.Includes(d) {
			want[inc.Key] = "[]" + records[inc.Dataset]
			if inc.One {
				want[inc.Key] = "*" + records[inc.Dataset]
			}
		}
		got := map[string]string{}
		for i := range record.NumField() {
			f := record.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
				got[name] = f.Type.String()
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
}

func typeOf(f query.Field) string {
	for _, e := range enums {
		if f.Vocabulary != nil && slices.Equal(e.terms, f.Vocabulary) {
			if f.Type == query.Strings {
				return "[]client." + e.name
			}
			return "client." + e.name
		}
	}
	switch f.Type {
	case query.Strings, query.UUIDs:
		return "[]string"
	case query.Integer:
		if f.Derive != nil && f.Derive.Count {
			return "int" // a count is always known
		}
		return "*int64"
	case query.Double:
		return "*float64"
	case query.Time:
		return reflect.TypeFor[time.Time]().String()
	default:
		return "string"
	}
}

// The rows and upserts of the client have the fields that workspaces read and
// write.
func TestRowsAreTheCatalogs(t *testing.T) {
	t.Parallel()
	for d, c := range map[query.Dataset]struct{ book, view, upsert reflect.Type }{
		query.Accounts: {reflect.TypeFor[client.BookAccount](), reflect.TypeFor[client.ViewAccount](), reflect.TypeFor[client.AccountUpsert]()},
		query.Contacts: {reflect.TypeFor[client.BookContact](), reflect.TypeFor[client.ViewContact](), reflect.TypeFor[client.ContactUpsert]()},
		query.Projects: {reflect.TypeFor[client.BookProject](), reflect.TypeFor[client.ViewProject](), reflect.TypeFor[client.ProjectUpsert]()},
	} {
		same := func(what string, want []string, of reflect.Type) {
			t.Helper()
			slices.Sort(want)
			var got []string
			for i := range of.NumField() {
				if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "-" {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s (-catalog +client):\n%s", what, d, diff)
			}
		}
		names := func(fields []query.Field) (names []string) {
			for _, f := range fields {
				names = append(names, f.Name)
			}
			return names
		}
		same("rows of the book", names(query.RowChoice(d, query.BookRow)), c.book)
		same("rows of Views", names(query.RowChoice(d, query.ViewRow)), c.view)
		// What only `fields` can ask for is left out where it is unknown.
		for row, of := range map[query.Rows]reflect.Type{query.BookRows: c.book, query.ViewRow: c.view} {
			usual := names(query.RowFields(d, row))
			for i := range of.NumField() {
				if name, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "-" && slices.Contains(usual, name) != (options == "") {
					t.Errorf("%s of %s: the tag of %s has %q", of, d, name, options)
				}
			}
		}
		written := []string{d.Singular() + "_id", "expected"}
		if _, ok := query.MatchField(d); ok {
			written = append(written, "match")
		}
		for _, f := range query.OverlayFields(d) {
			if f.Written {
				written = append(written, f.Name)
			}
		}
		same("upserts", written, c.upsert)
	}
}
