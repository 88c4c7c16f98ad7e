package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/service/delivery"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/postgres"
	"atlas/workspace/queue"
	"atlas/workspace/webhooks"
)

// noSignals is a queue in which nothing arrives.
type noSignals struct{}

func (noSignals) ArrivedThrough(context.Context) (time.Time, error) { return time.Unix(0, 0), nil }

func (noSignals) Arrived(context.Context, workspace.ID, queue.Arrivals) ([]queue.Signal, string, error) {
	return nil, "", nil
}

func (w *world) dispatcher() (*delivery.Dispatcher, *[]string) {
	var outcomes []string
	return &delivery.Dispatcher{
		Events: w.system, Signals: noSignals{}, Log: slog.New(slog.DiscardHandler),
		Ran: func(outcome string) { outcomes = append(outcomes, outcome) },
	}, &outcomes
}

// save puts accounts into the book of a workspace.
func (w *world) save(t *testing.T, in workspace.ID, records ...uuid.UUID) {
	t.Helper()
	w.exec(t, `INSERT INTO held_records (workspace_id, dataset, record_id, version) SELECT $1, 'accounts', unnest($2::uuid[]), 1`, in.String(), records)
	w.exec(t, `
		INSERT INTO overlays (workspace_id, dataset, record_id, tags, atlas_score, atlas_trend, scored_at, created_at, updated_at)
		SELECT $1, 'accounts', unnest($2::uuid[]), '{}', 0, 'steady', now(), now(), now()`, in.String(), records)
}

// change is a row of the feed.
type change struct {
	record  uuid.UUID
	op      string
	changed []string
	into    *uuid.UUID
}

// publish appends changes of accounts.
func (w *world) publish(t *testing.T, all ...change) {
	t.Helper()
	for _, c := range all {
		w.exec(t, `
			INSERT INTO data_changes (dataset, seq, record_id, op, changed, into_id)
			SELECT 'accounts', tail + 1, $1, $2, $3, $4 FROM data_feed`, c.record, c.op, c.changed, c.into)
		w.exec(t, `UPDATE data_feed SET tail = tail + 1`)
	}
	w.exec(t, `UPDATE data_feed SET head = tail`)
}

// deliveries are the deliveries of a webhook: the event and its data.
func (w *world) deliveries(t *testing.T, h webhooks.Webhook) (all []string) {
	t.Helper()
	found, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind}, 100_000)
	fatal(t, err)
	for _, j := range found {
		var p struct {
			Event string
			Data  map[string]any
		}
		fatal(t, json.Unmarshal(j.Payload, &p))
		if j.Lane == uuid.UUID(h.ID) {
			if p.Data["workspace_id"] != j.Workspace.String() {
				t.Errorf("%v is of workspace %s", p.Data, j.Workspace)
			}
			delete(p.Data, "workspace_id")
			text, err := json.Marshal(p.Data)
			fatal(t, err)
			all = append(all, p.Event+" "+string(text))
		}
	}
	return all
}

func (w *world) hookOf(t *testing.T, in workspace.ID, events ...webhooks.Event) webhooks.Webhook {
	t.Helper()
	h, err := w.hooks.Upsert(t.Context(), in, webhooks.Change{URL: "https://hooks.example/", Events: events})
	fatal(t, err)
	return h
}

