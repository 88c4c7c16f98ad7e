package api_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// addressWorld has a contact with a secret address, and a View whose text is one.
func addressWorld(t *testing.T) (w *world, in workspace.ID, key, view string) {
	t.Helper()
	w = newWorld(t)
	account, project := searchtest.ID("a", 1), searchtest.ID("p", 1)
	data := searchtest.NewWorld()
	data.Add(
		searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm"}`, account)),
		searchtest.Record(
			t, catalog.Projects,
			fmt.Sprintf(`{"id":%q,"name":"Tower","account_ids":[%q],"contact_ids":[%q]}`, project, account, searchtest.ID("c", 1)),
		),
		searchtest.Record(
			t, catalog.Contacts,
			fmt.Sprintf(`{"id":%q,"name":"Ada","email":"ada@secret.example","account_id":%q}`, searchtest.ID("c", 1), account),
		))
	w.load(t, data)
	w.holds(t)
	in = w.workspace(t, "A", workspace.Pro, 100_000)
	_, key = w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	var made struct{ View struct{ ID string } }
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"contact","view_type":"dynamic","name":"V","definition":{"version":1,"q":"ada@secret.example","fields":{}}}`).
		into(t, &made, nil)
	w.call(t, key, "POST", "/workspace/contacts/upsert", fmt.Sprintf(`{"contact_id":%q}`, searchtest.ID("c", 1))).into(t, nil, nil)
	return w, in, key, made.View.ID
}

// All answers that reveal something about an address without returning a record are limited:
// beyond the hourly limit of a caller they are refused, and other searches are not.
func TestProbingAddressesIsLimited(t *testing.T) {
	t.Parallel()
	w, in, _, view := addressWorld(t)
	w.freeLimit(t, 1_000_000, 1_000_000)
	const most = 6
	w.server.AddressesHourly = most
	const email = `{"email":{"value":"nobody@secret.example","exact_match":true}}`
	probes := map[string][2]string{
		"a filter": {"/data/contacts/search", `{"filters":` + email + `}`},
		"a filter beyond its rows": {
			"/data/contacts/search",
			`{"filters":` + strings.Replace(email, "nobody", "ada", 1) + `,"offset":5}`,
		},
		"a relation": {"/data/accounts/search", `{"relations":{"has_contact":` + email + `}}`},
		"the absence of one": {
			"/data/accounts/search",
			`{"relations":{"without_contact":` + strings.Replace(email, "nobody", "ada", 1) + `}}`,
		},
		"a group": {"/data/contacts/search", `{"any":[{"filters":` + email + `}]}`},
		"a negated group": {
			"/data/contacts/search",
			`{"none":[{"filters":` + strings.Replace(email, "nobody", "ada", 1) + `}]}`,
		},
		"a query":                    {"/data/contacts/search", `{"query":"nobody@secret.example"}`},
		"a query with typos":         {"/data/contacts/search", `{"query":"nobody@secret.example","typos":"auto"}`},
		"the book":                   {"/workspace/contacts/search", `{"query":"nobody@secret.example"}`},
		"a View":                     {"/workspace/views/" + view + "/records/search", `{"query":"nobody@secret.example"}`},
		"the text of a View":         {"/workspace/views/" + view + "/records/search", `{"offset":5}`},
		"changes with their records": {"/data/contacts/changes", `{"since":"2026-01-01","records":true,"filters":` + email + `}`},
	}
	for name, probe := range probes {
		_, other := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
		for i := range most + 1 {
			a := w.call(t, other, "POST", probe[0], probe[1])
			want, code := 200, ""
			if i == most {
				want, code = 429, "too_many_requests"
			}
			if a.status != want || a.code() != code || a.header.Get("X-Credits-Charged") != "0" {
				t.Errorf("%s, time %d: %d, want %d: %s", name, i+1, a.status, want, a.text)
			}
			if retry, _ := strconv.Atoi(a.header.Get("Retry-After")); i == most && (retry < 1 || retry > 3600) {
				t.Errorf("%s: Retry-After %d", name, retry)
			}
		}
		// Searches that read no addresses are as free as before, those that find records too.
		for _, body := range []string{`{"filters":{"city":{"value":"nowhere"}}}`, `{"filters":{"city":{"value":"nowhere"}},"query":"ada","offset":1}`} {
			if a := w.call(t, other, "POST", "/data/contacts/search", body); a.status != 200 {
				t.Errorf("%s, then %s: %d %s", name, body, a.status, a.text)
			}
		}
	}
}

// A search that finds records gives its tokens back.
func TestFoundAddressesAreNotCounted(t *testing.T) {
	t.Parallel()
	w, _, key, view := addressWorld(t)
	w.freeLimit(t, 1_000_000, 1_000_000)
	w.server.AddressesHourly = 3
	for range 5 {
		for path, body := range map[string]string{
			"/data/contacts/search":                        `{"query":"ada@secret.example"}`,
			"/data/accounts/search":                        `{"relations":{"has_contact":{"email":{"value":"ada@secret.example"}}}}`,
			"/workspace/views/" + view + "/records/search": `{}`,
		} {
			if a := w.call(t, key, "POST", path, body); a.status != 200 || a.header.Get("X-Credits-Charged") != "1" {
				t.Errorf("%s %s: %d %s", path, body, a.status, a.text)
			}
		}
	}
}

// From an offset on a query does not read addresses: the total tells nothing about them.
func TestQueriesFromAnOffsetReadNoAddresses(t *testing.T) {
	t.Parallel()
	w, _, key, view := addressWorld(t)
	for _, path := range []string{"/data/contacts/search", "/workspace/contacts/search", "/workspace/views/" + view + "/records/search"} {
		for _, more := range []string{``, `,"typos":"auto"`, `,"sort":{"field":"name","order":"asc"}`} {
			for text, total := range map[string]int{"ada@secret.example": 0, "ada": 1} {
				for offset, want := range map[int]int{1: total, 100: total, 0: 1} {
					var page struct{ Total int }
					w.call(t, key, "POST", path, fmt.Sprintf(`{"query":%q,"offset":%d%s}`, text, offset, more)).into(t, nil, &page)
					if page.Total != want {
						t.Errorf("%s %q from %d%s: total %d, want %d", path, text, offset, more, page.Total, want)
					}
				}
			}
		}
	}
}
