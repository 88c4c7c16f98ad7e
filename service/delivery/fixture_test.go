package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/internal/devstack/backends"
	"atlas/internal/egress"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/webhooks"
)

func TestMain(m *testing.M) {
	if database := os.Getenv(runAsSender); database != "" {
		sendUntilKilled(database)
		return
	}
	if spec := os.Getenv(runAsMailer); spec != "" {
		mailUntilKilled(spec)
		return
	}
	backends.Main(m)
}

var (
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	sealer   = webhooks.Sealer{Keys: [][]byte{[]byte("a key of the servers")}}
)

// world is a database with a workspace, and the webhooks of its API.
type world struct {
	databases *pgtest.Databases
	system    *postgres.System
	hooks     *webhooks.Webhooks
	directory *people.Directory
	in        workspace.ID
	sender    *delivery.Sender

	mu    sync.Mutex
	ahead time.Duration
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) move(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += by
}

func newWorld(t *testing.T) *world {
	t.Helper()
	d := pgtest.New(t)
	w := &world{databases: d, system: d.OpenSystem(t, postgres.Options{MaxConns: 8})}
	w.directory = people.NewDirectory(w.system, nil)
	guard := egress.New(loopback, nil)
	w.hooks = &webhooks.Webhooks{
		Store: d.OpenApp(t, postgres.Options{MaxConns: 2}), Guard: guard, Sealer: sealer, Now: w.now,
		Limits: workspace.Limits{Webhooks: 1000},
	}
	w.sender = delivery.NewSender(w.system, sealer, guard, w.now, slog.New(slog.DiscardHandler))
	t.Cleanup(w.sender.Close)
	w.in = w.workspace(t, "One")
	return w
}

func (w *world) workspace(t *testing.T, name string) workspace.ID {
	t.Helper()
	ws, err := w.directory.CreateWorkspace(t.Context(), name, workspace.Pro, 0)
	fatal(t, err)
	return ws.ID
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) hook(t *testing.T, url string, events ...webhooks.Event) webhooks.Webhook {
	t.Helper()
	if events == nil {
		events = webhooks.Events()
	}
	h, err := w.hooks.Upsert(t.Context(), w.in, webhooks.Change{URL: url, Events: events})
	fatal(t, err)
	return h
}

// queue adds deliveries to a webhook, of an event of a record each.
func (w *world) queue(t *testing.T, h webhooks.Webhook, records ...string) (ids []jobs.ID) {
	t.Helper()
	var all []jobs.New
	now := workspace.StoredTime(w.now())
	for _, r := range records {
		j, err := webhooks.NewDelivery(w.in, h.ID, webhooks.RecordChanged, uuid.NewString(), r, map[string]string{"id": r}, now)
		fatal(t, err)
		all, ids = append(all, j), append(ids, j.ID)
	}
	fatal(t, w.system.AddJobs(t.Context(), all, now))
	return ids
}

// send runs a sender until the test ends.
func (w *world) send(t *testing.T, change ...func(*jobs.Handler)) {
	t.Helper()
	h := w.sender.Handler()
	for _, c := range change {
		c(&h)
	}
	w.run(t, h)
}

// run runs jobs until the test ends.
func (w *world) run(t *testing.T, h jobs.Handler) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		jobs.NewRunner(w.system, h, jobs.Options{Now: w.now, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// attempt makes one attempt of a delivery, as a runner does.
func (w *world) attempt(t *testing.T, h webhooks.Webhook) jobs.Result {
	t.Helper()
	w.queue(t, h, "")
	all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind, State: jobs.Pending}, 1)
	fatal(t, err)
	r := w.sender.Send(t.Context(), all[0])
	w.exec(t, `DELETE FROM jobs WHERE kind = 'webhook'`)
	return r
}

// exec runs a statement as the owner of the database.
func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.databases.Admin)
	fatal(t, err)
	_, err = conn.Exec(t.Context(), sql, args...)
	fatal(t, errors.Join(err, conn.Close(t.Context())))
}

func (w *world) log(t *testing.T, h webhooks.Webhook) []webhooks.Delivery {
	t.Helper()
	all, err := w.hooks.Deliveries(t.Context(), w.in, h.ID, 100_000, 0)
	fatal(t, err)
	return all
}

// waitFor waits until so many deliveries of a webhook have a status.
func (w *world) waitFor(t *testing.T, h webhooks.Webhook, s webhooks.Status, n int) []webhooks.Delivery {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		var found []webhooks.Delivery
		for _, d := range w.log(t, h) {
			if d.Status == s {
				found = append(found, d)
			}
		}
		if len(found) == n {
			return found
		}
		if time.Now().After(end) {
			t.Fatalf("%d deliveries are %s, want %d", len(found), s, n)
		}
	}
}

// message is a request that a receiver got.
type message struct {
	header http.Header
	body   []byte
	parsed struct {
		Type      string
		Timestamp time.Time
		Data      struct{ ID string }
	}
}

// receiver records requests, and answers as configured.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []message
}

// receive starts a receiver. answer is nil for status 204.
func receive(t *testing.T, answer func(http.ResponseWriter, message)) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		m := message{header: request.Header}
		m.body, _ = io.ReadAll(request.Body)
		_ = json.Unmarshal(m.body, &m.parsed)
		r.mu.Lock()
		r.got = append(r.got, m)
		r.mu.Unlock()
		if answer == nil {
			rw.WriteHeader(http.StatusNoContent)
			return
		}
		answer(rw, m)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.got...)
}

// deadAddress is a URL at which nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fatal(t, err)
	fatal(t, l.Close())
	return "http://" + l.Addr().String()
}
