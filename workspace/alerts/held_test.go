package alerts_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/book"
	"atlas/workspace/join"
	"atlas/workspace/views"
)

const heldRecords = 8

// office is a workspace with a book and Views, and the model of what it holds.
type office struct {
	person
	tiers  map[int]string // of the accounts in the book, "" for none
	saved  map[int]bool   // contacts in the book
	listed map[int]bool   // contacts in the Static View
	list   views.ID
	views  []*heldView
}

type heldView struct {
	dataset      catalog.Dataset
	definition   string
	match        func(o *office, n int) bool
	reportsShown bool
	id           views.ID
	known        map[int]bool
	reported     int // of the reported ids
}

// heldWorld is the model of the dataset.
type heldWorld struct {
	*world
	accounts, contacts map[int]string // their cities
	linked             map[int]bool   // contacts that a project names
	book               *book.Book
	members            *views.Memberships
	offices            []*office
}

func contactLine(n int, city string) string {
	return fmt.Sprintf(`{"id":"%s","name":"Person %d","city":%q,"email":"p%d@x.example"}`, contact(n), n, city, n)
}

func projectLine(n int, linked bool) string {
	ids := ""
	if linked {
		ids = fmt.Sprintf("%q", contact(n))
	}
	return fmt.Sprintf(`{"id":"%s","name":"Project %d","contact_ids":[%s]}`, project(n), n, ids)
}

func contact(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("2%07x-0000-4000-8000-%012x", n*7%13, n))
}
func project(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("3%07x-0000-4000-8000-%012x", n, n)) }

// into is the target of a merged record.
func (w *heldWorld) into(t *testing.T, d catalog.Dataset, record uuid.UUID) uuid.UUID {
	t.Helper()
	merged, err := w.store.MergedInto(t.Context(), d, []uuid.UUID{record})
	fatal(t, err)
	return merged[record]
}

// publish applies lines of each dataset as a delta, or loads what there is.
func (w *heldWorld) publish(t *testing.T, lines map[catalog.Dataset][]string) {
	t.Helper()
	o := delta.Options{
		Elastic: w.elastic, Names: w.names, Live: w.engine, WorkDir: w.work, Retry: retry, Feed: w.feed(), Listener: w.projector,
	}
	for _, d := range catalog.Datasets {
		if len(lines[d]) > 0 {
			path := filepath.Join(t.TempDir(), string(d)+".ndjson")
			fatal(t, os.WriteFile(path, []byte(strings.Join(lines[d], "\n")), 0o600))
			o.Files = append(o.Files, delta.File{Dataset: d, Path: path})
		}
	}
	_, err := delta.Apply(t.Context(), o)
	fatal(t, err)
}

func (w *heldWorld) loadAll(t *testing.T) {
	t.Helper()
	lines := map[catalog.Dataset][]string{}
	for n, city := range w.accounts {
		lines[catalog.Accounts] = append(lines[catalog.Accounts], line(n, city))
	}
	for n, city := range w.contacts {
		lines[catalog.Contacts] = append(lines[catalog.Contacts], contactLine(n, city))
	}
	for n := range heldRecords {
		lines[catalog.Projects] = append(lines[catalog.Projects], projectLine(n, w.linked[n]))
	}
	dir := t.TempDir()
	for _, d := range catalog.Datasets {
		fatal(t, os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), []byte(strings.Join(lines[d], "\n")), 0o600))
	}
	_, err := indexer.Load(t.Context(), indexer.Options{
		Dir: dir, Elastic: w.elastic, Names: w.names, TempDir: t.TempDir(), Retry: retry, Feed: w.feed(), Force: true, Listener: w.projector,
	})
	fatal(t, err)
}

func (w *heldWorld) newView(t *testing.T, in workspace.ID, d catalog.Dataset, definition string) views.ID {
	t.Helper()
	kind := "static"
	if definition != "" {
		kind, definition = "dynamic", `,"definition":`+definition
	}
	body := fmt.Sprintf(`{"dataset":%q,"view_type":%q,"name":%q%s}`, d.Singular(), kind, uuid.NewString(), definition)
	v, problems := input.Decode([]byte(body))
	fatal(t, input.Issues(problems).Err())
	change, err := views.ParseChange(v)
	fatal(t, err)
	made, err := w.views.Upsert(t.Context(), in, workspace.UserID{}, change)
	fatal(t, err)
	return made.ID
}

func (w *heldWorld) upsert(t *testing.T, o *office, d catalog.Dataset, id uuid.UUID, more string) {
	t.Helper()
	v, problems := input.Decode(fmt.Appendf(nil, `{"%s_id":%q%s}`, d.Singular(), id, more))
	fatal(t, input.Issues(problems).Err())
	in, err := book.UpsertRule(d).Parse(v)
	fatal(t, err)
	outcomes, err := w.book.Upsert(t.Context(), o.in, d, []book.Input{in})
	fatal(t, err)
	fatal(t, outcomes[0].Err)
}

