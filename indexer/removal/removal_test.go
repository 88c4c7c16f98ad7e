package removal_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/indexer"
	"atlas/indexer/delta"
	"atlas/indexer/eraser"
	"atlas/indexer/erasure"
	"atlas/indexer/generation"
	"atlas/indexer/removal"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) { backends.Main(m) }

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Contacts of the tests: ada alone has her address, two share one, and some have none that
// can get an e-mail.
var (
	ada, bob, cyd = contact(1), contact(2), contact(3)
	mailto, none  = contact(4), contact(5)
	header        = contact(6)
)

func contact(n byte) uuid.UUID {
	id := uuid.MustParse("20000000-0000-4000-8000-000000000000")
	id[15] = n
	return id
}

func line(id uuid.UUID, email string) string {
	return `{"id":"` + id.String() + `","name":"A Person","email":"` + email + `"}` + "\n"
}

type world struct {
	*removal.Links
	worker *removal.Worker
	system *postgres.System
	ahead  atomic.Int64
	admin  string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	databases := pgtest.New(t)
	system := databases.OpenSystem(t, postgres.Options{MaxConns: 6})
	keys, err := erasure.ParseKeys("1:" + strings.Repeat("k", 32))
	fatal(t, err)
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	es := searchtest.NewClient(t, backends.Elasticsearch(t))
	names := mappings.Names{Prefix: "removal-" + strings.ToLower(rand.Text())[:12] + "-"}
	t.Cleanup(func() { searchtest.DeleteIndices(t, es, names.Prefix+"*") })
	w := &world{system: system, admin: databases.Admin}
	w.Links = &removal.Links{
		Store: system, Cursors: cursors, Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) },
		Eraser: &eraser.Eraser{
			Store: system, Keys: keys, Elastic: es, Names: names, Lease: system, WorkDir: t.TempDir(),
			Live: func(n mappings.Names) delta.Live {
				return &search.Engine{Elastic: es, Names: n, Timeout: 30 * time.Second}
			},
			Retry: elastic.Retry{For: 30 * time.Second, First: time.Millisecond, Max: 50 * time.Millisecond},
		},
	}
	w.worker = &removal.Worker{Links: w.Links, Busy: func(error) bool { return false }, Log: slog.New(slog.DiscardHandler)}
	w.load(t, line(ada, "Ada@Quillfeather.example"))
	return w
}

// load loads contacts: those of the tests except ada, and the given ones.
func (w *world) load(t *testing.T, more string) {
	t.Helper()
	dir := t.TempDir()
	contacts := line(bob, "office@firm.example") + line(cyd, "office@firm.example") + line(mailto, "mailto:Eve@firm.example.") +
		line(none, "no address") + line(header, `x@firm.example\r\nBcc: y@firm.example`) + more
	for _, d := range catalog.Datasets {
		text := ""
		if d == catalog.Contacts {
			text = contacts
		}
		fatal(t, os.WriteFile(filepath.Join(dir, string(d)+".ndjson"), []byte(text), 0o600))
	}
	e := w.Eraser
	_, err := indexer.Load(t.Context(), indexer.Options{
		Dir: dir, Elastic: e.Elastic, Names: e.Names, TempDir: t.TempDir(), Retry: e.Retry, Lease: w.system, Suppressions: e, Force: true,
		Now: time.Now,
	})
	fatal(t, err)
}

// token creates a link and returns the token in its e-mail.
func (w *world) token(t *testing.T, contact uuid.UUID, wantTo string) string {
	t.Helper()
	link, err := w.Make(t.Context(), contact, "test")
	fatal(t, err)
	to, token, expires, err := w.Letter(t.Context(), link.ID)
	if err != nil || to != wantTo || !expires.Equal(link.Expires) {
		t.Fatalf("a letter to %q until %v, %v; want %q", to, expires, err, wantTo)
	}
	return token
}

