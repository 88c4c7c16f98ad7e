package api_test

import (
	"strings"
	"testing"

	"atlas/workspace"
	"atlas/workspace/people"
)

// TestErrorsNameTheNearest misspells a name at each kind of place where one is known.
func TestErrorsNameTheNearest(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withViews(t)
	in := w.workspace(t, "B", workspace.Pro, 1_000)
	_, key := w.world.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	for _, c := range []struct{ method, path, body, nearest string }{
		{"POST", "/data/projects/search", `{"filter":{}}`, "filters"},
		{"POST", "/data/projects/search", `{"filters":{"primaryUse":{"value":"office"}}}`, "primary_use"},
		{"POST", "/data/projects/search", `{"filters":{"stage":{"values":"filed"}}}`, "value"},
		{"POST", "/data/projects/search", `{"filters":{"stage":{"value":["filed","permited"]}}}`, "permitted"},
		{"POST", "/data/projects/search", `{"relations":{"has_signals":{}}}`, "has_signal"},
		{"POST", "/data/projects/search", `{"relations":{"has_signal":{"signaltype":{"value":"permit_filed"}}}}`, "signal_type"},
		{"POST", "/data/projects/search", `{"any":[{"filters":{"cots":{"value":1}}}]}`, "cost"},
		{"POST", "/data/projects/search", `{"sort":{"field":"costs","order":"asc"}}`, "cost"},
		{"POST", "/data/projects/search", `{"sort":{"field":"cost","order":"dsc"}}`, "desc"},
		{"POST", "/data/projects/search", `{"fields":["nam"]}`, "name"},
		{"POST", "/data/projects/search", `{"typos":"aut"}`, "auto"},
		{"POST", "/data/projects/facets", `{"facets":[{"field":"stages"}]}`, "stage"},
		{"POST", "/data/projects/facets", `{"facets":[{"field":"filed_at","interval":"months"}]}`, "month"},
		{"POST", "/data/projects/facets", `{"facets":[{"field":"stage","measure":{"field":"costs","of":"sum"}}]}`, "cost"},
		{"POST", "/data/coverage", `{"dataset":"project","by":"stage"}`, "projects"},
		{"POST", "/data/fields/search", `{"dataset":"workspace_project"}`, "workspace_projects"},
		{"GET", "/data/fields/project/stage", ``, "projects"},
		{"GET", "/data/fields/projects/stag", ``, "stage"},
		{"GET", "/data/projects/" + unknownID + "?include=account", ``, "accounts"},
		{"GET", "/data/projects/" + unknownID + "?fields=nam", ``, "name"},
		{"POST", "/workspace/accounts/search", `{"filters":{"icp_teir":{"value":"tier_1"}}}`, "icp_tier"},
		{"POST", "/workspace/accounts/upsert", `{"account_id":"` + unknownID + `","icp_tier":"tier1"}`, "tier_1"},
		{"POST", "/workspace/accounts/upsert", `{"account_id":"` + unknownID + `","note":"x"}`, "notes"},
		{"POST", "/workspace/views/upsert", `{"dataset":"accounts","view_type":"static","name":"x","definition":{"version":1}}`, "account"},
		{"POST", "/workspace/views/upsert", `{"dataset":"project","view_type":"dynamic","name":"x","definition":{"version":1,"q":"","fields":{"primary_uses":["office"]}}}`, "primary_use"},
		{"POST", "/workspace/views/upsert", `{"dataset":"project","view_type":"dynamic","name":"x","definition":{"version":1,"q":"","fields":{"stage":["permited"]}}}`, "permitted"},
		{"GET", "/workspace/views?dataset=accounts", ``, "account"},
		{"POST", "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit-filed"}`, "permit_filed"},
		{"POST", "/workspace/skills/create", `{"scop":"workspace"}`, "scope"},
		{"POST", "/workspace/invitations", `{"email":"a@b.example","role":"members"}`, "member"},
	} {
		a := w.call(t, key, c.method, c.path, c.body)
		if a.status < 400 || a.status > 404 || !strings.Contains(a.text, `did you mean \"`+c.nearest+`\"?`) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.text)
		}
	}
}