// Webhooks get changes of the records in the book of their workspace, and nothing else.
func TestChangesOfTheBookAreDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	two := w.workspace(t, "Two")
	mine, both, theirs, nobodys, gone := uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()
	w.save(t, w.in, mine, both, gone)
	w.save(t, two, theirs, both)
	w.exec(t, `INSERT INTO held_records (workspace_id, dataset, record_id, version) VALUES ($1, 'accounts', $2, 1)`, w.in.String(), nobodys) // in a View alone
	all := w.hookOf(t, w.in, webhooks.Events()...)
	some := w.hookOf(t, w.in, webhooks.RecordDeleted)
	other := w.hookOf(t, two, webhooks.RecordChanged)
	disabled := w.hookOf(t, w.in, webhooks.Events()...)
	w.exec(t, `UPDATE webhooks SET enabled = false WHERE id = $1`, disabled.ID.String())
	w.publish(t, change{record: mine, op: "upsert"})
	d, outcomes := w.dispatcher()
	fatal(t, d.Look(t.Context())) // it starts here
	w.publish(t,
		change{mine, "upsert", []string{"name", "phone"}, nil}, change{record: both, op: "upsert"}, change{record: theirs, op: "delete"},
		change{record: nobodys, op: "upsert"}, change{record: mine, op: "delete"}, change{gone, "merge", nil, &both})
	for range 2 {
		fatal(t, d.Look(t.Context()))
	}
	into := fmt.Sprintf(`record.merged {"dataset":"accounts","id":"%s","into":"%s"}`, gone, both)
	deleted := fmt.Sprintf(`record.deleted {"dataset":"accounts","id":"%s"}`, mine)
	for name, c := range map[string]struct {
		hook webhooks.Webhook
		want []string
	}{
		"all": {all, []string{
			fmt.Sprintf(`record.changed {"changed":["name","phone"],"dataset":"accounts","id":"%s"}`, mine),
			fmt.Sprintf(`record.changed {"changed":null,"dataset":"accounts","id":"%s"}`, both), deleted, into,
		}},
		"some":              {some, []string{deleted}},
		"another workspace": {other, []string{fmt.Sprintf(`record.changed {"changed":null,"dataset":"accounts","id":"%s"}`, both)}},
		"disabled":          {disabled, nil},
	} {
		if diff := cmp.Diff(c.want, w.deliveries(t, c.hook)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if slices.Contains(*outcomes, "started_over") {
		t.Errorf("outcomes: %v", *outcomes)
	}
	// The feed is started over: dispatching continues from its end, and reports it.
	w.exec(t, `UPDATE data_feed SET forgotten = tail + 1, head = tail + 1, tail = tail + 1`)
	w.publish(t, change{record: mine, op: "upsert"})
	fatal(t, d.Look(t.Context()))
	if !slices.Contains(*outcomes, "started_over") || len(w.deliveries(t, all)) != 4 {
		t.Errorf("started over: %v, %d deliveries", *outcomes, len(w.deliveries(t, all)))
	}
	w.publish(t, change{record: mine, op: "upsert"})
	fatal(t, d.Look(t.Context()))
	if n := len(w.deliveries(t, all)); n != 5 {
		t.Errorf("%d deliveries afterwards", n)
	}
}

// Dispatchers of several servers create each delivery once, in the order of the feed, also
// for more than fits into a transaction.
func TestDispatchersShareTheFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const records, changes = 30, 3000
	ids := make([]uuid.UUID, records)
	for i := range ids {
		ids[i] = uuid.New()
	}
	w.save(t, w.in, ids...)
	var hooks []webhooks.Webhook
	for range 12 {
		hooks = append(hooks, w.hookOf(t, w.in, webhooks.RecordChanged))
	}
	first, _ := w.dispatcher()
	fatal(t, first.Look(t.Context()))
	w.exec(t, `
		INSERT INTO data_changes (dataset, seq, record_id, op)
		SELECT 'accounts', s, ($1::uuid[])[1 + s % $2], 'upsert' FROM generate_series(1, $3::int) s`, ids, records, changes)
	w.exec(t, `UPDATE data_feed SET tail = $1, head = $1`, changes)
	var looks sync.WaitGroup
	for range 4 {
		looks.Go(func() {
			d, _ := w.dispatcher()
			if err := d.Look(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	looks.Wait()
	fatal(t, first.Look(t.Context()))
	all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind}, 1_000_000)
	fatal(t, err)
	if len(all) != changes*len(hooks) {
		t.Errorf("%d deliveries, want %d", len(all), changes*len(hooks))
	}
	for _, h := range hooks[:1] {
		var got, want []jobs.ID
		for _, j := range all {
			if j.Lane == uuid.UUID(h.ID) {
				got = append(got, j.ID)
			}
		}
		for s := 1; s <= changes; s++ {
			want = append(want, jobs.IDFor(uuid.UUID(h.ID), fmt.Sprintf("%s %d upsert %s", catalog.Accounts, s, ids[s%records])))
		}
		if !slices.Equal(got, want) {
			t.Error("the deliveries are in another order than the feed")
		}
	}
}

// After Postgres was restored to an earlier time, the numbers of the feed are reused. New
// changes have other ids, so that receivers do not take them for duplicates.
func TestEventsAfterARestoreHaveOtherIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := uuid.New(), uuid.New()
	w.save(t, w.in, before, after)
	w.hookOf(t, w.in, webhooks.RecordChanged)
	d, _ := w.dispatcher()
	fatal(t, d.Look(t.Context()))
	seen := map[jobs.ID]bool{}
	for _, record := range []uuid.UUID{before, after} {
		w.publish(t, change{op: "upsert", record: record})
		fatal(t, d.Look(t.Context()))
		all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind}, 10)
		fatal(t, err)
		if len(all) != 1 || seen[all[0].ID] {
			t.Fatalf("%d deliveries, or the id of another event", len(all))
		}
		seen[all[0].ID] = true
		w.exec(t, `DELETE FROM jobs`)
		w.exec(t, `DELETE FROM data_changes`)
		w.exec(t, `UPDATE data_feed SET tail = tail - 1, head = head - 1`)
		w.exec(t, `UPDATE webhook_positions SET seq = seq - 1 WHERE source = 'accounts'`)
	}
}

func TestSwitchesAreDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hookOf(t, w.in, webhooks.LoadSwitched)
	d, _ := w.dispatcher()
	for _, generation := range []string{"", "a", "a", "b", "a"} {
		w.exec(t, `UPDATE data_feed SET generation = $1`, generation)
		fatal(t, d.Look(t.Context()))
	}
	want := []string{`load.switched {"generation":"b"}`, `load.switched {"generation":"a"}`}
	if diff := cmp.Diff(want, w.deliveries(t, h)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A workspace is notified once in a window that it used 80 or 100 percent of its credits.
func TestCreditsAreDeliveredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	two := w.workspace(t, "Two")
	h, other := w.hookOf(t, w.in, webhooks.CreditsThreshold), w.hookOf(t, two, webhooks.CreditsThreshold)
	made := make(chan struct{}, 10)
	c := &delivery.Credits{Notices: w.system, Made: func() { made <- struct{}{} }, Log: slog.New(slog.DiscardHandler)}
	for _, used := range []int64{0, 799, 800, 900, 999, 1000, 1200} {
		c.Used(w.in, used, 1000)
	}
	<-made
	<-made
	fatal(t, w.system.NoticeCredits(t.Context(), w.in, 80, 850, 1000, time.Now().Add(23*time.Hour), 24*time.Hour)) // another server
	got := w.deliveries(t, h)
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		`credits.threshold {"ceiling":1000,"percent":100,"used":1000}`, `credits.threshold {"ceiling":1000,"percent":80,"used":800}`,
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	fatal(t, w.system.NoticeCredits(t.Context(), w.in, 80, 850, 1000, time.Now().Add(25*time.Hour), 24*time.Hour))
	if n := len(w.deliveries(t, h)); n != 3 {
		t.Errorf("%d notices after a day", n)
	}
	if n := len(w.deliveries(t, other)); n != 0 {
		t.Errorf("another workspace gets %d deliveries", n)
	}
}

// arriving is a queue in which a signal arrives in each second.
type arriving struct {
	mu      sync.Mutex
	through time.Time
}

func (a *arriving) ArrivedThrough(context.Context) (time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.through, nil
}

func (a *arriving) Arrived(_ context.Context, _ workspace.ID, r queue.Arrivals) (page []queue.Signal, next string, err error) {
	after := r.After
	if r.Cursor != "" {
		last, err := time.Parse(time.RFC3339, r.Cursor)
		if err != nil {
			return nil, "", err
		}
		after = last
	}
	for at := after.Add(time.Second); !at.After(r.UpTo); at = at.Add(time.Second) {
		if len(page) == 300 {
			return page, at.Add(-time.Second).Format(time.RFC3339), nil
		}
		page = append(page, queue.Signal{ID: uuid.NewSHA1(uuid.Nil, []byte(at.UTC().Format(time.RFC3339)))})
	}
	return page, "", nil
}

