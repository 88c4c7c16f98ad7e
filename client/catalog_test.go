package client_test

import (
	"reflect"
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
		records := map[query.Dataset]string{query.Accounts: "client.Account", query.Contacts: "client.Contact", query.Projects: "client.Project", query.Signals: "client.Signal"}
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
