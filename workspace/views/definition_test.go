package views_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/workspace/views"
)

// definitionOf parses the JSON of a definition.
func definitionOf(t testing.TB, text string) input.Value {
	t.Helper()
	v, issues := input.Decode([]byte(`{"definition":` + text + `}`))
	if len(issues) > 0 {
		t.Fatalf("%s: %v", text, issues)
	}
	return v.Get("definition")
}

func dynamic(fields string) string { return `{"version":1,"q":"","fields":{` + fields + `}}` }

// storedDefinitions lists definitions of version 1 with their stored form. Databases
// contain them, so never change a line.
var storedDefinitions = []struct {
	dataset catalog.Dataset
	view    views.Type
	given   string
	stored  string // "": equal to the input
}{
	{catalog.Accounts, views.Static, `{"version":1}`, ""},
	{catalog.Contacts, views.Static, `{"version":1.0}`, `{"version":1}`},
	{catalog.Accounts, views.Dynamic, `{"version":1,"q":"","fields":{}}`, ""},
	{catalog.Accounts, views.Dynamic, `{"fields":{},"q":"  Café crème ","version":1}`, `{"version":1,"q":"Café crème","fields":{}}`},
	{catalog.Accounts, views.Dynamic, dynamic(`"account_type":["developer","public_agency"]`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"icp_tier":["tier_1","disqualified"]`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"atlas_score":{"max":"100","min":"0"}`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"atlas_score":{"min":"007"}`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"last_activity":{"after":"2024-02-29"}`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"last_activity":{"after":"2024-02-29","before":"2024-02-29"}`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"city":["Calgary","Łódź"]`), ""},
	{catalog.Accounts, views.Dynamic, dynamic(`"city":[" Calgary "]`), dynamic(`"city":["Calgary"]`)},
	{catalog.Contacts, views.Dynamic, dynamic(`"city":["Calgary"],"role":["owner"],"status":["active","inactive","unverified"]`), ""},
	{
		catalog.Contacts, views.Dynamic, dynamic(`"account_id":["0190AAAA-0000-7000-8000-00000000000F"]`),
		dynamic(`"account_id":["0190aaaa-0000-7000-8000-00000000000f"]`),
	},
	{catalog.Projects, views.Dynamic, dynamic(`"gc_status":["assigned"],"primary_use":["office","other"],"stage":["pre_filing"]`), ""},
	{catalog.Projects, views.Dynamic, dynamic(`"cost":{"max":"999999999999999"},"sqft":{"min":"1"},"stories":{"min":"3"},"units":{"max":"0"}`), ""},
	{catalog.Projects, views.Dynamic, dynamic(`"stories_known":["known"]`), ""},
	{catalog.Projects, views.Dynamic, dynamic(`"city":["Calgary"],"detected":{"before":"2024-12-31"},"stories_known":["unknown"]`), ""},
}

func TestDefinitionsAreStoredAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range storedDefinitions {
		d, err := views.ParseDefinition(definitionOf(t, c.given), c.dataset, c.view)
		if err != nil {
			t.Errorf("%s %s: %v", c.dataset, c.given, err)
			continue
		}
		stored, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		want := c.stored
		if want == "" {
			want = c.given
		}
		if diff := cmp.Diff(members(t, want), members(t, string(stored))); diff != "" {
			t.Errorf("%s %s is stored as %s (-want +got):\n%s", c.dataset, c.given, stored, diff)
		}
		reread, err := views.ReadDefinition(stored, c.dataset, c.view)
		if err != nil || !reread.Equal(d) {
			t.Errorf("%s %s is read back as %+v, %v", c.dataset, stored, reread, err)
		}
	}
}

