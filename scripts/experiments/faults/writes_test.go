//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"atlas/scripts/experiments/rig"
)

// freeWrites are writes that need no global records, so they work without
// Elasticsearch: deletions from the book and from a Static View, Views, Favorites,
// members, invitations, subscriptions, Skills.
type freeWrites struct {
	key, owner   rig.Caller
	member       string
	view         string   // a Static View
	records      []string // projects in the book and in the View; each round removes one
	made, failed int
	rounds       []int
}

// writeRounds is the number of rounds for which there are records.
const writeRounds = 4

func newFreeWrites(t *testing.T, s *rig.Server, w rig.Workspace) *freeWrites {
	t.Helper()
	_, token := w.Member("owner")
	f := &freeWrites{key: s.By(w), owner: s.ByUser(w, token)}
	f.member, _ = w.Member("member")
	ctx := t.Context()
	want := func(path string, body any) rig.Answer {
		t.Helper()
		a, err := f.key.Want(ctx, 200, "POST", path, body)
		rig.Check(t, err)
		return a
	}
	var err error
	f.records, err = want("/data/projects/search", map[string]any{"limit": writeRounds}).IDs()
	rig.Check(t, err)
	var made struct{ View struct{ ID string } }
	rig.Check(t, want("/workspace/views/upsert", map[string]any{"dataset": "project", "view_type": "static", "name": "Held"}).Data(&made))
	f.view = made.View.ID
	for _, id := range f.records {
		want("/workspace/projects/upsert", map[string]any{"project_id": id, "notes": "held"})
		want("/workspace/views/"+f.view+"/records/add", map[string]any{"record_id": id})
	}
	return f
}

// round makes each write once; n numbers the rounds. Its error joins those of refused
// writes.
func (f *freeWrites) round(ctx context.Context, n int) error {
	f.rounds = append(f.rounds, n)
	var refused []error
	do := func(c rig.Caller, method, path string, body any) rig.Answer {
		f.made++
		a, err := c.Want(ctx, 200, method, path, body)
		if err != nil {
			f.failed++
			refused = append(refused, err)
		}
		return a
	}
	do(f.key, "DELETE", "/workspace/projects/"+f.records[n], nil)
	do(f.key, "DELETE", "/workspace/views/"+f.view+"/records/"+f.records[n], nil)
	var made struct{ View struct{ ID string } }
	a := do(f.key, "POST", "/workspace/views/upsert", map[string]any{
		"dataset": "project", "view_type": "dynamic", "name": name(n),
		"definition": map[string]any{"version": 1, "q": "", "fields": map[string]any{}}})
	if err := a.Data(&made); err != nil {
		refused = append(refused, err)
	}
	do(f.owner, "POST", "/workspace/favorite-views/upsert", map[string]any{"view_id": made.View.ID, "position": 0})
	do(f.owner, "PATCH", "/workspace/members/"+f.member, map[string]any{"role": []string{"admin", "member"}[n%2]})
	do(f.owner, "POST", "/workspace/invitations", map[string]any{"email": fmt.Sprintf("invited-%d@example.com", n), "role": "member"})
	do(f.key, "POST", "/workspace/signal-subscriptions/upsert", map[string]any{
		"signal_type": "permit_issued", "delivery": map[string]any{"frequency": []string{"daily", "weekly"}[n%2]},
	})
	do(f.key, "POST", "/workspace/skills/create", map[string]any{
		"scope": "workspace", "name": name(n), "description": "made meanwhile", "content": "x",
	})
	return errors.Join(refused...)
}

func name(n int) string { return fmt.Sprintf("Made meanwhile %d", n) }

// check returns the acknowledged writes that are missing when nothing is pending.
func (f *freeWrites) check(ctx context.Context) error {
	var missing []error
	left := slices.Clone(f.records)
	for _, n := range f.rounds {
		left = slices.DeleteFunc(left, func(id string) bool { return id == f.records[n] })
		if a, err := f.key.Do(ctx, "GET", "/workspace/projects/"+f.records[n], nil); err != nil || a.Status != 404 {
			missing = append(missing, fmt.Errorf("a record taken out of the book is answered: %d %w", a.Status, err))
		}
	}
	for _, path := range []string{"/workspace/projects/search", "/workspace/views/" + f.view + "/records/search"} {
		a, err := f.key.Want(ctx, 200, "POST", path, map[string]any{"limit": 100})
		if err != nil {
			return err
		}
		ids, err := idsIn(a)
		if err != nil {
			return err
		}
		slices.Sort(ids)
		slices.Sort(left)
		if !slices.Equal(ids, left) {
			missing = append(missing, fmt.Errorf("%s has %d records, want %d", path, len(ids), len(left)))
		}
	}
	var listed struct{ Views []struct{ Name string } }
	a, err := f.owner.Want(ctx, 200, "GET", "/workspace/favorite-views", nil)
	if err != nil {
		return err
	}
	if err := a.Data(&listed); err != nil {
		return err
	}
	for i, v := range listed.Views { // the newest is first
		if want := name(f.rounds[len(f.rounds)-1-i]); v.Name != want {
			missing = append(missing, fmt.Errorf("Favorite %d is %q, want %q", i, v.Name, want))
		}
	}
	if len(listed.Views) != len(f.rounds) {
		missing = append(missing, fmt.Errorf("%d Favorites, want %d", len(listed.Views), len(f.rounds)))
	}
	for path, most := range map[string]int{"/workspace/invitations": len(f.rounds), "/workspace/signal-subscriptions": 1} {
		var lists map[string][]any
		a, err := f.owner.Want(ctx, 200, "GET", path, nil)
		if err != nil {
			return err
		}
		if err := a.Data(&lists); err != nil {
			return err
		}
		for what, list := range lists {
			if len(list) != most {
				missing = append(missing, fmt.Errorf("%d %s, want %d", len(list), what, most))
			}
		}
	}
	return errors.Join(missing...)
}

// idsIn are the ids of the records in a search of a book or a View.
func idsIn(a rig.Answer) ([]string, error) {
	if ids, err := a.IDs(); err == nil {
		return ids, nil
	}
	var rows struct{ Records []struct{ ID string } }
	if err := a.Data(&rows); err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range rows.Records {
		ids = append(ids, r.ID)
	}
	return ids, nil
}
