package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"atlas/search/searchtest"
)

// omitted lists the members of a body that the document lets a client leave out and that
// have no null.
func omitted(document, schema map[string]any) []string {
	var forms []map[string]any
	var collect func(s map[string]any)
	resolve := func(s map[string]any) map[string]any {
		if ref, is := s["$ref"].(string); is {
			return document["components"].(map[string]any)["schemas"].(map[string]any)[ref[strings.LastIndexByte(ref, '/')+1:]].(map[string]any)
		}
		return s
	}
	alternatives := func(s map[string]any) []any {
		some, _ := s["anyOf"].([]any)
		one, _ := s["oneOf"].([]any)
		return slices.Concat(some, one)
	}
	collect = func(s map[string]any) {
		s = resolve(s)
		if _, has := s["properties"]; has {
			forms = append(forms, s)
		}
		for _, a := range alternatives(s) {
			collect(a.(map[string]any))
		}
	}
	collect(schema)
	optional, nullable := map[string]bool{}, map[string]bool{}
	for _, form := range forms {
		required, _ := form["required"].([]any)
		for name, p := range form["properties"].(map[string]any) {
			property := resolve(p.(map[string]any))
			types, _ := property["type"].([]any)
			nullable[name] = nullable[name] || slices.Contains(types, any("null"))
			for _, a := range alternatives(property) {
				nullable[name] = nullable[name] || a.(map[string]any)["type"] == "null"
			}
			optional[name] = optional[name] || len(forms) > 1 || !slices.Contains(required, any(name))
		}
	}
	for _, form := range forms { // a member of each of several forms may be required in all
		required, _ := form["required"].([]any)
		for name := range optional {
			all := !slices.ContainsFunc(forms, func(f map[string]any) bool {
				r, _ := f["required"].([]any)
				return !slices.Contains(r, any(name))
			})
			if all && slices.Contains(required, any(name)) {
				optional[name] = false
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(optional)), func(name string) bool { return !optional[name] || nullable[name] })
}

// Generated clients send null for unset members. Each optional member may be null, in the
// body of each route and in the items of batches; where that would be dangerous the error
// says to leave it out.
func TestNullIsAbsent(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	var document map[string]any
	fatal(t, json.Unmarshal([]byte(w.call(t, w.key, "GET", "/openapi.json", "").text), &document))
	view := w.create(t, w.key, viewBody("project", "dynamic", "D")).ID
	kept := []string{"dry_run", "max_credits", "revision", "replace", "definition", "tags"}
	refused, tried := map[string]bool{}, 0
	for path, item := range document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			described, _ := operation.(map[string]any) // parameters are a list
			body, has := described["requestBody"].(map[string]any)
			if !has {
				continue
			}
			schema, is := body["content"].(map[string]any)["application/json"].(map[string]any)
			if !is {
				continue
			}
			to := strings.NewReplacer("{id}", view, "{dataset}", "projects").Replace(path)
			check := func(sent, member string) {
				tried++
				for _, token := range []string{w.key, w.member} {
					a := w.call(t, token, strings.ToUpper(method), to, sent)
					if a.status == 500 {
						t.Errorf("%s %s: %s", to, sent, a.text)
					}
					if slices.Contains(kept, member) {
						refused[member] = refused[member] || a.status == 400 && strings.Contains(a.text, "leave it out") || member == "definition"
						continue
					}
					issue := `"path":["` + member + `"]`
					if strings.Contains(a.text, issue) &&
						!strings.Contains(w.call(t, token, strings.ToUpper(method), to, "{}").text, issue) {
						t.Errorf("%s %s: %s", to, sent, a.text)
					}
				}
			}
			of := schema["schema"].(map[string]any)
			for _, member := range omitted(document, of) {
				check(`{"`+member+`":null}`, member)
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d members were tried", tried)
	}
	for _, member := range kept {
		if !refused[member] && member != "max_credits" { // the routes have none
			t.Errorf("%s: nothing says to leave it out", member)
		}
	}

	for _, c := range []struct{ path, body, without string }{
		{"/data/projects/search", `{"query":null,"filters":null,"relations":null,"any":null,"none":null,"sort":null,"limit":null,"offset":null,"fields":null,"typos":null,"max_bytes":null,"search_after":null}`, `{}`},
		{"/workspace/projects/search", `{"query":null,"filters":null,"limit":null}`, `{}`},
		{"/workspace/views/" + view + "/records/search", `{"sort":null,"filters":null}`, `{}`},
		{"/data/projects/facets", `{"facets":null,"query":null}`, `{}`},
		{"/data/fields/search", `{"dataset":null,"keys":null}`, `{}`},
		{
			"/workspace/accounts/upsert/batch",
			`{"inputs":[{"account_id":"` + searchtest.ID("a", 1) + `","match":null}]}`,
			`{"inputs":[{"account_id":"` + searchtest.ID("a", 1) + `"}]}`,
		},
	} {
		a, b := w.call(t, w.key, "POST", c.path, c.body), w.call(t, w.key, "POST", c.path, c.without)
		if a.status != 200 || b.status != 200 || len(a.text) != len(b.text) {
			t.Errorf("%s %s: %d %s, without %d %s", c.path, c.body, a.status, a.text, b.status, b.text)
		}
	}
	for path, bodies := range map[string][]string{
		"/data/projects/search": {
			`{"dry_run":null}`, `{"filters":{"stage":null}}`, `{"filters":{"stage":{"known":null}}}`,
			`{"relations":{"has_signal":null}}`, `{"any":[null]}`, `{"any":[{"filters":null}]}`,
			`{"none":[{"filters":{"cost":null}}]}`,
		},
		"/workspace/views/upsert": {`{"id":"` + view + `","name":"E","revision":null}`},
		"/workspace/invitations":  {`{"email":"a@b.example","role":"member","replace":null}`},
	} {
		for _, body := range bodies {
			if a := w.call(t, w.key, "POST", path, body); a.status != 400 || !strings.Contains(a.text, "leave it out") {
				t.Errorf("%s %s: %d %s", path, body, a.status, a.text)
			}
		}
	}
}