// Each signal is delivered once, however many servers look.
func TestSignalsAreDeliveredInBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hookOf(t, w.in, webhooks.SignalArrived)
	w.hookOf(t, w.in, webhooks.LoadSwitched)
	begin := time.Unix(1_800_000_000, 0)
	source := &arriving{through: begin}
	for _, seconds := range []int{0, 3, 3, 1203} {
		source.through = begin.Add(time.Duration(seconds) * time.Second)
		var looks sync.WaitGroup
		for range 3 {
			looks.Go(func() {
				d, _ := w.dispatcher()
				d.Signals = source
				if err := d.Look(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		looks.Wait()
	}
	all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind}, 100)
	fatal(t, err)
	seen := map[string]int{}
	var sizes []int
	for _, j := range all {
		var p struct{ Data struct{ IDs []string } }
		fatal(t, json.Unmarshal(j.Payload, &p))
		for _, id := range p.Data.IDs {
			seen[id]++
		}
		sizes = append(sizes, len(p.Data.IDs))
		if j.Lane != uuid.UUID(h.ID) {
			t.Errorf("sent to %s", j.Lane)
		}
	}
	if !slices.Equal(sizes, []int{3, 500, 500, 200}) || len(seen) != 1203 {
		t.Errorf("%v of %d signals", sizes, len(seen))
	}
}

// stuck is a queue of signals that takes as long to read as ctx lives.
type stuck struct{ reading chan struct{} }

func (s stuck) ArrivedThrough(context.Context) (time.Time, error) { return time.Now(), nil }

func (s stuck) Arrived(ctx context.Context, _ workspace.ID, _ queue.Arrivals) ([]queue.Signal, string, error) {
	select {
	case s.reading <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, "", ctx.Err()
}

// Reading the signals of a large load does not delay other events.
func TestSignalsDoNotHoldUpOtherEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := uuid.New()
	w.save(t, w.in, mine)
	signals, changes := w.hookOf(t, w.in, webhooks.SignalArrived), w.hookOf(t, w.in, webhooks.RecordChanged)
	w.exec(t, `UPDATE webhooks SET signals_after = 'epoch' WHERE id = $1`, signals.ID.String())
	d, _ := w.dispatcher()
	fatal(t, d.Look(t.Context())) // it begins
	source := stuck{make(chan struct{}, 1)}
	d.Signals = source
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	defer func() { stop(); <-done }()
	<-source.reading
	w.publish(t, change{record: mine, op: "upsert"})
	for until := time.Now().Add(30 * time.Second); len(w.deliveries(t, changes)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a change of a record waits for signals")
		}
	}
}

// Signals between the creation of a webhook and the first look are delivered, earlier ones
// are not; also when it subscribes to signals later, and when it is enabled again.
func TestSignalsRightAfterTheCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Unix(1_800_000_000, 0)
	arrive := func(seconds int) {
		at = at.Add(time.Duration(seconds) * time.Second)
		w.exec(t, `UPDATE data_feed SET generation = 'g', arrival = $1, arrived = $1`, at)
	}
	arrive(0)
	deliveries := func(h webhooks.Webhook) (n int) {
		t.Helper()
		d, _ := w.dispatcher()
		d.Signals = &arriving{through: at}
		fatal(t, d.Look(t.Context()))
		all, err := w.system.Jobs(t.Context(), postgres.JobFilter{Kind: webhooks.Kind}, 100)
		fatal(t, err)
		for _, j := range all {
			var p struct{ Data struct{ IDs []string } }
			fatal(t, json.Unmarshal(j.Payload, &p))
			n += len(p.Data.IDs)
		}
		w.exec(t, `DELETE FROM jobs`)
		return n
	}
	h := w.hookOf(t, w.in, webhooks.SignalArrived)
	arrive(3)
	if n := deliveries(h); n != 3 {
		t.Errorf("%d signals are delivered after the creation, want 3", n)
	}
	w.exec(t, `UPDATE webhooks SET enabled = false`)
	arrive(5) // while it is disabled
	upsert := func(events ...webhooks.Event) {
		t.Helper()
		_, err := w.hooks.Upsert(t.Context(), w.in, webhooks.Change{ID: h.ID, URL: h.URL, Events: events})
		fatal(t, err)
	}
	upsert(webhooks.SignalArrived)
	arrive(2)
	if n := deliveries(h); n != 2 {
		t.Errorf("%d signals are delivered after it was enabled, want 2", n)
	}
	upsert(webhooks.LoadSwitched)
	arrive(4)
	upsert(webhooks.LoadSwitched, webhooks.SignalArrived)
	arrive(1)
	if n := deliveries(h); n != 1 {
		t.Errorf("%d signals are delivered after it chose them, want 1", n)
	}
}
