package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

const (
	someID    = "0f8fad5b-d9cb-469f-a165-70867728950e"
	workspace = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	view      = "550e8400-e29b-41d4-a716-446655440000"
)

// bases are examples of the three kinds of bases.
var bases = map[catalog.BaseKind]query.Base{
	catalog.Data: {Kind: catalog.Data},
	catalog.Book: {Kind: catalog.Book, Workspace: workspace},
	catalog.View: {Kind: catalog.View, Workspace: workspace, View: view},
}

func parse(t *testing.T, d catalog.Dataset, base catalog.BaseKind, body string) (query.Query, error) {
	t.Helper()
	v, issues := input.Decode([]byte(body))
	if len(issues) > 0 {
		t.Fatalf("the test's body is not valid JSON: %v", issues)
	}
	return query.Parse(v, d, bases[base])
}

// issue is one line of an expected validation error: `code path [key key]`.
func issueLines(t *testing.T, err error) []string {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.InvalidInput {
		t.Fatalf("want a validation error, got %v", err)
	}
	var lines []string
	for _, i := range f.Issues {
		line := string(i.Code) + " /" + strings.Join(i.Path, "/")
		if i.Keys != nil {
			line += fmt.Sprintf(" %v", i.Keys)
		}
		if i.Path == nil || i.Message == "" || (i.Code == fault.UnrecognizedKeys) != (len(i.Keys) > 0) {
			t.Errorf("a malformed issue: %+v", i)
		}
		lines = append(lines, line)
	}
	return lines
}

type rejected struct {
	name    string
	dataset catalog.Dataset
	base    catalog.BaseKind
	body    string
	want    []string
}

// fiveConditions is a group: two filters, a relation with one, and one without.
const fiveConditions = `{"filters":{"name":{"known":true},"city":{"value":"x"}},"relations":{"has_project":{"cost":{"value":1}},"without_signal":{}}}`

