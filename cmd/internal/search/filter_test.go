package search

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// someFields are fields as the service describes them.
func someFields() ([]client.Field, error) {
	plain := []client.Field{
		{Key: "stage", Kind: "enum"}, {Key: "name", Kind: "text"}, {Key: "cost", Kind: "number"},
		{Key: "filed_at", Kind: "date"}, {Key: "location", Kind: "geo"},
	}
	return append(
		plain, client.Field{Key: "has_signal", Kind: "relation", SubFields: plain},
		client.Field{Key: "without_signal", Kind: "relation", SubFields: plain},
	), nil
}

func TestFilterOptions(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                           `{}`,
		"stage=filed":                                `{"filters":{"stage":{"value":["filed"]}}}`,
		"stage=filed|stage=approved":                 `{"filters":{"stage":{"value":["filed","approved"]}}}`,
		"name=a=b, c":                                `{"filters":{"name":{"value":["a=b, c"]}}}`,
		"name==Whole Name":                           `{"filters":{"name":{"value":["Whole Name"],"exact_match":true}}}`,
		"cost=12345678901234567890.5":                `{"filters":{"cost":{"value":12345678901234567890.5}}}`,
		"cost=-1..2.50":                              `{"filters":{"cost":{"value":[-1,2.50]}}}`,
		"cost=10..":                                  `{"filters":{"cost":{"value":[10,null]}}}`,
		"filed_at=2020-01-01":                        `{"filters":{"filed_at":{"value":"2020-01-01"}}}`,
		"filed_at=..2020-01-01":                      `{"filters":{"filed_at":{"value":[null,"2020-01-01"]}}}`,
		"filed_at=today":                             `{"filters":{"filed_at":{"value":"today"}}}`,
		"filed_at=2026-Q1":                           `{"filters":{"filed_at":{"value":"2026-Q1"}}}`,
		"filed_at=now-90d..":                         `{"filters":{"filed_at":{"value":["now-90d",null]}}}`,
		"has_signal.filed_at=now-1y..now+12h":        `{"relations":{"has_signal":{"filed_at":{"value":["now-1y","now+12h"]}}}}`,
		"location=51.0447,-114.0719,2.5km":           `{"filters":{"location":{"value":{"near":{"latitude":51.0447,"longitude":-114.0719,"radius_m":2500}}}}}`,
		"location=51, -114, 500 m":                   `{"filters":{"location":{"value":{"near":{"latitude":51,"longitude":-114,"radius_m":500}}}}}`,
		"location=51,-114.1 51,-114  51.1,-114":      `{"filters":{"location":{"value":{"polygon":[{"latitude":51,"longitude":-114.1},{"latitude":51,"longitude":-114},{"latitude":51.1,"longitude":-114}]}}}}`,
		"has_signal.location=50.84..51.21,170..-170": `{"relations":{"has_signal":{"location":{"value":{"within":{"north":51.21,"south":50.84,"east":-170,"west":170}}}}}}`,
		"has_signal.stage=filed":                     `{"relations":{"has_signal":{"stage":{"value":["filed"]}}}}`,
		"has_signal.stage=x|has_signal.cost=1..|without_signal":         `{"relations":{"has_signal":{"cost":{"value":[1,null]},"stage":{"value":["x"]}},"without_signal":{}}}`,
		`{"colour":{"value":[1.50,null]},"without_signal":{}}|cost=1`:   `{"filters":{"colour":{"value":[1.50,null]},"cost":{"value":1}},"relations":{"without_signal":{}}}`,
		`{"has_signal":{"name":{"value":"x","exact_match":true}}}`:      `{"relations":{"has_signal":{"name":{"value":"x","exact_match":true}}}}`,
		`{"cost":{"known":false},"has_signal":{"name":{"known":true}}}`: `{"filters":{"cost":{"known":false}},"relations":{"has_signal":{"name":{"known":true}}}}`,
	} {
		var list []string
		if args != "" {
			list = strings.Split(args, "|")
		}
		filters, relations, err := parseFilters(list, someFields)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got, err := json.Marshal(client.Search{Filters: filters, Relations: relations})
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", args, err, diff)
		}
	}
}

func TestFilterOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"stage":                                "must be KEY=VALUE",
		"colour=red":                           "there is no key colour; known: stage, name",
		"location=51,-114":                     "must be LATITUDE,LONGITUDE,2km or SOUTH..NORTH,WEST..EAST",
		"location=51,-114 51,x 52,-114":        `"x" is not a number`,
		"location=51,-114 51 52,-114":          `"51" must be LATITUDE,LONGITUDE of a corner`,
		"location=51,-114,2":                   `"2" has no unit, m or km`,
		"location=51,-114,2k":                  `"2k" has no unit, m or km`,
		"location=51,x,2km":                    `"x" is not a number`,
		"location=51,-114,km":                  "a number is missing",
		"location=50..,1..2":                   "a number is missing",
		"location=1,1,1m|location=1,1,1m":      "is given before",
		"location==1,1,1m":                     "== is for texts",
		"cost=ten":                             `"ten" is not a number`,
		"cost=0x10":                            `"0x10" is not a number`,
		"cost=":                                "a value is missing",
		"cost=1..x":                            `"x" is not a number`,
		"cost=1|cost=2":                        "is given before",
		"cost==1":                              "== is for texts",
		"stage==filed":                         "compared as a whole anyway",
		"name=a|name==b":                       "in another way before",
		"has_thing":                            "there is no relation has_thing",
		"has_signal=filed":                     "a relation stands alone",
		"has_signal.stage":                     "a relation stands alone",
		"has_signal.colour=red":                "there is no key colour",
		"has_signal.has_signal=x":              "there is no key has_signal",
		`{"stage":"filed"}`:                    `stage: must be {"value": …}`,
		`{"stage":{"values":["x"]}}`:           `stage: must be {"value": …}`,
		`{"has_signal":{"stage":"x"}}`:         `has_signal.stage: must be {"value": …}`,
		`{"cost":{"value":1,"known":true}}`:    `cost: must be {"value": …} or {"known": true|false}`,
		`{"stage":{"known":1}}`:                `stage: must be {"value": …} or`,
		`{"cost":{"known":true}}|cost=1`:       "in another way before",
		`{"stage":{"known":true}}|stage=filed`: "in another way before",
		`{"has_signal":7}`:                     "has_signal is no JSON object",
		`{"stage"`:                             "is no JSON object",
	} {
		_, _, err := parseFilters(strings.Split(args, "|"), someFields)
		if _, ok := errors.AsType[cli.ConfigError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestGroupOptions(t *testing.T) {
	t.Parallel()
	groups, err := parseGroups([]string{"stage=filed", `{"cost":{"known":true},"has_signal":{}}`, "without_signal"}, someFields)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(client.Search{Any: groups, None: groups[:1]})
	want := `{"any":[{"filters":{"stage":{"value":["filed"]}}},{"filters":{"cost":{"known":true}},"relations":{"has_signal":{}}},{"relations":{"without_signal":{}}}],"none":[{"filters":{"stage":{"value":["filed"]}}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := parseGroups([]string{"stage=filed", "colour=red"}, someFields); err == nil ||
		!strings.Contains(err.Error(), "there is no key colour") {
		t.Error(err)
	}
}

// JSON alone requests no fields, and an error of the request is passed on.
func TestFilterOptionsAskForFieldsOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	none := func() ([]client.Field, error) { return nil, away }
	if _, _, err := parseFilters([]string{`{"x":{"value":1}}`}, none); err != nil {
		t.Error(err)
	}
	if _, _, err := parseFilters([]string{"x=1"}, none); !errors.Is(err, away) {
		t.Error(err)
	}
}