func (w *heldWorld) newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{person: w.person(t, w.workspace(t)), tiers: map[int]string{}, saved: map[int]bool{}, listed: map[int]bool{}}
	o.list = w.newView(t, o.in, catalog.Contacts, "")
	scored := func(o *office, n int) (int, bool) {
		tier, inBook := o.tiers[n]
		_, there := w.accounts[n]
		return book.Score(tier, book.ScoreFacts{}, time.Now()), inBook && there
	}
	visible := func(o *office, n int) bool { return w.linked[n] || o.saved[n] || o.listed[n] }
	o.views = []*heldView{
		{
			dataset: catalog.Accounts, reportsShown: true,
			definition: `{"version":1,"q":"","fields":{"city":["Calgary"],"icp_tier":["tier_1","tier_2"]}}`,
			match: func(o *office, n int) bool {
				_, inBook := scored(o, n)
				return inBook && w.accounts[n] == "Calgary" && (o.tiers[n] == "tier_1" || o.tiers[n] == "tier_2")
			},
		}, {
			dataset: catalog.Accounts, definition: `{"version":1,"q":"","fields":{"atlas_score":{"min":"15"}}}`,
			match: func(o *office, n int) bool { score, inBook := scored(o, n); return inBook && score >= 15 },
		}, {
			dataset: catalog.Accounts, definition: `{"version":1,"q":"","fields":{"city":["Calgary"]}}`,
			match: func(_ *office, n int) bool { return w.accounts[n] == "Calgary" },
		}, {
			dataset: catalog.Contacts, definition: `{"version":1,"q":"","fields":{"city":["Calgary"]}}`,
			match: func(o *office, n int) bool { return w.contacts[n] == "Calgary" && visible(o, n) },
		}, {
			dataset: catalog.Contacts, definition: `{"version":1,"q":"p1@x.example","fields":{}}`, // reveals no addresses
			match: func(*office, int) bool { return false },
		},
	}
	for _, v := range o.views {
		v.id = w.newView(t, o.in, v.dataset, v.definition)
		_, err := w.alerts.Upsert(t.Context(), o.in, o.user, alerts.Change{View: v.id})
		fatal(t, err)
	}
	return o
}

func (o *office) matches(v *heldView) map[int]bool {
	found := map[int]bool{}
	for n := range heldRecords {
		if v.match(o, n) {
			found[n] = true
		}
	}
	return found
}

// settle projects and looks, both concurrently and then until nothing is left.
func (w *heldWorld) settle(t *testing.T) {
	t.Helper()
	go func() { _ = w.projector.SweepOnce(t.Context()) }()
	w.look(t)
	for {
		moves, err := w.system.MergeMoves(t.Context(), 100)
		fatal(t, err)
		if len(moves) == 0 {
			break
		}
		for _, m := range moves {
			holders, err := w.system.Holders(t.Context(), m.Dataset, m.Record)
			fatal(t, err)
			into := w.into(t, m.Dataset, m.Record)
			for _, in := range holders {
				if into != uuid.Nil { // it is not there again
					fatal(t, w.store.MoveHeld(t.Context(), in, m.Dataset, m.Record, into))
				}
			}
			fatal(t, w.system.EndMergeMove(t.Context(), m))
		}
	}
	for until := time.Now().Add(30 * time.Second); ; {
		fatal(t, w.projector.SweepOnce(t.Context()))
		waiting, err := w.system.PendingWorkspaces(t.Context(), nil, 10)
		fatal(t, err)
		if len(waiting) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("held records stay pending")
		}
	}
	w.look(t)
	w.look(t)
	left, err := w.system.HeldChanged(t.Context())
	fatal(t, err)
	if len(left) > 0 {
		t.Fatalf("%v are not compared", left)
	}
}

// check compares the reported records since the last check with the model. shown are the
// records that an office put into its book or list itself.
func (w *heldWorld) check(t *testing.T, what string, of *office, shown map[uuid.UUID]bool) {
	t.Helper()
	for _, o := range w.offices {
		for i, v := range o.views {
			now := o.matches(v)
			var want []uuid.UUID
			for n := range now {
				id := account(n)
				if v.dataset == catalog.Contacts {
					id = contact(n)
				}
				if !v.known[n] && !(o == of && shown[id] && !v.reportsShown) {
					want = append(want, id)
				}
			}
			v.known = now
			all := slices.Concat(w.reported(t, o.person, v.id)...)
			got := slices.Clone(all[v.reported:])
			v.reported = len(all)
			for _, ids := range [][]uuid.UUID{want, got} {
				slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
			}
			if diff := gocmp.Diff(want, got, gocmp.Transformer("text", uuid.UUID.String)); diff != "" && len(want)+len(got) > 0 {
				t.Fatalf("%s: View %d (-want +got):\n%s", what, i, diff)
			}
		}
	}
}