var rejects = []rejected{
	// Unknown keys: one issue per object, with the path of the object and all its
	// unknown keys.
	{"unknown keys", catalog.Projects, catalog.Data, `{"page":1,"limit":5,"where":{}}`, []string{"unrecognized_keys / [page where]"}},
	{
		"unknown filter keys", catalog.Projects, catalog.Data,
		`{"filters":{"colour":{"value":"x"},"stage":{"value":"filed"},"size":{"value":1}}}`,
		[]string{"unrecognized_keys /filters [colour size]"},
	},
	{
		"a key of another dataset", catalog.Contacts, catalog.Data, `{"filters":{"stage":{"value":"filed"}}}`,
		[]string{"unrecognized_keys /filters [stage]"},
	},
	{
		"a record's key that is no filter", catalog.Accounts, catalog.Data,
		`{"filters":{"website":{"value":"x"},"id":{"value":"x"},"phone":{"value":"x"}}}`,
		[]string{"unrecognized_keys /filters [website id phone]"},
	},
	{
		"account_types is not its filter key", catalog.Accounts, catalog.Data,
		`{"filters":{"account_types":{"value":"owner"}}}`, []string{"unrecognized_keys /filters [account_types]"},
	},
	{
		"a signal's updated_at", catalog.Signals, catalog.Data, `{"filters":{"updated_at":{"value":"2024-01-01"}}}`,
		[]string{"unrecognized_keys /filters [updated_at]"},
	},
	{
		"a contact's account_name", catalog.Contacts, catalog.Data, `{"filters":{"account_name":{"value":"x"}}}`,
		[]string{"unrecognized_keys /filters [account_name]"},
	},
	{
		"a name in other case",
		catalog.Accounts,
		catalog.Data,
		`{"filters":{"Name":{"value":"x"}}}`,
		[]string{"unrecognized_keys /filters [Name]"},
	},
	{
		"an overlay key of the book", catalog.Accounts, catalog.Data,
		`{"filters":{"tags":{"value":"x"},"atlas_score":{"value":1}}}`,
		[]string{"unrecognized_keys /filters [tags atlas_score]"},
	},
	{
		"an account's overlay key", catalog.Projects, catalog.Book,
		`{"filters":{"icp_tier":{"value":"tier_1"},"atlas_score":{"value":1},"tags":{"value":"x"}}}`,
		[]string{"unrecognized_keys /filters [icp_tier atlas_score]"},
	},
	{
		"unknown keys of a filter", catalog.Accounts, catalog.Data,
		`{"filters":{"name":{"value":"x","exact":true,"exclude":false}}}`,
		[]string{"unrecognized_keys /filters/name [exact exclude]"},
	},
	{
		"unknown keys of sort", catalog.Accounts, catalog.Data, `{"sort":{"field":"name","order":"asc","nulls":"first"}}`,
		[]string{"unrecognized_keys /sort [nulls]"},
	},
	{"an empty key", catalog.Accounts, catalog.Data, `{"":1}`, []string{"unrecognized_keys / []"}},

	// exact_match belongs to text only.
	{
		"exact_match on an enum", catalog.Projects, catalog.Data,
		`{"filters":{"stage":{"value":"filed","exact_match":false}}}`,
		[]string{"unrecognized_keys /filters/stage [exact_match]"},
	},
	{
		"exact_match on a dynamic enum", catalog.Projects, catalog.Data,
		`{"filters":{"city":{"value":"Calgary","exact_match":true}}}`,
		[]string{"unrecognized_keys /filters/city [exact_match]"},
	},
	{
		"exact_match on a number", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":1,"exact_match":true}}}`,
		[]string{"unrecognized_keys /filters/cost [exact_match]"},
	},
	{
		"exact_match on a date", catalog.Projects, catalog.Data,
		`{"filters":{"filed_at":{"value":"2024-01-01","exact_match":true}}}`,
		[]string{"unrecognized_keys /filters/filed_at [exact_match]"},
	},
	{
		"exact_match on tags", catalog.Contacts, catalog.Book, `{"filters":{"tags":{"value":"x","exact_match":true}}}`,
		[]string{"unrecognized_keys /filters/tags [exact_match]"},
	},
	{
		"exact_match that is no boolean", catalog.Accounts, catalog.Data,
		`{"filters":{"name":{"value":"x","exact_match":"true"}}}`, []string{"invalid_type /filters/name/exact_match"},
	},
	{
		"exact_match that is null", catalog.Accounts, catalog.Data, `{"filters":{"name":{"value":"x","exact_match":null}}}`,
		[]string{"invalid_type /filters/name/exact_match"},
	},

	// Vocabularies: one issue for each bad scalar or element.
	{
		"a bad enum",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"stage":{"value":"Filed"}}}`,
		[]string{"invalid_union /filters/stage/value"},
	},
	{
		"a bad enum of another type",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"stage":{"value":5},"gc_status":{"value":null},"disposition":{"value":{}}}}`,
		[]string{
			"invalid_union /filters/stage/value",
			"invalid_union /filters/disposition/value",
			"invalid_union /filters/gc_status/value",
		},
	},
	{"bad elements", catalog.Projects, catalog.Data, `{"filters":{"stage":{"value":["filed","x","approved",7,"filed "]}}}`,
		[]string{"invalid_union /filters/stage/value/1", "invalid_union /filters/stage/value/3", "invalid_union /filters/stage/value/4"}},
	{
		"an array in an array", catalog.Projects, catalog.Data, `{"filters":{"stage":{"value":[["filed"]]}}}`,
		[]string{"invalid_union /filters/stage/value/0"},
	},
	{
		"a bad account_type", catalog.Accounts, catalog.Data, `{"filters":{"account_type":{"value":"builder"}}}`,
		[]string{"invalid_union /filters/account_type/value"},
	},
	{
		"a bad signal_type", catalog.Signals, catalog.Data, `{"filters":{"signal_type":{"value":"stage"}}}`,
		[]string{"invalid_union /filters/signal_type/value"},
	},
	{"a bad role", catalog.Contacts, catalog.Data, `{"filters":{"role":{"value":"boss"}}}`, []string{"invalid_union /filters/role/value"}},
	{
		"a bad icp_tier", catalog.Accounts, catalog.Book, `{"filters":{"icp_tier":{"value":"tier_4"}}}`,
		[]string{"invalid_union /filters/icp_tier/value"},
	},

	// Arrays.
	{
		"no elements", catalog.Projects, catalog.Data, `{"filters":{"stage":{"value":[]},"name":{"value":[]}}}`,
		[]string{"too_small /filters/name/value", "too_small /filters/stage/value"},
	},
	{
		"101 elements", catalog.Accounts, catalog.Data,
		`{"filters":{"city":{"value":[` + strings.Repeat(`"x",`, 100) + `"y"]}}}`,
		[]string{"too_big /filters/city/value"},
	},
	{"elements of other types", catalog.Accounts, catalog.Data, `{"filters":{"name":{"value":["x",1,null]},"city":{"value":[true]}}}`,
		[]string{"invalid_type /filters/name/value/1", "invalid_type /filters/name/value/2", "invalid_type /filters/city/value/0"}},

	// Text, dynamic enums, ids.
	{
		"a text of another type",
		catalog.Accounts,
		catalog.Data,
		`{"filters":{"name":{"value":7},"description":{"value":{}},"city":{"value":null}}}`,
		[]string{"invalid_type /filters/name/value", "invalid_type /filters/description/value", "invalid_type /filters/city/value"},
	},
	{"a text without a value", catalog.Accounts, catalog.Data, `{"filters":{"name":{},"city":{"exact_match":true}}}`,
		[]string{"invalid_type /filters/name/value", "unrecognized_keys /filters/city [exact_match]", "invalid_type /filters/city/value"}},
	{"a filter that is no object", catalog.Accounts, catalog.Data, `{"filters":{"name":"x","city":["x"],"projects_count":null}}`,
		[]string{"invalid_type /filters/name", "invalid_type /filters/city", "invalid_type /filters/projects_count"}},
	{"filters that are no object", catalog.Accounts, catalog.Data, `{"filters":[]}`, []string{"invalid_type /filters"}},
	{"filters null", catalog.Accounts, catalog.Data, `{"filters":null}`, []string{"invalid_type /filters"}},
	{
		"a text of over 500 characters", catalog.Accounts, catalog.Data,
		`{"filters":{"name":{"value":"` + strings.Repeat("é", 501) + `"}}}`, []string{"too_big /filters/name/value"},
	},
	{
		"an exact name of over 1000", catalog.Accounts, catalog.Data,
		`{"filters":{"name":{"exact_match":true,"value":"` + strings.Repeat("é", 1001) + `"}}}`,
		[]string{"too_big /filters/name/value"},
	},
	{
		"no UUID",
		catalog.Contacts,
		catalog.Data,
		`{"filters":{"account_id":{"value":"x"}}}`,
		[]string{"invalid_format /filters/account_id/value"},
	},
	{
		"a UUID of another type", catalog.Contacts, catalog.Data, `{"filters":{"account_id":{"value":1}}}`,
		[]string{"invalid_type /filters/account_id/value"},
	},
	{
		"a UUID without hyphens", catalog.Projects, catalog.Data,
		`{"filters":{"account_ids":{"value":["` + someID + `","0f8fad5bd9cb469fa16570867728950e"]}}}`,
		[]string{"invalid_format /filters/account_ids/value/1"},
	},

	// Numbers.
	{
		"a number as text",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"cost":{"value":"5"}}}`,
		[]string{"invalid_type /filters/cost/value"},
	},
	{"a number null", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":null}}}`, []string{"invalid_type /filters/cost/value"}},
	{
		"a range as object", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":{"min":1}}}}`,
		[]string{"invalid_type /filters/cost/value"},
	},
	{"a range of one", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":[1]}}}`, []string{"too_small /filters/cost/value"}},
	{"a range of none", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":[]}}}`, []string{"too_small /filters/cost/value"}},
	{"a range of three", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":[1,2,3]}}}`, []string{"too_big /filters/cost/value"}},
	{
		"a range open at both ends", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":[null,null]}}}`,
		[]string{"custom /filters/cost/value"},
	},
	{
		"a range upside down", catalog.Projects, catalog.Data,
		`{"filters":{"cost":{"value":[2,1]},"stories":{"value":[3,2.5]}}}`,
		[]string{"custom /filters/stories/value", "custom /filters/cost/value"},
	},
	{
		"ends of other types", catalog.Projects, catalog.Data, `{"filters":{"cost":{"value":["1",true]}}}`,
		[]string{"invalid_type /filters/cost/value/0", "invalid_type /filters/cost/value/1"},
	},
	{
		"a number past all bounds", catalog.Projects, catalog.Data,
		`{"filters":{"cost":{"value":1e999},"stories":{"value":[-1e999,1]}}}`,
		[]string{"too_big /filters/stories/value/0", "too_big /filters/cost/value"},
	},

	// Locations.
	{"no area", catalog.Projects, catalog.Data, `{"filters":{"location":{"value":{}}}}`, []string{"invalid_union /filters/location/value"}},
	{
		"two areas, both of them bad",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"location":{"value":{"near":{"latitude":91,"longitude":"x"},"within":{"north":1,"south":2,"east":181,"west":-1e999,"up":1}}}}}`,
		[]string{
			"too_big /filters/location/value/near/latitude", "invalid_type /filters/location/value/near/longitude",
			"invalid_type /filters/location/value/near/radius_m",
			"too_big /filters/location/value/within/east", "too_small /filters/location/value/within/west",
			"unrecognized_keys /filters/location/value/within [up]", "custom /filters/location/value/within",
			"invalid_union /filters/location/value"},
	},
	{
		"polygons of other forms",
		catalog.Projects,
		catalog.Data,
		`{"any":[{"filters":{"location":{"value":{"polygon":[[51,-114],[51,-113],[52,-114]]}}}},{"filters":{"location":{"value":{"polygon":{"type":"Polygon"}}}}},{"filters":{"location":{"value":{"polygon":[{"lat":51,"lon":-114},{"latitude":51},null]}}}}]}`,
		[]string{
			"invalid_type /any/0/filters/location/value/polygon/0", "invalid_type /any/0/filters/location/value/polygon/1",
			"invalid_type /any/0/filters/location/value/polygon/2", "invalid_type /any/1/filters/location/value/polygon",
			"invalid_type /any/2/filters/location/value/polygon/0/latitude", "invalid_type /any/2/filters/location/value/polygon/0/longitude",
			"unrecognized_keys /any/2/filters/location/value/polygon/0 [lat lon]",
			"invalid_type /any/2/filters/location/value/polygon/1/longitude", "invalid_type /any/2/filters/location/value/polygon/2"},
	},
	{
		"a border that meets itself, and two areas", catalog.Projects, catalog.Data,
		`{"filters":{"location":{"value":{"polygon":[{"latitude":0,"longitude":0},{"latitude":1,"longitude":1},{"latitude":1,"longitude":0},{"latitude":0,"longitude":1}],"within":{"north":1,"south":0,"east":1,"west":0}}}}}`,
		[]string{"custom /filters/location/value/polygon", "invalid_union /filters/location/value"},
	},
	{
		"an area of no kind", catalog.Projects, catalog.View, `{"filters":{"location":{"value":{"around":{}}}}}`,
		[]string{"invalid_union /filters/location/value", "unrecognized_keys /filters/location/value [around]"},
	},
	{
		"impossible circles",
		catalog.Projects,
		catalog.Data,
		`{"any":[{"filters":{"location":{"value":{"near":{"latitude":-90.1,"longitude":180.5,"radius_m":0.5}}}}},{"filters":{"location":{"value":{"near":{"latitude":1,"longitude":1,"radius_m":20100001}}}}}]}`,
		[]string{
			"too_small /any/0/filters/location/value/near/latitude", "too_big /any/0/filters/location/value/near/longitude",
			"too_small /any/0/filters/location/value/near/radius_m", "too_big /any/1/filters/location/value/near/radius_m"},
	},
	{
		"an empty box of related records",
		catalog.Accounts,
		catalog.Data,
		`{"relations":{"has_project":{"location":{"value":{"within":{}}}}}}`,
		[]string{
			"invalid_type /relations/has_project/location/value/within/north", "invalid_type /relations/has_project/location/value/within/south",
			"invalid_type /relations/has_project/location/value/within/east", "invalid_type /relations/has_project/location/value/within/west"},
	},
	{
		"an area of another type", catalog.Projects, catalog.Data,
		`{"filters":{"location":{"value":[51,-114],"exact_match":true}}}`,
		[]string{"unrecognized_keys /filters/location [exact_match]", "invalid_type /filters/location/value"},
	},
	{
		"a location that is null, or of no dataset", catalog.Projects, catalog.Data,
		`{"filters":{"location":{"value":{"near":null}}},"relations":{"has_signal":{"location":{"known":true}}}}`,
		[]string{"invalid_type /filters/location/value/near", "unrecognized_keys /relations/has_signal [location]"},
	},
	{
		"coordinates are no filters", catalog.Projects, catalog.Data,
		`{"filters":{"latitude":{"value":1},"longitude":{"value":1}},"sort":{"field":"location","order":"asc"}}`,
		[]string{"unrecognized_keys /filters [latitude longitude]", "unrecognized_keys /sort/field [location]"},
	},
	{
		"a book by permit", catalog.Projects, catalog.Book, `{"sort":{"field":"permitted_at","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [permitted_at]"},
	},
	{
		"a View by filing", catalog.Projects, catalog.View, `{"sort":{"field":"filed_at","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [filed_at]"},
	},

	// Dates.
	{
		"a date as a number", catalog.Projects, catalog.Data, `{"filters":{"filed_at":{"value":1704067200000}}}`,
		[]string{"invalid_type /filters/filed_at/value"},
	},
	{
		"an impossible day", catalog.Projects, catalog.Data, `{"filters":{"filed_at":{"value":"2023-02-29"}}}`,
		[]string{"invalid_format /filters/filed_at/value"},
	},
	{
		"a month", catalog.Projects, catalog.Data, `{"filters":{"filed_at":{"value":"2024-02"}}}`,
		[]string{"invalid_format /filters/filed_at/value"},
	},
	{
		"no date", catalog.Projects, catalog.Data,
		`{"filters":{"filed_at":{"value":"yesterday"},"detected_at":{"value":""}}}`,
		[]string{"invalid_format /filters/filed_at/value", "invalid_format /filters/detected_at/value"},
	},
	{
		"a day upside down", catalog.Projects, catalog.Data,
		`{"filters":{"filed_at":{"value":["2024-01-02","2024-01-01"]}}}`, []string{"custom /filters/filed_at/value"},
	},
	{
		"an instant after the day's end", catalog.Projects, catalog.Data,
		`{"filters":{"filed_at":{"value":["2024-01-02T00:00:00Z","2024-01-01"]}}}`,
		[]string{"custom /filters/filed_at/value"},
	},
	{
		"dates open at both ends", catalog.Projects, catalog.Data, `{"filters":{"filed_at":{"value":[null,null]}}}`,
		[]string{"custom /filters/filed_at/value"},
	},
	{
		"three dates", catalog.Projects, catalog.Data,
		`{"filters":{"filed_at":{"value":["2024-01-01","2024-01-01","2024-01-01"]}}}`,
		[]string{"too_big /filters/filed_at/value"},
	},
	{"bad ends", catalog.Projects, catalog.Data, `{"filters":{"filed_at":{"value":["x",5]}}}`, []string{
		"invalid_format /filters/filed_at/value/0", "invalid_type /filters/filed_at/value/1",
	}},

	// Query.
	{"a query of blanks", catalog.Accounts, catalog.Data, `{"query":" \n\t "}`, []string{"too_small /query"}},
	{"an empty query", catalog.Accounts, catalog.Data, `{"query":""}`, []string{"too_small /query"}},
	{"a query of 501", catalog.Accounts, catalog.Data, `{"query":"` + strings.Repeat("é", 501) + `"}`, []string{"too_big /query"}},
	{"a query that is no string", catalog.Accounts, catalog.Data, `{"query":5}`, []string{"invalid_type /query"}},
	{"a query null", catalog.Accounts, catalog.Data, `{"query":null}`, []string{"invalid_type /query"}},

	// Pages.
	{"limit 0", catalog.Accounts, catalog.Data, `{"limit":0}`, []string{"too_small /limit"}},
	{"limit 101", catalog.Accounts, catalog.Data, `{"limit":101}`, []string{"too_big /limit"}},
	{"limit 1e999", catalog.Accounts, catalog.Data, `{"limit":1e999}`, []string{"too_big /limit"}},
	{"limit as text", catalog.Accounts, catalog.Data, `{"limit":"25"}`, []string{"invalid_type /limit"}},
	{"half a row", catalog.Accounts, catalog.Data, `{"limit":1.5}`, []string{"invalid_type /limit"}},
	{"limit null", catalog.Accounts, catalog.Data, `{"limit":null}`, []string{"invalid_type /limit"}},
	{"a negative offset", catalog.Accounts, catalog.Data, `{"offset":-1}`, []string{"too_small /offset"}},
	{"offset 10001", catalog.Accounts, catalog.Data, `{"offset":10001}`, []string{"too_big /offset"}},
	{"offset 10001 in a book", catalog.Accounts, catalog.Book, `{"offset":10001}`, []string{"too_big /offset"}},
	{"a bad offset beside a cursor", catalog.Accounts, catalog.Data, `{"offset":-1,"search_after":"x"}`, []string{"too_small /offset"}},
	{
		"typos in a long text", catalog.Accounts, catalog.Data,
		`{"typos":"auto","query":"` + strings.Repeat("b", 101) + `"}`, []string{"custom /query"},
	},
	{"typos that are no choice", catalog.Accounts, catalog.Book, `{"typos":"on"}`, []string{"invalid_union /typos"}},
	{"typos that are no text", catalog.Accounts, catalog.Data, `{"typos":true,"query":"x"}`, []string{"invalid_union /typos"}},
	{"a cursor that is no string", catalog.Accounts, catalog.Data, `{"search_after":["x"]}`, []string{"invalid_type /search_after"}},

	// Sort.
	{
		"an unknown sort field", catalog.Accounts, catalog.Data, `{"sort":{"field":"size","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [size]"},
	},
	{
		"a field that does not sort", catalog.Accounts, catalog.Data, `{"sort":{"field":"contacts_count","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [contacts_count]"},
	},
	{
		"a date that does not sort", catalog.Projects, catalog.Data, `{"sort":{"field":"completed_at","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [completed_at]"},
	},
	{
		"a signal's updated_at", catalog.Signals, catalog.Data, `{"sort":{"field":"updated_at","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [updated_at]"},
	},
	{"a sort without its order", catalog.Accounts, catalog.Data, `{"sort":{"field":"name"}}`, []string{"invalid_type /sort/order"}},
	{"a sort without its field", catalog.Accounts, catalog.Data, `{"sort":{"order":"asc"}}`, []string{"invalid_type /sort/field"}},
	{"an empty sort", catalog.Accounts, catalog.Data, `{"sort":{}}`, []string{"invalid_type /sort/field", "invalid_type /sort/order"}},
	{"another order", catalog.Accounts, catalog.Data, `{"sort":{"field":"name","order":"ASC"}}`, []string{"invalid_union /sort/order"}},
	{
		"an order of another type",
		catalog.Accounts,
		catalog.Data,
		`{"sort":{"field":"name","order":1}}`,
		[]string{"invalid_union /sort/order"},
	},
	{"a field of another type", catalog.Accounts, catalog.Data, `{"sort":{"field":1,"order":"asc"}}`, []string{"invalid_type /sort/field"}},
	{"sort as a string", catalog.Accounts, catalog.Data, `{"sort":"name"}`, []string{"invalid_type /sort"}},
	{"sort as a list", catalog.Accounts, catalog.Data, `{"sort":[{"field":"name","order":"asc"}]}`, []string{"invalid_type /sort"}},
	{"sort null", catalog.Accounts, catalog.Data, `{"sort":null}`, []string{"invalid_type /sort"}},
	{
		"relevance without a query",
		catalog.Accounts,
		catalog.Data,
		`{"sort":{"field":"relevance","order":"desc"}}`,
		[]string{"custom /sort/field"},
	},
	{
		"relevance upside down", catalog.Accounts, catalog.Data, `{"query":"x","sort":{"field":"relevance","order":"asc"}}`,
		[]string{"invalid_union /sort/order"},
	},
	{
		"relevance in a book", catalog.Accounts, catalog.Book, `{"query":"x","sort":{"field":"relevance","order":"desc"}}`,
		[]string{"unrecognized_keys /sort/field [relevance]"},
	},
	{
		"relevance in a View", catalog.Accounts, catalog.View, `{"query":"x","sort":{"field":"relevance","order":"desc"}}`,
		[]string{"unrecognized_keys /sort/field [relevance]"},
	},
	{
		"a data sort in a book", catalog.Projects, catalog.Book, `{"sort":{"field":"cost","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [cost]"},
	},
	{
		"a book sort in a View", catalog.Accounts, catalog.View, `{"sort":{"field":"updated_at","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [updated_at]"},
	},
	{
		"the score in a View", catalog.Accounts, catalog.View, `{"sort":{"field":"atlas_score","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [atlas_score]"},
	},
	{
		"the score of a project", catalog.Projects, catalog.Book, `{"sort":{"field":"atlas_score","order":"asc"}}`,
		[]string{"unrecognized_keys /sort/field [atlas_score]"},
	},

	// Relations.
	{
		"unknown relations", catalog.Projects, catalog.Data,
		`{"relations":{"has_contact":{},"has_signals":{},"has_signal":{}}}`,
		[]string{"unrecognized_keys /relations [has_contact has_signals]"},
	},
	{
		"relations of a signal", catalog.Signals, catalog.Data, `{"relations":{"has_project":{}}}`,
		[]string{"unrecognized_keys /relations [has_project]"},
	},
	{"a contact's signals", catalog.Contacts, catalog.Data, `{"relations":{"has_signal":{}}}`, []string{
		"unrecognized_keys /relations [has_signal]",
	}},
	{"relations that are no object", catalog.Accounts, catalog.Data, `{"relations":["has_project"]}`, []string{"invalid_type /relations"}},
	{
		"a relation that is no object", catalog.Accounts, catalog.Data,
		`{"relations":{"has_project":true,"without_signal":null}}`,
		[]string{"invalid_type /relations/has_project", "invalid_type /relations/without_signal"},
	},
	{
		"filters around a relation's filters", catalog.Accounts, catalog.Data,
		`{"relations":{"has_project":{"filters":{"stage":{"value":"filed"}}}}}`,
		[]string{"unrecognized_keys /relations/has_project [filters]"},
	},
	{
		"a relation in a relation", catalog.Accounts, catalog.Data, `{"relations":{"has_project":{"has_signal":{}}}}`,
		[]string{"unrecognized_keys /relations/has_project [has_signal]"},
	},
	{
		"a bad value in a relation", catalog.Accounts, catalog.Data,
		`{"relations":{"without_signal":{"signal_type":{"value":["permit_filed","x"]}}}}`,
		[]string{"invalid_union /relations/without_signal/signal_type/value/1"},
	},
	{
		"an overlay key in a relation", catalog.Accounts, catalog.Book,
		`{"relations":{"has_project":{"tags":{"value":"x"}}}}`,
		[]string{"unrecognized_keys /relations/has_project [tags]"},
	},
	{
		"a relation among the filters", catalog.Accounts, catalog.Data, `{"filters":{"has_project":{}}}`,
		[]string{"unrecognized_keys /filters [has_project]"},
	},
	{
		"exact_match on a relation's enum", catalog.Accounts, catalog.Data,
		`{"relations":{"has_project":{"stage":{"value":"filed","exact_match":true}}}}`,
		[]string{"unrecognized_keys /relations/has_project/stage [exact_match]"},
	},

	// Known values.
	{
		"known and a value",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"stage":{"value":"filed","known":true},"name":{"known":false,"value":null}}}`,
		[]string{"invalid_union /filters/name", "invalid_union /filters/stage"},
	},
	{
		"known that is no boolean",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"stage":{"known":"true"},"name":{"known":null},"cost":{"known":1}}}`,
		[]string{"invalid_type /filters/name/known", "invalid_type /filters/stage/known", "invalid_type /filters/cost/known"},
	},
	{
		"known with exact_match",
		catalog.Projects,
		catalog.Data,
		`{"filters":{"name":{"known":true,"exact_match":true},"account_ids":{"known":true,"exact_match":false}}}`,
		[]string{"unrecognized_keys /filters/name [exact_match]", "unrecognized_keys /filters/account_ids [exact_match]"},
	},
	{
		"known with an unknown key", catalog.Projects, catalog.Data, `{"filters":{"cost":{"known":true,"is":1}}}`,
		[]string{"unrecognized_keys /filters/cost [is]"},
	},
	{"all of it wrong", catalog.Projects, catalog.Data, `{"filters":{"name":{"known":2,"value":1,"exact_match":2,"x":3}}}`,
		[]string{"invalid_type /filters/name/known", "unrecognized_keys /filters/name [exact_match x]", "invalid_union /filters/name"}},
	{
		"known of what has no filter", catalog.Projects, catalog.Data, `{"filters":{"latitude":{"known":true}}}`,
		[]string{"unrecognized_keys /filters [latitude]"},
	},
	{
		"known of a relation", catalog.Accounts, catalog.Data, `{"relations":{"has_project":{"known":true}}}`,
		[]string{"unrecognized_keys /relations/has_project [known]"},
	},

	// Groups.
	{"no groups", catalog.Accounts, catalog.Data, `{"any":[],"none":[]}`, []string{"too_small /any", "too_small /none"}},
	{
		"groups of other types", catalog.Accounts, catalog.Data, `{"any":{"filters":{}},"none":null}`,
		[]string{"invalid_type /any", "invalid_type /none"},
	},
	{"elements that are no groups", catalog.Accounts, catalog.Data, `{"any":[null,[],"x"]}`, []string{
		"invalid_type /any/0", "invalid_type /any/1", "invalid_type /any/2",
	}},
	{
		"empty groups",
		catalog.Accounts,
		catalog.Data,
		`{"any":[{},{"filters":{}},{"filters":{"name":{"known":true}}}],"none":[{"relations":{}},{"relations":{},"filters":{}}]}`,
		[]string{"too_small /any/0", "too_small /any/1", "too_small /none/0", "too_small /none/1"},
	},
	{
		"unknown keys in groups",
		catalog.Accounts,
		catalog.Data,
		`{"any":[{"filter":{"name":{"value":"x"}}},{"filters":{"colour":{"value":"x"}},"query":"x"}]}`,
		[]string{"unrecognized_keys /any/0 [filter]", "unrecognized_keys /any/1/filters [colour]", "unrecognized_keys /any/1 [query]"},
	},
	{
		"groups in groups",
		catalog.Accounts,
		catalog.Data,
		`{"any":[{"any":[{"filters":{"name":{"known":true}}}]},{"filters":{"name":{"known":true}},"none":[]}]}`,
		[]string{"unrecognized_keys /any/0 [any]", "unrecognized_keys /any/1 [none]"},
	},
	{
		"bad values in groups",
		catalog.Projects,
		catalog.Data,
		`{"none":[{"filters":{"stage":{"value":"x"},"cost":{"value":[2,1]}}},{"relations":{"has_signal":{"signal_type":{"value":["permit_filed","y"]}},"has_contact":{}}}]}`,
		[]string{
			"invalid_union /none/0/filters/stage/value", "custom /none/0/filters/cost/value",
			"invalid_union /none/1/relations/has_signal/signal_type/value/1",
			"unrecognized_keys /none/1/relations [has_contact]",
		},
	},
	{
		"an overlay key in a group of the Data API", catalog.Accounts, catalog.Data,
		`{"none":[{"filters":{"tags":{"value":"x"}}}]}`, []string{"unrecognized_keys /none/0/filters [tags]"},
	},
	{
		"eleven groups", catalog.Accounts, catalog.Data,
		`{"any":` + groups(11, `{"filters":{"name":{"known":true}}}`) + `}`, []string{"too_big /any"},
	},
	{
		"eleven groups together", catalog.Accounts, catalog.Data,
		`{"any":` + groups(5, `{"filters":{"name":{"known":true}}}`) + `,"none":` + groups(6, `{"filters":{"name":{"known":true}}}`) + `}`,
		[]string{"too_big /"},
	},
	{
		"50 conditions and a filter", catalog.Accounts, catalog.Data,
		`{"any":` + groups(5, fiveConditions) + `,"none":` + groups(5, fiveConditions) + `,"filters":{"name":{"known":true}},"limit":0}`,
		[]string{"too_small /limit"},
	},
	{
		"51 conditions", catalog.Accounts, catalog.Data,
		`{"any":` + groups(
			9,
			fiveConditions,
		) + `,"none":[{"filters":{"name":{"known":true},"city":{"known":true},"state":{"known":true},"country":{"known":true},"domains":{"known":true},"description":{"known":true}}}]}`,
		[]string{"too_big /"},
	},

	// All issues are reported together.
	{"many problems", catalog.Projects, catalog.Data,
		`{"query":"","filters":{"stage":{"value":"x"},"cost":{"value":[2,1]},"colour":{"value":1}},"relations":{"has_signal":{"stage":{"value":["y"]}}},"sort":{"field":"z","order":"up"},"limit":500,"offset":"1","search_after":{},"extra":1}`,
		[]string{
			"too_small /query", "invalid_union /filters/stage/value", "custom /filters/cost/value", "unrecognized_keys /filters [colour]",
			"invalid_union /relations/has_signal/stage/value/0", "unrecognized_keys /sort/field [z]", "invalid_union /sort/order",
			"too_big /limit", "invalid_type /offset", "invalid_type /search_after", "unrecognized_keys / [extra]",
		}},
}

func TestParseRejects(t *testing.T) {
	t.Parallel()
	for _, c := range rejects {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, c.dataset, c.base, c.body)
			if diff := cmp.Diff(c.want, issueLines(t, err)); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

// The message of a value outside a vocabulary lists the allowed values.
func TestVocabularyMessage(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Datasets {
		for _, f := range catalog.FilterFields(d, catalog.Data) {
			if f.Vocabulary == nil {
				continue
			}
			_, err := parse(t, d, catalog.Data, fmt.Sprintf(`{"filters":{%q:{"value":["no such value"]}}}`, f.Key))
			f2, ok := errors.AsType[*fault.Error](err)
			if !ok || len(f2.Issues) != 1 {
				t.Fatalf("%s %s: %v", d, f.Key, err)
			}
			for _, v := range f.Vocabulary.Values() {
				if !strings.Contains(f2.Issues[0].Message, v) {
					t.Errorf("%s %s: %q does not name %s", d, f.Key, f2.Issues[0].Message, v)
				}
			}
		}
	}
}

func TestAtMostFiftyIssues(t *testing.T) {
	t.Parallel()
	_, err := parse(t, catalog.Projects, catalog.Data, `{"filters":{"stage":{"value":[`+strings.Repeat(`"x",`, 99)+`"x"]}},"limit":0}`)
	lines := issueLines(t, err)
	if len(lines) != fault.MaxIssues {
		t.Errorf("%d issues, want %d", len(lines), fault.MaxIssues)
	}
	if lines[49] != "invalid_union /filters/stage/value/49" {
		t.Errorf("the last issue is %s", lines[49])
	}
}

// A request may be large, but not so large that Elasticsearch could refuse it.
func TestTooManyTerms(t *testing.T) {
	t.Parallel()
	value := func(terms int) string { return strings.TrimSpace(strings.Repeat("a ", terms)) }
	values := func(n int) string {
		return fmt.Sprintf(`{"filters":{"name":{"value":[%s]}}}`, strings.TrimSuffix(strings.Repeat(`"`+value(32)+` $",`, n), ","))
	}
	distinct := func(n int) string {
		body := values(n)
		for i := range n {
			body = strings.Replace(body, "$", fmt.Sprint(i, "-"), 1)
		}
		return body
	}
	if _, err := parse(t, catalog.Accounts, catalog.Data, distinct(62)); err != nil {
		t.Errorf("62 values of 33 terms: %v", err)
	}
	half := distinct(31)
	if _, err := parse(t, catalog.Accounts, catalog.Data, `{"any":[`+half+`],"none":[`+half+`]}`); err != nil {
		t.Errorf("62 values of 33 terms in groups: %v", err)
	}
	for _, body := range []string{
		distinct(63), `{"any":[` + distinct(32) + `],"none":[` + half + `]}`,
		`{"any":[{"relations":{"has_contact":` + strings.TrimPrefix(distinct(32), `{"filters":`) + `}],` + strings.TrimPrefix(half, "{"),
	} {
		_, err := parse(t, catalog.Accounts, catalog.Data, body)
		if diff := cmp.Diff([]string{"too_big /"}, issueLines(t, err)); diff != "" {
			t.Errorf("issues (-want +got):\n%s", diff)
		}
	}
}

// Parse itself refuses a body that is not an object.
func TestParseWithoutObject(t *testing.T) {
	t.Parallel()
	_, err := query.Parse(input.Value{Kind: input.Array}, catalog.Accounts, bases[catalog.Data])
	if diff := cmp.Diff([]string{"invalid_type /"}, issueLines(t, err)); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
}
