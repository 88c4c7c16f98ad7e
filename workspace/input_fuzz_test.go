package workspace_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/views"
)

// wantValidationError fails unless err is a validation error of a limited size.
func wantValidationError(t *testing.T, body []byte, err error) {
	t.Helper()
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.InvalidInput || len(e.Issues) == 0 || len(e.Issues) > fault.MaxIssues {
		t.Fatalf("%q: %v", body, err)
	}
	for _, i := range e.Issues {
		if i.Code == "" || i.Message == "" || i.Path == nil {
			t.Errorf("%q: %+v", body, i)
		}
	}
}

// FuzzUpsert: Postgres can store, and Elasticsearch can search for, every value that an
// upsert of the book accepts.
func FuzzUpsert(f *testing.F) {
	for _, body := range []string{
		`{"account_id":"0197a1b2-0000-7000-8000-000000000001","icp_tier":"tier_1","workspace_status":" ours ","notes":"","tags":["a","A","ß"]}`,
		`{"match":{"domain":"https://www.Bücher.example:443/x?y#z"},"tags":[]}`, `{"match":{"domain":"a%2fb%00%ff"}}`,
		`{"match":{"email":" Ann@Example.COM "},"notes":null}`, `{"account_id":"x","match":{}}`, `{"tags":[1,"",null]}`, `{"icp_tier":7}`,
	} {
		for d := range catalog.Held {
			f.Add([]byte(body), uint8(d))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, which uint8) {
		v, problems := input.Decode(body)
		issues := input.Issues(problems)
		in := book.UpsertRule(catalog.Held[int(which)%len(catalog.Held)]).Read(&issues, v)
		if err := issues.Err(); err != nil {
			wantValidationError(t, body, err)
			return
		}
		if (in.Record == "") == (in.Match == "") {
			t.Errorf("%q: record %q, match %q", body, in.Record, in.Match)
		}
		texts := []string{in.Match}
		for name, value := range in.Change {
			switch v := value.(type) {
			case nil:
			case string:
				texts = append(texts, v)
			case []string:
				texts = append(texts, v...)
			default:
				t.Errorf("%q: %s is %v", body, name, v)
			}
		}
		tags, _ := in.Change["tags"].([]string)
		if len(tags) > 50 {
			t.Errorf("%q: %d tags", body, len(tags))
		}
		for _, tag := range tags {
			if n := utf8.RuneCountInString(tag); n < 1 || n > 64 {
				t.Errorf("%q: a tag of %d characters", body, n)
			}
		}
		if reread := book.DistinctTags(tags); !slices.Equal(reread, tags) {
			t.Errorf("%q: tags %q, and once more %q", body, tags, reread)
		}
		for _, text := range texts {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("%q: a text %q", body, text)
			}
		}
	})
}

// FuzzViewChange: an accepted upsert of a View is within the limits, and its presentation
// equals the one read back from the store.
func FuzzViewChange(f *testing.F) {
	for _, body := range []string{
		`{"dataset":"account","view_type":"static","name":"Ours"}`,
		`{"dataset":"project","view_type":"dynamic","name":"x","definition":{"version":1,"q":"","fields":{}},"revision":1}`,
		`{"id":"0197a1b2-0000-7000-8000-000000000001","presentation":{"version":1,"sorting":[{"id":"name","desc":true}],"column_visibility":{"a":false}}}`,
		`{"id":null,"name":"\u0007","presentation":{"version":1e0,"sorting":[{}],"column_visibility":{"":1}}}`, `{"revision":1e400}`, `[]`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, issues := input.Decode(body)
		if len(issues) > 0 {
			return
		}
		c, err := views.ParseChange(v)
		if err != nil {
			wantValidationError(t, body, err)
			return
		}
		if c.Name != "" && !workspace.ValidName(c.Name) || c.Revision < 0 || c.ID == nil && c.Name == "" {
			t.Errorf("%q is read as %+v", body, c)
		}
		if c.Presentation == nil {
			return
		}
		stored, err := json.Marshal(c.Presentation)
		if err != nil {
			t.Fatalf("%q cannot be stored: %v", body, err)
		}
		var reread views.Presentation
		if err := json.Unmarshal(stored, &reread); err != nil || !reread.Equal(*c.Presentation) {
			t.Errorf("%q is stored as %s, read as %+v, %v", body, stored, reread, err)
		}
	})
}