func (w *world) wantNowhere(t *testing.T, what, token string) {
	t.Helper()
	_, err := w.Erase(t.Context(), token)
	if works := w.Works(t.Context(), token); fault.CodeOf(works) != fault.NotFound || fault.CodeOf(err) != fault.NotFound ||
		works.Error() != err.Error() || !strings.Contains(err.Error(), "this link was used") {
		t.Errorf("%s: %v, %v", what, works, err)
	}
}

// suppressed are the kinds of the list.
func (w *world) suppressed(t *testing.T) (kinds string) {
	t.Helper()
	list, err := w.system.Suppressions(t.Context())
	fatal(t, err)
	for _, s := range list {
		kinds += string(s.Kind) + " "
	}
	return kinds
}

// A link erases the contact that it names and no other, once, also when it is used twice
// concurrently.
func TestLinkWorksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(t, ada, "Ada@Quillfeather.example")
	other := w.token(t, mailto, "eve@firm.example")
	if err := w.Works(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	var erased, nowhere atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch err := w.worker.Erase(t.Context(), token); {
			case err == nil:
				erased.Add(1)
			case fault.CodeOf(err) == fault.NotFound:
				nowhere.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if erased.Load() != 1 || nowhere.Load() != 7 {
		t.Fatalf("%d erased, %d were refused", erased.Load(), nowhere.Load())
	}
	if kinds := w.suppressed(t); kinds != "id email " {
		t.Errorf("suppressed: %s", kinds)
	}
	w.wantNowhere(t, "used", token)
	w.finish(t)
	if there := w.there(t); there[ada] || !there[mailto] || !there[bob] {
		t.Errorf("there are %v", there)
	}
	// The link of another contact still works, and no load restores the erased contact, even
	// under another id.
	if err := w.Works(t.Context(), other); err != nil {
		t.Error(err)
	}
	reused := contact(9)
	w.load(t, line(ada, "other@quillfeather.example")+line(reused, "ada@quillfeather.example"))
	if there := w.there(t); there[ada] || there[reused] || !there[bob] {
		t.Errorf("after a load there are %v", there)
	}
	// The link is for one contact: another that had the address is left out only while it does.
	w.load(t, line(ada, "other@quillfeather.example")+line(reused, "again@firm.example"))
	if there := w.there(t); there[ada] || !there[reused] {
		t.Errorf("with another address there are %v", there)
	}
	if kinds := w.suppressed(t); kinds != "id email " {
		t.Errorf("suppressed: %s", kinds)
	}
	if _, err := w.Make(t.Context(), ada, "test"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a link for who is gone: %v", err)
	}
}

// finish runs the worker until nothing is left to erase.
func (w *world) finish(t *testing.T) {
	t.Helper()
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		w.worker.Run(ctx)
	}()
	for {
		work, err := w.system.SuppressedRecords(t.Context())
		fatal(t, err)
		// All postponed erasures are due now.
		due, err := w.system.ClaimErasures(t.Context(), time.Now().Add(time.Hour), time.Now())
		fatal(t, err)
		if len(work) == 0 && len(due) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	<-done
}

// there are the contacts of the tests that the served generation has.
func (w *world) there(t *testing.T) map[uuid.UUID]bool {
	t.Helper()
	var ids []string
	for n := range byte(10) {
		ids = append(ids, contact(n).String())
	}
	found, err := w.Eraser.Live(w.Eraser.Names).Lookup(t.Context(), catalog.Contacts, ids)
	fatal(t, err)
	there := map[uuid.UUID]bool{}
	for id := range found {
		there[uuid.MustParse(id)] = true
	}
	return there
}

// If others have the address too, the link erases only its own contact, and loads still load
// the others.
func TestSharedAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fatal(t, w.worker.Erase(t.Context(), w.token(t, bob, "office@firm.example")))
	w.finish(t)
	w.load(t, "")
	if there := w.there(t); there[bob] || !there[cyd] {
		t.Errorf("there are %v", there)
	}
	if kinds := w.suppressed(t); kinds != "id " {
		t.Errorf("suppressed: %s", kinds)
	}
}

