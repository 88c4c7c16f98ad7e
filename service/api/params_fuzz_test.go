package api

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
)

// FuzzParameters: accepted query parameters are within their limits, and others are
// refused with a validation error.
func FuzzParameters(f *testing.F) {
	for _, s := range []string{
		"", "query=%00", "query=%ff", "query=",
		"dataset=account&view_type=static&favorite_only=true&record_id=0197a1b2-0000-7000-8000-000000000002&id=0197a1b2-0000-7000-8000-000000000001",
		"id=", "id=x;y", "dataset=%61ccount", "include=projects,,signals",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		params, err := url.ParseQuery(raw)
		if err != nil {
			return // refused before any parameter is read
		}
		c := &endpoint.Call{Params: params}
		refused := func(err error) bool {
			if err != nil && fault.CodeOf(err) != fault.InvalidInput && fault.CodeOf(err) != fault.BadRequest {
				t.Errorf("%q: %v", raw, err)
			}
			return err != nil
		}
		var issues input.Issues
		filter, err := viewFilter(c, &issues)
		if !refused(err) && !refused(issues.Err()) {
			if !utf8.ValidString(filter.Name) || strings.ContainsRune(filter.Name, 0) || utf8.RuneCountInString(filter.Name) > maxNamePart {
				t.Errorf("%q is read as a name %q", raw, filter.Name)
			}
		}
		for _, d := range catalog.Datasets {
			if all, err := includes(c, d); !refused(err) && len(all) > len(query.Includes(d)) {
				t.Errorf("%q includes %v", raw, all)
			}
		}
	})
}
