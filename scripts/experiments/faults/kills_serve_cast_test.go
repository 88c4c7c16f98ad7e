//go:build faults

package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"atlas/client"
	"atlas/scripts/experiments/rig"
)

// newWriters makes the clients, and what they write to: records of their own and
// shared ones, a Static View of each dataset for each, one for all, and Views
// that may be Favorites.
func newWriters(t *testing.T, r *rig.Rig, victims []*victim, work rig.Workspace, random *rand.Rand, count *tally, events *history) []*writer {
	t.Helper()
	c := once(t, victims[0].Base, client.WithAPIKey(work.Key))
	records := map[string][]string{}
	for dataset, search := range map[string]client.Search{
		"accounts": {}, "projects": {},
		"contacts": {Relations: client.Relations{"has_project": {}}}, // which any View takes
	} {
		search.Limit = serveClients*ownRecords + sharedOnes
		page, err := c.Dataset(dataset).Search(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range page.Records {
			id, err := idOf(raw)
			if err != nil {
				t.Fatal(err)
			}
			records[dataset] = append(records[dataset], id.String())
		}
		if len(records[dataset]) != search.Limit {
			t.Fatalf("%d %s are too few", len(records[dataset]), dataset)
		}
	}
	view := func(u client.ViewUpsert) string {
		made, err := c.Views.Upsert(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	common := view(client.ViewUpsert{Dataset: "project", Type: "static", Name: "Everybody's"})
	var choice []string
	for n := range 6 {
		choice = append(choice, view(client.ViewUpsert{Dataset: "project", Type: "dynamic", Name: fmt.Sprintf("Choice %d", n), Definition: client.Dynamic("", nil)}))
	}
	var all []*writer
	for n := range serveClients {
		user, token := work.Member("member")
		w := &writer{
			n: n, random: rand.New(rand.NewPCG(random.Uint64(), 2)), rig: r, in: work.ID, victims: victims, user: user, common: common, choice: choice,
			own: map[string][]string{}, shared: map[string][]string{}, views: map[string]string{}, known: state{}, history: events, tally: count,
		}
		for _, v := range victims {
			w.byKey = append(w.byKey, once(t, v.Base, client.WithAPIKey(work.Key)))
			w.byUser = append(w.byUser, once(t, v.Base, client.WithToken(func(context.Context) (string, error) { return token, nil }), client.WithWorkspace(work.ID)))
		}
		for dataset, ids := range records {
			w.shared[dataset] = ids[:sharedOnes]
			w.own[dataset] = ids[sharedOnes+n*ownRecords:][:ownRecords]
			w.views[dataset] = view(client.ViewUpsert{Dataset: singular[dataset], Type: "static", Name: fmt.Sprintf("Own %d", n)})
		}
		all = append(all, w)
	}
	return all
}
