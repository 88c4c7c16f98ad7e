//go:build faults

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/scripts/experiments/history"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// The numbers of records of each held dataset that the clients of a history write to.
const (
	sharedRecords    = 3 // in each workspace, for all of its clients
	ownRecords       = 3 // of one client, in its workspace
	deletableRecords = 3 // that are deleted from the global dataset and restored
)

var singular = map[catalog.Dataset]string{catalog.Accounts: "account", catalog.Contacts: "contact", catalog.Projects: "project"}

// subject is a record that clients write to. Its name contains its version. It has no
// project, so a contact is visible only through data of a workspace.
type subject struct {
	dataset   catalog.Dataset
	id        string
	name      string // without the version
	deletable bool
	version   int
	dead      bool
}

// titled is the prefix of the names of all subjects. No generated record has it.
const titled = "Subject"

func (s subject) line(at int) []byte {
	if s.dead {
		return fmt.Appendf(nil, `{"id":%q,"deleted":true,"updated_at":%q}`, s.id, changedAt(at))
	}
	return fmt.Appendf(nil, `{"id":%q,"name":"%s version %d","updated_at":%q}`, s.id, s.name, s.version, changedAt(at))
}

// versionIn reads the version in a name.
func versionIn(name string) (int, error) {
	_, text, found := strings.Cut(name, " version ")
	if !found {
		return 0, fmt.Errorf("the name %q has no version", name)
	}
	return strconv.Atoi(text)
}

// globalData is the global dataset of a history, which loads and deltas change. One
// goroutine calls its methods.
type globalData struct {
	rig      *rig.Rig
	random   *rand.Rand
	subjects []*subject
	base     string // folder of the generated records
	at       int    // counts changes
	versions *history.Versions
}

// newGlobalData generates records and adds the subjects: the given number for each
// dataset, the deletable ones first.
func newGlobalData(r *rig.Rig, random *rand.Rand, seed uint64, each int) *globalData {
	g := &globalData{rig: r, random: random, base: filepath.Join(r.Dir, "base"), versions: history.NewVersions()}
	r.Generate(g.base, 1_000, seed)
	for _, d := range catalog.Held {
		for n := range each {
			id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%d/%s/%d", seed, d, n))
			g.subjects = append(g.subjects, &subject{
				dataset: d, id: id.String(), name: fmt.Sprintf("%s %s %d", titled, singular[d], n),
				deletable: n < deletableRecords,
			})
		}
	}
	return g
}

