package query_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"atlas/internal/input"
	"atlas/search/query"
)

// The fields of all conditions are listed, at any depth, also of bodies that Parse
// refuses.
func TestConditionFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		dataset query.Dataset
		base    query.BaseKind
		body    string
		want    []string
	}{
		{"nothing", query.Accounts, query.Data, `{}`, nil},
		{"everywhere", query.Accounts, query.Data, `{
			"query":"email","sort":{"field":"name","order":"asc"},
			"filters":{"city":{"value":"x"},"name":{"known":true}},
			"relations":{"without_contact":{"email":{"value":"x"}},"has_contact":{"email":{"known":false},"role":{"value":"owner"}},"has_project":{}},
			"any":[{"filters":{"account_type":{"value":"owner"}}},{"relations":{"has_contact":{"email":{"value":"x","exact_match":true}}}}],
			"none":[{"filters":{"state":{"known":true}},"relations":{"without_contact":{"email":{"known":true}}}}]}`,
			[]string{
				"accounts.name filters/name", "accounts.city filters/city", "contacts.email relations/has_contact/email", "contacts.role relations/has_contact/role",
				"contacts.email relations/without_contact/email", "accounts.account_types any/0/filters/account_type",
				"contacts.email any/1/relations/has_contact/email", "accounts.state none/0/filters/state", "contacts.email none/0/relations/without_contact/email",
			}},
		{"of the book", query.Contacts, query.Book, `{"filters":{"tags":{"known":true}},"none":[{"filters":{"updated_at":{"known":true},"email":{"value":"x"}}}]}`,
			[]string{"overlay.tags filters/tags", "contacts.email none/0/filters/email", "overlay.updated_at none/0/filters/updated_at"}},
		{"not of the book", query.Contacts, query.Data, `{"filters":{"tags":{"known":true}},"none":[{"filters":{"updated_at":{"known":true}}}]}`, []string{"contacts.updated_at none/0/filters/updated_at"}},
		{"what is refused", query.Contacts, query.Data, `{"filters":{"email":null,"mail":{"value":1}},"relations":{"has_contact":{"email":{}},"has_project":[]},"any":[5,{},{"filters":{"email":{"value":{}}}},{"any":[{"filters":{"email":{}}}]}],"none":{"filters":{"email":{}}}}`,
			[]string{"contacts.email filters/email", "contacts.email any/2/filters/email"}},
		{"no objects", query.Contacts, query.Data, `{"filters":["email"],"relations":"email","any":"email","none":null}`, nil},
	} {
		v, issues := input.Decode([]byte(c.body))
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		var got []string
		var paths [][]string
		for path, f := range query.ConditionFields(v, c.dataset, c.base) {
			of := string(c.dataset)
			for _, rel := range query.RelationsOf(c.dataset) {
				if len(path) > 2 && strings.HasSuffix(path[len(path)-2], "_"+rel.Singular) {
					of = string(rel.Child)
				}
			}
			if f.Overlay {
				of = "overlay"
			} else if known, ok := query.FieldNamed(query.Dataset(of), f.Name); !ok || known.Kind != f.Kind {
				t.Errorf("%s: %s has no %s", c.name, of, f.Name)
			}
			got, paths = append(got, of+"."+f.Name+" "+strings.Join(path, "/")), append(paths, path)
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for i, path := range paths { // the paths share nothing
			if i < len(c.want) && !strings.HasSuffix(c.want[i], " "+strings.Join(path, "/")) {
				t.Errorf("%s: the path of %s became %v", c.name, c.want[i], path)
			}
		}
		for n := 1; n <= len(got); n++ {
			seen := 0
			for range query.ConditionFields(v, c.dataset, c.base) {
				if seen++; seen == n {
					break
				}
			}
			if seen != n {
				t.Errorf("%s: %d fields before the walk ended, want %d", c.name, seen, n)
			}
		}
	}
}