func members(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func cities(n int, value func(int) string) string {
	values := make([]string, n)
	for i := range values {
		values[i] = `"` + value(i) + `"`
	}
	return strings.Join(values, ",")
}

// TestRefusedDefinitions lists invalid definitions, with what the message must name.
func TestRefusedDefinitions(t *testing.T) {
	t.Parallel()
	const id = "0190aaaa-0000-7000-8000-00000000000f"
	static, view := views.Static, views.Dynamic
	for _, c := range []struct {
		dataset catalog.Dataset
		view    views.Type
		text    string
		names   string
	}{
		{catalog.Accounts, static, `null`, "definition"},
		{catalog.Accounts, static, `[]`, "definition"},
		{catalog.Accounts, static, `"x"`, "definition"},
		{catalog.Accounts, static, `{}`, "version"},
		{catalog.Accounts, static, `{"version":2}`, "version"},
		{catalog.Accounts, static, `{"version":"1"}`, "version"},
		{catalog.Accounts, static, `{"version":1,"q":""}`, `"q"`},
		{catalog.Accounts, static, `{"version":1,"fields":{}}`, `"fields"`},
		{catalog.Accounts, static, `{"version":1,"record_ids":[]}`, `"record_ids"`},
		{catalog.Accounts, view, `null`, "definition"},
		{catalog.Accounts, view, `true`, "definition"},
		{catalog.Accounts, view, `{"version":1}`, "q"},
		{catalog.Accounts, view, `{"version":1,"q":""}`, "fields"},
		{catalog.Accounts, view, `{"version":1,"fields":{}}`, "q"},
		{catalog.Accounts, view, `{"q":"","fields":{}}`, "version"},
		{catalog.Accounts, view, `{"version":0,"q":"","fields":{}}`, "version"},
		{catalog.Accounts, view, `{"version":1.5,"q":"","fields":{}}`, "version"},
		{catalog.Accounts, view, `{"version":null,"q":"","fields":{}}`, "version"},
		{catalog.Accounts, view, `{"version":1,"q":null,"fields":{}}`, "q"},
		{catalog.Accounts, view, `{"version":1,"q":1,"fields":{}}`, "q"},
		{catalog.Accounts, view, `{"version":1,"q":"` + strings.Repeat("é", 501) + `","fields":{}}`, "q"},
		{catalog.Accounts, view, `{"version":1,"q":"","fields":null}`, "fields"},
		{catalog.Accounts, view, `{"version":1,"q":"","fields":[]}`, "fields"},
		{catalog.Accounts, view, `{"version":1,"q":"","fields":{},"exclude":{}}`, "exclude"},
		// Bodies of search requests.
		{catalog.Accounts, view, `{"query":"x"}`, "query"},
		{catalog.Accounts, view, `{"version":1,"q":"","fields":{},"filters":{"city":{"value":"x"}}}`, "filters"},
		{catalog.Accounts, view, `{"version":1,"q":"","fields":{},"relations":{"has_signal":{}}}`, "relations"},
		{
			catalog.Accounts, view, `{"version":1,"q":"","fields":{},"any":[{"filters":{"city":{"value":"x"}}}]}`,
			`not valid: unknown key "any"; known here: version, q, fields; version 1 has no groups`,
		},
		{catalog.Accounts, static, `{"version":1,"none":[]}`, `unknown key "none"; known here: version; version 1 has no groups`},
		{catalog.Accounts, view, dynamic(`"none":[{"city":["x"]}]`), `fields: unknown key "none"; known here: account_type, city, atlas_score, icp_tier, last_activity; version 1 has no groups, its fields must all match: give groups in searches of the View`},
		{catalog.Projects, view, dynamic(`"location":{"near":{}}`), `fields: unknown key "location"; known here: stage, primary_use, city, sqft, units, stories, stories_known, cost, gc_status, detected; version 1 has no location: give it in searches of the View`},
		{
			catalog.Projects, view, `{"version":1,"q":"","fields":{},"sort":{"field":"permitted_at","order":"asc"}}`,
			`not valid: unknown key "sort"; known here: version, q, fields; version 1 has no sort: give it in searches of the View`,
		},
		{catalog.Accounts, view, dynamic(`"city":{"known":true}`), "fields.city: must not have known: filters of searches of the View have it"},
		{catalog.Projects, view, dynamic(`"cost":{"known":false}`), `fields.cost: must not have known: version 1 has stories_known, ["known"] or ["unknown"]; filters`},
		{catalog.Projects, view, dynamic(`"detected":{"known":false,"after":"2024-01-01"}`), "fields.detected: must not have known"},
		{catalog.Contacts, view, dynamic(`"account_id":{"known":true}`), "fields.account_id: must not have known"},
		{catalog.Accounts, view, dynamic(`"city":{"value":["Calgary"]}`), `"value"`},
		{catalog.Accounts, view, dynamic(`"city":{"value":["Calgary"],"exact_match":true}`), "exact_match"},
		{catalog.Accounts, view, dynamic(`"city":{"exclude":["Calgary"]}`), "exclude"},
		{catalog.Accounts, view, dynamic(`"exact_match":true`), "exact_match"},
		{catalog.Accounts, view, dynamic(`"has_signal":{}`), "has_signal"},
		{catalog.Accounts, view, dynamic(`"has_project":{"stage":["filed"]}`), "has_project"},
		// Keys of another dataset, of the catalog, and unknown keys.
		{catalog.Accounts, view, dynamic(`"account_types":["developer"]`), "account_types"},
		{catalog.Accounts, view, dynamic(`"stage":["filed"]`), "stage"},
		{catalog.Accounts, view, dynamic(`"name":["x"]`), "name"},
		{catalog.Accounts, view, dynamic(`"tags":["x"]`), "tags"},
		{catalog.Accounts, view, dynamic(`"state":["AB"]`), "state"},
		{catalog.Accounts, view, dynamic(`"last_activity_at":{"after":"2024-01-01"}`), "last_activity_at"},
		{catalog.Contacts, view, dynamic(`"icp_tier":["tier_1"]`), "icp_tier"},
		{catalog.Contacts, view, dynamic(`"account_type":["developer"]`), "account_type"},
		{catalog.Projects, view, dynamic(`"disposition":["active"]`), "disposition"},
		{catalog.Projects, view, dynamic(`"residential_units":{"min":"1"}`), "residential_units"},
		{catalog.Projects, view, dynamic(`"detected_at":{"after":"2024-01-01"}`), "detected_at"},
		{catalog.Projects, view, dynamic(`"":[]`), "unknown key"},
		// Values of an enum.
		{catalog.Accounts, view, dynamic(`"account_type":[]`), "account_type"},
		{catalog.Accounts, view, dynamic(`"account_type":"developer"`), "account_type"},
		{catalog.Accounts, view, dynamic(`"account_type":null`), "account_type"},
		{catalog.Accounts, view, dynamic(`"account_type":["Developer"]`), "account_type"},
		{catalog.Accounts, view, dynamic(`"account_type":[" developer"]`), "account_type"},
		{catalog.Accounts, view, dynamic(`"account_type":["developer","nobody"]`), "account_type.1"},
		{catalog.Accounts, view, dynamic(`"account_type":["developer",null]`), "account_type.1"},
		{catalog.Accounts, view, dynamic(`"account_type":["developer",["owner"]]`), "account_type.1"},
		{catalog.Accounts, view, dynamic(`"account_type":["developer","developer"]`), "account_type.1"},
		{catalog.Accounts, view, dynamic(`"icp_tier":["tier_4"]`), "icp_tier"},
		{catalog.Accounts, view, dynamic(`"icp_tier":[null]`), "icp_tier"},
		{catalog.Contacts, view, dynamic(`"role":["boss"]`), "role"},
		{catalog.Contacts, view, dynamic(`"status":[""]`), "status"},
		{catalog.Projects, view, dynamic(`"stage":["done"]`), "stage"},
		{catalog.Projects, view, dynamic(`"primary_use":["castle"]`), "primary_use"},
		{catalog.Projects, view, dynamic(`"gc_status":[true]`), "gc_status"},
		{catalog.Accounts, view, dynamic(`"city":[]`), "city"},
		{catalog.Accounts, view, dynamic(`"city":[""]`), "city.0"},
		{catalog.Accounts, view, dynamic(`"city":["  "]`), "city.0"},
		{catalog.Accounts, view, dynamic(`"city":["Calgary",""]`), "city.1"},
		{catalog.Accounts, view, dynamic(`"city":[1]`), "city.0"},
		{catalog.Accounts, view, dynamic(`"city":["Montréal","montreal"]`), "city.1"},
		{catalog.Accounts, view, dynamic(`"city":["Calgary"," CALGARY "]`), "city.1"},
		{catalog.Accounts, view, dynamic(`"city":["` + strings.Repeat("x", 1001) + `"]`), "city.0"},
		{catalog.Accounts, view, dynamic(`"city":[` + cities(101, func(i int) string { return strings.Repeat("x", i+1) }) + `]`), "city"},
		// An id.
		{catalog.Contacts, view, dynamic(`"account_id":[]`), "account_id"},
		{catalog.Contacts, view, dynamic(`"account_id":"` + id + `"`), "account_id"},
		{catalog.Contacts, view, dynamic(`"account_id":["` + id + `","` + strings.Replace(id, "f", "e", 1) + `"]`), "account_id"},
		{catalog.Contacts, view, dynamic(`"account_id":["{` + id + `}"]`), "account_id"},
		{catalog.Contacts, view, dynamic(`"account_id":["` + strings.ReplaceAll(id, "-", "") + `"]`), "account_id"},
		{catalog.Contacts, view, dynamic(`"account_id":[null]`), "account_id"},
		// Known or not.
		{catalog.Projects, view, dynamic(`"stories_known":[]`), "stories_known"},
		{catalog.Projects, view, dynamic(`"stories_known":["known","unknown"]`), "stories_known"},
		{catalog.Projects, view, dynamic(`"stories_known":["Known"]`), "stories_known"},
		{catalog.Projects, view, dynamic(`"stories_known":[true]`), "stories_known"},
		{catalog.Projects, view, dynamic(`"stories_known":true`), "stories_known"},
		// Ranges of numbers.
		{catalog.Projects, view, dynamic(`"sqft":{}`), "sqft"},
		{catalog.Projects, view, dynamic(`"sqft":null`), "sqft"},
		{catalog.Projects, view, dynamic(`"sqft":[1,2]`), "sqft"},
		{catalog.Projects, view, dynamic(`"sqft":"5"`), "sqft"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":1}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":null,"max":"1"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":""}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"-1"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"+1"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"1.5"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"1e3"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":" 1"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"١"}`), "sqft.min"},
		{catalog.Projects, view, dynamic(`"sqft":{"max":"1234567890123456"}`), "sqft.max"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"2","max":"1"}`), "sqft"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"10","max":"9"}`), "sqft"},
		{catalog.Projects, view, dynamic(`"sqft":{"min":"1","to":"9"}`), `"to"`},
		{catalog.Projects, view, dynamic(`"sqft":{"after":"2024-01-01"}`), "after"},
		{catalog.Projects, view, dynamic(`"units":{"min":"x"}`), "units"},
		{catalog.Projects, view, dynamic(`"stories":{"min":"x"}`), "stories"},
		{catalog.Projects, view, dynamic(`"cost":{"min":"x"}`), "cost"},
		{catalog.Accounts, view, dynamic(`"atlas_score":{"min":"x"}`), "atlas_score"},
		// Ranges of days.
		{catalog.Projects, view, dynamic(`"detected":{}`), "detected"},
		{catalog.Projects, view, dynamic(`"detected":"2024-01-01"`), "detected"},
		{catalog.Projects, view, dynamic(`"detected":["2024-01-01","2024-01-02"]`), "detected"},
		{catalog.Projects, view, dynamic(`"detected":{"min":"1"}`), "min"},
		{catalog.Projects, view, dynamic(`"detected":{"after":"2024-1-1"}`), "detected.after"},
		{catalog.Projects, view, dynamic(`"detected":{"after":"2023-02-29"}`), "detected.after"},
		{catalog.Projects, view, dynamic(`"detected":{"after":"2024-13-01"}`), "detected.after"},
		{catalog.Projects, view, dynamic(`"detected":{"after":"0000-01-01"}`), "detected.after"},
		{catalog.Projects, view, dynamic(`"detected":{"before":"2024-01-01T00:00:00Z"}`), "detected.before"},
		{catalog.Projects, view, dynamic(`"detected":{"before":""}`), "detected.before"},
		{catalog.Projects, view, dynamic(`"detected":{"before":20240101}`), "detected.before"},
		{catalog.Projects, view, dynamic(`"detected":{"after":"2024-01-02","before":"2024-01-01"}`), "detected"},
		{catalog.Accounts, view, dynamic(`"last_activity":{"after":"yesterday"}`), "last_activity.after"},
	} {
		_, err := views.ParseDefinition(definitionOf(t, c.text), c.dataset, c.view)
		if fault.CodeOf(err) != fault.InvalidViewDefinition {
			t.Errorf("%s, %s View, %.200s: %v, want it refused", c.dataset, c.view, c.text, err)
			continue
		}
		if e := err.(*fault.Error); !strings.Contains(e.Message, c.names) { //nolint:errorlint // by its code it is one
			t.Errorf("%.200s: the message %q does not name %s", c.text, e.Message, c.names)
		}
	}
}

// TestWhatMessagesOfDefinitionsPropose: a value that a message shows after "such as" is one
// that the grammar takes, and a message names the definition once.
func TestWhatMessagesOfDefinitionsPropose(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		dynamic(`"cost":{"max":1234567890123456}`):                               `the definition of the View is not valid: fields.cost.max: must be a string of 1 to 15 digits, not 1234567890123456`,
		dynamic(`"cost":{"max":"1,234,567,890,123,456"}`):                        `fields.cost.max: must be a string of 1 to 15 digits, not "1,234,567,890,123,456"`,
		dynamic(`"cost":{"max":123456789012345}`):                                `fields.cost.max: must be a string of 1 to 15 digits, such as "123456789012345", not 123456789012345`,
		dynamic(`"cost":["1","1234567890123456"]`):                               `fields.cost: must be an object with min, max or both, such as {"min":"1000","max":"2000"}, not an array of 2`,
		dynamic(`"cost":["2000","1000"]`):                                        `such as {"min":"1000","max":"2000"}, not an array of 2`,
		dynamic(`"cost":[1,2]`):                                                  `such as {"min":"1","max":"2"}, not an array of 2`,
		dynamic(`"detected":["2024-13-01","2024-01-02"]`):                        `such as {"after":"2026-01-01","before":"2026-01-31"}, not an array of 2`,
		dynamic(`"stage":"finished"`):                                            `fields.stage: must be an array of strings, not "finished"`,
		dynamic(`"stage":null`):                                                  `fields.stage: must be an array of strings, not null; leave it out instead`,
		dynamic(`"sqft":{"min":null,"max":"1"}`):                                 `fields.sqft.min: must be a string of 1 to 15 digits, not null; leave it out instead`,
		dynamic(`"stage":{"value":[]}`):                                          `fields.stage: must be an array of strings, not an object with the keys "value"`,
		dynamic(`"stage":[]`):                                                    `fields.stage: must have at least 1 value; leave it out for any value`,
		dynamic(`"city":["Calgary","calgary"]`):                                  `fields.city.1: is in the list already: case and accents do not count`,
		`{"version":1,"q":"","fields":{},"filters":{"stage":{"value":"filed"}}}`: `the definition of the View is not valid: unknown key "filters"; known here: version, q, fields; conditions go into fields, such as "fields":{"stage":["filed"]}`,
		`{"version":1,"q":"","fields":{},"filters":{"state":{"value":"AB"}}}`:    `conditions go into fields`,
		`{}`:  `the definition of the View is not valid: version: required: the number 1; q: required: a string, "" for no text; fields: required: an object, {} for no conditions`,
		`[1]`: `the definition of the View is not valid: must be an object, not an array of 1`,
	} {
		_, err := views.ParseDefinition(definitionOf(t, text), catalog.Projects, views.Dynamic)
		e, ok := err.(*fault.Error) //nolint:errorlint // by its code it is one
		if !ok || !strings.HasSuffix(e.Message, want) || strings.Count(e.Message, "definition") != 1 {
			t.Errorf("%s:\n%v, want\n%s", text, err, want)
		}
	}
	static := `the definition of the View is not valid: a static View takes only {"version":1}; "q" and "fields" are those of a dynamic View`
	if _, err := views.ParseDefinition(definitionOf(t, `{"version":1,"q":""}`), catalog.Projects, views.Static); err == nil ||
		!strings.HasSuffix(err.Error(), static) {
		t.Errorf("%v, want %s", err, static)
	}
}

// TestAStoredValueOutlivesItsVocabulary: what was stored compiles for ever.
func TestAStoredValueOutlivesItsVocabulary(t *testing.T) {
	t.Parallel()
	stored := dynamic(`"stage":["demolished","filed"]`)
	if _, err := views.ParseDefinition(definitionOf(t, stored), catalog.Projects, views.Dynamic); err == nil {
		t.Error("an unknown value is accepted")
	}
	d, err := views.ReadDefinition([]byte(stored), catalog.Projects, views.Dynamic)
	if err != nil || len(d.Fields) != 1 || len(d.Fields[0].Values) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestMessagesStayShort(t *testing.T) {
	t.Parallel()
	_, err := views.ParseDefinition(definitionOf(t, dynamic(`"`+strings.Repeat("k", 100_000)+`":1,`+
		`"city":[`+strings.Repeat(`null,`, 99)+`{"`+strings.Repeat("k", 100_000)+`":1}]`)), catalog.Accounts, views.Dynamic)
	if e := err.(*fault.Error); len(e.Message) > 1000 { //nolint:errorlint // see above
		t.Errorf("a message of %d bytes", len(e.Message))
	}
}