// folder writes all current records for a load.
func (g *globalData) folder() (dir string, err error) {
	if dir, err = emptied(g.rig, "version"); err != nil {
		return "", err
	}
	for _, d := range catalog.Datasets {
		text, err := os.ReadFile(filepath.Join(g.base, string(d)+".ndjson"))
		if err != nil {
			return "", err
		}
		for _, s := range g.subjects {
			if s.dataset == d && !s.dead {
				text = append(append(text, s.line(g.at)...), '\n')
			}
		}
		if err := os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), text, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// change increments the versions of some subjects, deletes or restores some deletable
// ones, and returns those that changed.
func (g *globalData) change(now int64) (changed []*subject) {
	g.at++
	for _, s := range g.subjects {
		if g.random.IntN(3) > 0 {
			continue
		}
		if s.deletable && g.random.IntN(2) == 0 {
			s.dead = !s.dead
		}
		if !s.dead {
			s.version++
			g.versions.Begin(s.id, s.version, now)
		}
		changed = append(changed, s)
	}
	return changed
}

// delta changes some subjects by `atlas index apply`.
func (g *globalData) delta(ctx context.Context, log *history.Log) error {
	dir, err := emptied(g.rig, "changes")
	if err != nil {
		return err
	}
	changed := g.change(log.Now())
	files := map[catalog.Dataset]*bytes.Buffer{}
	for _, d := range catalog.Held {
		files[d] = &bytes.Buffer{}
	}
	for _, s := range changed {
		files[s.dataset].Write(append(s.line(g.at), '\n'))
	}
	for d, text := range files {
		if err := os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return g.run(ctx, log, changed, "index", "apply", dir, "--json", "--strict")
}

// load changes some subjects by a complete load, which switches generations.
func (g *globalData) load(ctx context.Context, log *history.Log) error {
	changed := g.change(log.Now())
	dir, err := g.folder()
	if err != nil {
		return err
	}
	return g.run(ctx, log, changed, "index", "load", dir, "--json", "--strict")
}

func (g *globalData) run(ctx context.Context, log *history.Log, changed []*subject, command ...string) error {
	began := log.Now()
	// Not canceled when the experiment ends with an error: the rest of a canceled delta
	// would be applied with the next one, and would look like a violation.
	code, stdout, stderr := g.rig.Run(context.WithoutCancel(ctx), command...)
	for attempt := 1; code != 0 && (postgresFailed(stderr) || g.rig.Replicated()) && attempt < 10; attempt++ {
		log.Note("global records", fmt.Sprintf("status %d: %.200s", code, stderr), began, log.Now())
		time.Sleep(time.Second)
		code, stdout, stderr = g.rig.Run(context.WithoutCancel(ctx), command...)
	}
	log.Note("global records", strings.Join(command[:2], " "), began, log.Now())
	if code != 0 {
		return fmt.Errorf("atlas %s: status %d %s%s", strings.Join(command, " "), code, stdout, stderr)
	}
	for _, s := range changed {
		g.versions.End(s.id, log.Now())
	}
	return nil
}

// postgresFailed reports whether a command ended because the clock of Postgres jumped,
// which ends leases and statements early, or because Postgres recovered from a crash.
// Running the command again continues its work.
func postgresFailed(stderr string) bool {
	return strings.Contains(stderr, "the lease was lost") || strings.Contains(stderr, "(SQLSTATE 57") ||
		strings.Contains(stderr, "try again shortly: postgres: ")
}

// loseIndex deletes the index of held records, like an operator by mistake.
func loseIndex(ctx context.Context, r *rig.Rig, d catalog.Dataset) error {
	var aliases []struct{ Index string }
	if err := r.Ask(ctx, "GET", "/_cat/aliases/"+r.Held(string(d))+"?format=json&h=index", "", &aliases); err != nil {
		return err
	}
	var errs []error
	for _, a := range aliases {
		errs = append(errs, r.Ask(ctx, "DELETE", "/"+a.Index, "", nil))
	}
	return errors.Join(errs...)
}

// tenant is a workspace and what its clients write to and share.
type tenant struct {
	rig.Workspace
	n         int
	records   map[catalog.Dataset][]string // that are checked
	deletable map[catalog.Dataset][]string
	// everyone is a Dynamic View of all contacts, first one of accounts of tier 1.
	everyone, first string
	choice          []string // Views that can be Favorites

	lock   sync.Mutex
	ledger *history.Ledger
	opened time.Time                    // the ledger
	tags   map[catalog.Dataset][]string // recently written
	views  []*known
	gone   []*known // deleted in this round
}

// known is a Static View that was created.
type known struct {
	id       string
	dataset  catalog.Dataset
	revision int // the last known revision
}

const remembered = 8 // tags, and deleted Views

func (w *tenant) tagged(d catalog.Dataset, tag string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.tags[d] = append(w.tags[d], tag)
	w.tags[d] = w.tags[d][max(0, len(w.tags[d])-remembered):]
}

func (w *tenant) tag(d catalog.Dataset, random *rand.Rand) string {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.tags[d]) == 0 {
		return "none"
	}
	return pick(random, w.tags[d])
}

func (w *tenant) made(v *known) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.views = append(w.views, v)
}

// ended records that a View was deleted, or may have been.
func (w *tenant) ended(id string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	var left []*known
	for _, v := range w.views {
		if v.id == id {
			w.gone = append(w.gone, v)
			w.gone = w.gone[max(0, len(w.gone)-remembered):]
		} else {
			left = append(left, v)
		}
	}
	w.views = left
}

// view picks a View, sometimes a deleted one. It returns nil if there is none.
func (w *tenant) view(random *rand.Rand) *known {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.gone) > 0 && random.IntN(6) == 0 {
		return pick(random, w.gone)
	}
	if len(w.views) == 0 {
		return nil
	}
	return pick(random, w.views)
}

func (w *tenant) alive() []*known {
	w.lock.Lock()
	defer w.lock.Unlock()
	return append([]*known(nil), w.views...)
}

func (w *tenant) revise(v *known, revision int) {
	w.lock.Lock()
	defer w.lock.Unlock()
	v.revision = max(v.revision, revision)
}

func (w *tenant) revision(v *known) int {
	w.lock.Lock()
	defer w.lock.Unlock()
	return v.revision
}

func (w *tenant) credits() *history.Ledger {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.ledger
}

// The names of the objects of a history.
func (w *tenant) recordKey(d catalog.Dataset, record string) string {
	return fmt.Sprintf("record/%d/%s/%s", w.n, d, record)
}

func (w *tenant) viewKey(view string) string { return fmt.Sprintf("view/%d/%s", w.n, view) }

func favoritesKey(user string) string { return "favorites/" + user }

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// some picks up to most distinct elements, at least one.
func some[T any](random *rand.Rand, from []T, most int) []T {
	var chosen []T
	for _, i := range random.Perm(len(from))[:1+random.IntN(min(most, len(from)))] {
		chosen = append(chosen, from[i])
	}
	return chosen
}

// pause waits for a random part of most, or until stop is closed.
func pause(stop <-chan struct{}, random *rand.Rand, most time.Duration) {
	wait := time.NewTimer(time.Duration(random.Int64N(int64(most) + 1)))
	defer wait.Stop()
	select {
	case <-stop:
	case <-wait.C:
	}
}