// All links that do not work have the same answer, and change nothing.
func TestLinksThatDoNotWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.token(t, ada, "Ada@Quillfeather.example")
	after := w.token(t, ada, "Ada@Quillfeather.example")
	w.wantNowhere(t, "one that a newer one ended", before)
	fatal(t, w.system.ForgetErasureLinks(t.Context()))
	w.wantNowhere(t, "one that was forgotten", before)
	for _, bad := range []string{"", after[1:], after + "A", w.Cursors.Seal("another purpose", make([]byte, 16))} {
		w.wantNowhere(t, bad, bad)
		if w.Reads(bad) == nil {
			t.Errorf("%q is read", bad)
		}
	}
	w.wantNowhere(t, "one that is not there", w.Cursors.Seal("erase a contact", make([]byte, 16)))
	// The contact has another address: mail to the former one reaches somebody else.
	w.load(t, line(ada, "new@quillfeather.example"))
	w.wantNowhere(t, "one to the address of before", after)
	w.load(t, line(ada, "ada@quillfeather.example"))
	if err := w.Works(t.Context(), after); err != nil {
		t.Error("the address is back:", err)
	}
	w.ahead.Store(int64(removal.TTL - time.Minute))
	if err := w.Works(t.Context(), after); err != nil {
		t.Error("just before it expires:", err)
	}
	w.ahead.Store(int64(removal.TTL))
	w.wantNowhere(t, "expired", after)
	if kinds := w.suppressed(t); kinds != "" {
		t.Errorf("suppressed: %s", kinds)
	}
	// An operator was faster.
	token := w.token(t, ada, "ada@quillfeather.example")
	_, values, err := w.Eraser.Add(t.Context(), catalog.Contacts, erasure.ID, erasure.Values{ID: ada.String()}, "", "test")
	fatal(t, err)
	w.wantNowhere(t, "suppressed", token)
	_, err = w.Eraser.Finish(t.Context(), values)
	fatal(t, err)
	w.wantNowhere(t, "gone", token)
}

// Neither a running load nor a killed server leaves a contact in answers: another server
// continues, without the values.
func TestAnotherServerErases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker.Busy = func(err error) bool {
		_, held := errors.AsType[*postgres.LeaseHeldError](err)
		return held
	}
	_, err := w.Erase(t.Context(), w.token(t, ada, "Ada@Quillfeather.example"))
	fatal(t, err)
	fatal(t, generation.WithLease(t.Context(), w.system, func(context.Context) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.worker.Run(ctx)
		}()
		for w.there(t)[ada] {
			time.Sleep(50 * time.Millisecond)
		}
		cancel()
		<-done
		return nil
	}))
	if work, err := w.system.SuppressedRecords(t.Context()); err != nil || len(work) != 1 {
		t.Errorf("while a load is at work: %v, %v", work, err)
	}
	w.finish(t)
	w.load(t, line(contact(9), "ada@quillfeather.example"))
	if there := w.there(t); there[ada] || there[contact(9)] {
		t.Errorf("there are %v", there)
	}
}

// A contact that a load left out is suppressed too, so that the next one does not restore it.
func TestLinkOfAbsentContact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(t, ada, "Ada@Quillfeather.example")
	w.load(t, "")
	fatal(t, w.worker.Erase(t.Context(), token))
	w.finish(t)
	w.load(t, line(ada, "Ada@Quillfeather.example"))
	if there := w.there(t); there[ada] {
		t.Error("it is back")
	}
}

// A contact without an address gets no e-mail, and an address cannot inject a header.
func TestNoLetter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, want := range map[uuid.UUID]fault.Code{
		none: fault.BadRequest, header: fault.BadRequest, contact(200): fault.NotFound,
	} {
		if _, err := w.Make(t.Context(), id, "test"); fault.CodeOf(err) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
	link, err := w.Make(t.Context(), ada, "test")
	fatal(t, err)
	w.load(t, line(ada, "new@quillfeather.example"))
	if to, _, _, err := w.Letter(t.Context(), link.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a letter to %q, %v: the address is another one", to, err)
	}
}
