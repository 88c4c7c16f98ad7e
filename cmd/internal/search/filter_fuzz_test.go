package search

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// FuzzFilterOptions: an accepted --filter makes a request that the service reads or refuses
// with reasons; any other is reported as a mistake of the command line.
func FuzzFilterOptions(f *testing.F) {
	for _, args := range []string{
		"stage=filed\nstage=approved", "name==Whole Name", "cost=-1..2.50", "cost=10..", "filed_at=..2020-01-01",
		"has_signal.stage=filed\nwithout_signal",
		`{"colour":{"value":[1.50,null]},"has_signal":{"name":{"value":"x","exact_match":true}}}`, "cost=1e999..", "cost=-2..2.5 ", "=", "has_.=", "{", "cost=--1",
		"location=51,-114,2km", "location=1e308,1,1e308km", "has_signal.location=1..2,3..-4",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		filters, relations, err := parseFilters(strings.Split(args, "\n"), someFields)
		if err != nil {
			if mistake, ok := errors.AsType[cli.ConfigError](err); !ok || len(mistake) == 0 {
				t.Errorf("%q: %v", args, err)
			}
			return
		}
		body, err := json.Marshal(client.Search{Filters: filters, Relations: relations})
		if err != nil {
			t.Fatalf("%q cannot be sent: %v", args, err)
		}
		v, issues := input.Decode(body)
		err = input.Issues(issues).Err()
		if err == nil {
			_, err = query.Parse(v, catalog.Projects, query.Base{Kind: catalog.Data})
		}
		if err != nil && fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%q makes %s: %v", args, body, err)
		}
	})
}
