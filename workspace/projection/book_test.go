package projection_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace/book"
)

// Searches see the writes of their own workspace only.
func TestBookIsSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	row := w.upsert(t, w.one, catalog.Accounts, id("a", 0), book.OverlayChange{
		"icp_tier": "tier_1", "workspace_status": "Déjà vu", "notes": "call back", "tags": tags("Hot", "café"),
	})
	if row["icp_tier"] != "tier_1" || row["name"] != "Firm 00" || row["atlas_trend"] == nil {
		t.Errorf("row: %v", row)
	}
	w.upsert(t, w.one, catalog.Accounts, id("a", 1), book.OverlayChange{})
	w.upsert(t, w.two, catalog.Accounts, id("a", 2), book.OverlayChange{"tags": tags("hot")})
	city, _ := catalog.FieldNamed(catalog.Accounts, "city")
	name, _ := catalog.FieldNamed(catalog.Contacts, "name")
	contacts := catalog.Relations[slices.IndexFunc(catalog.Relations, func(r catalog.Relation) bool {
		return r.Parent == catalog.Accounts && r.Child == catalog.Contacts
	})]
	for name, c := range map[string]struct {
		where query.All
		want  []string
	}{
		"all":             {nil, []string{"$a0", "$a1"}},
		"by tag":          {query.All{query.Terms{Field: overlay("tags"), Values: []string{"cafe"}}}, []string{"$a0"}},
		"by status":       {query.All{query.Match{Field: overlay("workspace_status"), Text: "deja"}}, []string{"$a0"}},
		"by tier":         {query.All{query.Terms{Field: overlay("icp_tier"), Values: []string{"tier_1"}}}, []string{"$a0"}},
		"by global field": {query.All{query.Terms{Field: &city, Values: []string{"geneve"}}}, []string{"$a0", "$a1"}},
		"by relation": {
			query.All{query.Nested{Relation: contacts, Node: query.Terms{Field: &name, Values: []string{"person 01"}}}},
			[]string{"$a1"},
		},
	} {
		if diff := cmp.Diff(c.want, w.found(t, w.one, catalog.Accounts, c.where...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	w.settled(t)
	w.wantEqual(t)

	fatal(t, w.book.Delete(t.Context(), w.one, catalog.Accounts, []uuid.UUID{id("a", 0), id("a", 2), id("a", 9)}))
	if diff := cmp.Diff([]string{"$a1"}, w.found(t, w.one, catalog.Accounts)); diff != "" {
		t.Error("after a deletion:", diff)
	}
	if diff := cmp.Diff([]string{"$a2"}, w.found(t, w.two, catalog.Accounts)); diff != "" {
		t.Error("another's book after it:", diff)
	}
	w.settled(t)
	w.wantEqual(t)
}

func TestUpsertRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	// Twice the same record in a batch, one that is not there, and matches.
	outcomes, err := w.book.Upsert(ctx, w.one, catalog.Accounts, []book.Input{
		{Record: id("a", 3).String(), Change: book.OverlayChange{"workspace_status": "first"}},
		{Record: uuid.NewString()},
		{Match: "firm3.example", Change: book.OverlayChange{"notes": "second"}},
		{Match: "second1.example"},
		{Match: "nobody.example"},
	})
	fatal(t, err)
	codes := make([]fault.Code, len(outcomes))
	for i, o := range outcomes {
		codes[i] = fault.CodeOf(o.Err)
	}
	if diff := cmp.Diff([]fault.Code{"", fault.NotFound, "", fault.AmbiguousMatch, fault.NotFound}, codes); diff != "" {
		t.Error(diff)
	}
	var first, second struct {
		ID     string
		Status *string `json:"workspace_status"`
		Notes  *string `json:"notes"`
	}
	fatal(t, json.Unmarshal(outcomes[0].Row, &first))
	fatal(t, json.Unmarshal(outcomes[2].Row, &second))
	if *first.Status != "first" || first.Notes != nil || second.ID != first.ID || *second.Status != "first" || *second.Notes != "second" {
		t.Errorf("%s, then %s", outcomes[0].Row, outcomes[2].Row)
	}
	// Nothing changed: updated_at is the same.
	before, err := w.app.Overlays(ctx, w.one, catalog.Accounts, []uuid.UUID{id("a", 3)})
	fatal(t, err)
	w.upsert(t, w.one, catalog.Accounts, id("a", 3), book.OverlayChange{"notes": "second"})
	after, err := w.app.Overlays(ctx, w.one, catalog.Accounts, []uuid.UUID{id("a", 3)})
	fatal(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("an upsert of the same:", diff)
	}
	// Null clears a value; an omitted one does not change.
	row := w.upsert(t, w.one, catalog.Accounts, id("a", 3), book.OverlayChange{"workspace_status": nil, "tags": tags("a", "b")})
	if row["workspace_status"] != nil || row["notes"] != "second" {
		t.Errorf("row: %v", row)
	}
	// Match by e-mail; Get returns the row that the upsert returned.
	outcomes, err = w.book.Upsert(ctx, w.one, catalog.Contacts, []book.Input{{Match: "person1@example.com"}, {Match: "PERSON9@example.com"}})
	fatal(t, err)
	if fault.CodeOf(outcomes[0].Err) != fault.AmbiguousMatch || fault.CodeOf(outcomes[1].Err) != fault.NotFound {
		t.Errorf("%v", outcomes)
	}
	got, err := w.book.Get(ctx, w.one, catalog.Accounts, id("a", 3))
	fatal(t, err)
	var reread map[string]any
	fatal(t, json.Unmarshal(got, &reread))
	if diff := cmp.Diff(row, reread); diff != "" {
		t.Error("get:", diff)
	}
	if _, err := w.book.Get(ctx, w.two, catalog.Accounts, id("a", 3)); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("another's record: %v", err)
	}
}

// A score from a clock that was a year ahead is recomputed, like an old one.
func TestScoresOfAWrongClockAreRecomputed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.projector.Now = func() time.Time { return time.Now().AddDate(1, 0, 0) }
	w.upsert(t, w.one, catalog.Accounts, id("a", 0), book.OverlayChange{})
	w.settled(t)
	restarted := w.newProjector(t, w.indices.Client)
	if n, err := w.system.BumpOldScores(t.Context(), 24*time.Hour, 10); n != 1 || err != nil {
		t.Fatalf("%d scores are made again, %v", n, err)
	}
	fatal(t, restarted.SweepOnce(t.Context()))
	if n, err := w.system.BumpOldScores(t.Context(), 24*time.Hour, 10); n != 0 || err != nil {
		t.Errorf("%d scores are still to be made again, %v", n, err)
	}
}