// Views by tier and score, and those of contacts, report each record once when it begins to
// match, whatever changes: workspace values, deltas, merges and loads, with equal Views in
// another workspace that writes other values.
func TestHeldEntriesEqualModel(t *testing.T) {
	t.Parallel()
	w := &heldWorld{world: newWorld(t), accounts: map[int]string{}, contacts: map[int]string{}, linked: map[int]bool{}}
	w.book = &book.Book{Store: w.store, Global: w.engine, Changed: w.projector.Wake}
	w.members = &views.Memberships{Store: w.store, Records: w.engine, Changed: w.projector.Wake}
	for n := range heldRecords {
		w.accounts[n], w.contacts[n] = "Calgary", "Banff"
	}
	w.loadAll(t)
	fatal(t, w.projector.Prepare(t.Context()))
	w.offices = []*office{w.newOffice(t), w.newOffice(t)}
	w.settle(t)
	for _, o := range w.offices {
		for _, v := range o.views {
			v.known = o.matches(v)
		}
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- not a secret
	w.killer.r = r
	steps := 60
	if testing.Short() {
		steps = 30
	}
	city := func() string { return []string{"Calgary", "Banff"}[r.IntN(2)] }
	var said []string
	for step := range steps {
		o, n := w.offices[r.IntN(2)], r.IntN(heldRecords)
		shown := map[uuid.UUID]bool{}
		action := r.IntN(13)
		said = append(said, fmt.Sprint(action, " of ", n))
		_, isAccount := w.accounts[n]
		_, isContact := w.contacts[n]
		switch action {
		case 0, 1, 2: // a tier
			if tier := []string{"", "tier_1", "tier_2", "tier_3"}[r.IntN(4)]; isAccount {
				_, inBook := o.tiers[n]
				shown[account(n)] = !inBook
				more := `,"icp_tier":null`
				if tier != "" {
					more = fmt.Sprintf(`,"icp_tier":%q`, tier)
				}
				w.upsert(t, o, catalog.Accounts, account(n), more)
				o.tiers[n] = tier
			}
		case 3: // out of the book
			fatal(t, w.book.Delete(t.Context(), o.in, catalog.Accounts, []uuid.UUID{account(n)}))
			delete(o.tiers, n)
		case 4: // into the book, or notes alone
			if isContact {
				shown[contact(n)] = !o.saved[n]
				w.upsert(t, o, catalog.Contacts, contact(n), fmt.Sprintf(`,"notes":"%d"`, step))
				o.saved[n] = true
			}
		case 5:
			if o.listed[n] || w.linked[n] || !isContact { // else it may be in Static Views alone
				fatal(t, w.book.Delete(t.Context(), o.in, catalog.Contacts, []uuid.UUID{contact(n)}))
				delete(o.saved, n)
			}
		case 6: // into the Static View
			if isContact && (w.linked[n] || o.saved[n]) && !o.listed[n] {
				_, err := w.members.Add(t.Context(), o.in, o.list, []uuid.UUID{contact(n)})
				fatal(t, err)
				shown[contact(n)], o.listed[n] = true, true
			}
		case 7: // the Static View goes
			fatal(t, w.views.Delete(t.Context(), o.in, o.list))
			o.list, o.listed = w.newView(t, o.in, catalog.Contacts, ""), map[int]bool{}
		case 8: // a delta of everything
			w.accounts[n], w.contacts[n], w.linked[n] = city(), city(), r.IntN(2) == 0
			w.publish(t, map[catalog.Dataset][]string{
				catalog.Accounts: {line(n, w.accounts[n])}, catalog.Contacts: {contactLine(n, w.contacts[n])},
				catalog.Projects: {projectLine(n, w.linked[n])},
			})
		case 9: // links alone
			if w.linked[n] = r.IntN(2) == 0; isContact {
				w.publish(t, map[catalog.Dataset][]string{catalog.Projects: {projectLine(n, w.linked[n])}})
			} else {
				w.linked[n] = false
			}
		case 10: // records go
			if isAccount && len(w.accounts) > 3 {
				delete(w.accounts, n)
				w.publish(t, map[catalog.Dataset][]string{catalog.Accounts: {fmt.Sprintf(`{"id":"%s","deleted":true}`, account(n))}})
			}
		case 11: // a merge: the target of a known record is known, and tiers move
			there := slices.Sorted(maps.Keys(w.accounts))
			into := there[r.IntN(len(there))]
			if !isAccount || into == n || len(there) < 4 {
				continue
			}
			delete(w.accounts, n)
			w.publish(t, map[catalog.Dataset][]string{
				catalog.Accounts: {fmt.Sprintf(`{"id":"%s","merged_into":"%s"}`, account(n), account(into)), line(into, w.accounts[into])},
			})
			for _, o := range w.offices {
				if tier, inBook := o.tiers[n]; inBook {
					if own, both := o.tiers[into]; !both || own == "" {
						o.tiers[into] = tier
					}
					delete(o.tiers, n)
				}
				for _, v := range o.views {
					if v.dataset == catalog.Accounts {
						v.known[into] = v.known[into] || v.known[n]
					}
				}
			}
		case 12: // a load
			w.accounts[n], w.contacts[n] = city(), city()
			w.loadAll(t)
		}
		w.settle(t)
		w.check(t, fmt.Sprintf("seed %d after %v", seed, said), o, shown)
	}
	// Whatever the seed did: a firm leaves the city, and comes back.
	for _, place := range []string{"Banff", "Calgary"} {
		w.accounts[0] = place
		w.publish(t, map[catalog.Dataset][]string{catalog.Accounts: {line(0, place)}})
		w.settle(t)
		w.check(t, fmt.Sprintf("seed %d after %v, then %s", seed, said, place), nil, nil)
	}
	if w.killer.kills == 0 {
		t.Error("nothing was killed")
	}
	reported := 0
	for _, o := range w.offices {
		for _, v := range o.views {
			reported += v.reported
		}
	}
	if reported == 0 {
		t.Errorf("seed %d: no record is reported", seed)
	}
}

// A View by tier reports the record that a tier puts into the book. A View by score does not,
// nor does a View of contacts those that the workspace saves or lists; it reports a contact
// that a project names.
func TestWhatWorkspacesWriteIsReported(t *testing.T) {
	t.Parallel()
	w := &heldWorld{
		world: newWorld(t), accounts: map[int]string{0: "Calgary", 1: "Calgary"}, contacts: map[int]string{0: "Calgary", 1: "Calgary"},
		linked: map[int]bool{},
	}
	w.book = &book.Book{Store: w.store, Global: w.engine, Changed: w.projector.Wake}
	w.loadAll(t)
	fatal(t, w.projector.Prepare(t.Context()))
	mine, other := w.newOffice(t), w.newOffice(t)
	w.settle(t)
	check := func(what string, want ...int) {
		t.Helper()
		w.settle(t)
		for i, v := range mine.views {
			if got := len(slices.Concat(w.reported(t, mine.person, v.id)...)); got != want[i] {
				t.Errorf("%s: View %d reported %d, want %d", what, i, got, want[i])
			}
			if got := w.reported(t, other.person, other.views[i].id); i < 3 && len(got) > 0 {
				t.Errorf("%s: another workspace got %v", what, got)
			}
		}
	}
	w.upsert(t, mine, catalog.Accounts, account(0), `,"icp_tier":"tier_1"`)
	check("a tier that puts a firm into the book", 1, 0, 0, 0, 0)
	w.upsert(t, mine, catalog.Accounts, account(1), ``)
	check("a firm without a tier, with a score", 1, 0, 0, 0, 0)
	w.upsert(t, mine, catalog.Accounts, account(1), `,"icp_tier":"disqualified"`)
	w.settle(t)
	w.upsert(t, mine, catalog.Accounts, account(1), `,"icp_tier":"tier_2"`)
	check("a tier, and the score that follows", 2, 1, 0, 0, 0)
	w.upsert(t, mine, catalog.Contacts, contact(0), `,"notes":"saved"`)
	check("a saved contact", 2, 1, 0, 0, 0)
	w.publish(t, map[catalog.Dataset][]string{catalog.Projects: {projectLine(0, true), projectLine(1, true)}})
	check("contacts that a project names, one of them known", 2, 1, 0, 1, 0)
}

// alerts.Held agrees with the plan of each View.
func TestHeldIsWhatThePlanSearches(t *testing.T) {
	t.Parallel()
	for _, d := range catalog.Held {
		for _, k := range append(views.DefinitionKeys(d), views.DefinitionKey{}) {
			v := views.View{ID: views.ID(uuid.New()), Workspace: workspace.ID(uuid.New()), Dataset: d, Type: views.Dynamic}
			v.Definition.Dynamic = true
			if k.Key != "" {
				v.Definition.Fields = []views.Condition{{DefinitionKey: k, Values: []string{"x"}, From: "1"}}
			}
			plan, err := join.View(v, query.Query{Dataset: d}, nil)
			fatal(t, err)
			if alerts.Held(v) != plan.Held() || slices.Contains(alerts.HeldKeys(), k.Key) != k.Field.Overlay {
				t.Errorf("%s by %q: %t, its plan %t", d, k.Key, alerts.Held(v), plan.Held())
			}
		}
	}
}
