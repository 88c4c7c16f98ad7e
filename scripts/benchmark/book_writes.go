package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"atlas/internal/elastic"
	"atlas/mappings"
	engine "atlas/search"
	"atlas/search/document"
	"atlas/search/query"
	"atlas/workspace"
)

// writeTime is how long writes take, in milliseconds.
type writeTime struct {
	P50 threeWays `json:"p50_ms"`
	P99 threeWays `json:"p99_ms"`
	// CPU of one write, of one record or of a batch.
	ServiceCPU cpu `json:"service_cpu_ms"`
	BareCPU    cpu `json:"bare_cpu_ms"`
}

func (w *writeTime) add(service, bare []time.Duration) {
	w.P50.add(milliseconds(quantile(service, 0.5)), milliseconds(quantile(bare, 0.5)))
	w.P99.add(milliseconds(quantile(service, 0.99)), milliseconds(quantile(bare, 0.99)))
}

func meanOf(durations []time.Duration) float64 {
	var sum time.Duration
	for _, d := range durations {
		sum += d
	}
	return milliseconds(sum) / float64(len(durations))
}

// writeBook is how many accounts are in the book that is written to, or all of
// a smaller dataset.
const writeBook = 2_000

// bookWriter writes to one book, and beside it straight to both backends.
type bookWriter struct {
	*running
	ids  []string
	docs map[string][]byte // as the service makes them
	pool *pgxpool.Pool
	next int // counts the writes
}

// measureWrites compares upserts with bare writes: single ones for one half of a
// round, batches for the other. Neither half has anything left to be projected
// from before.
func (b *bookBench) measureWrites(ctx context.Context) error {
	w, err := b.prepareWrites(ctx)
	if err != nil {
		return err
	}
	defer w.pool.Close()
	b.report.WriteBook = len(w.ids)
	if b.report.Postgres, err = w.describePostgres(ctx); err != nil {
		return err
	}
	half := time.Duration(b.Seconds) * time.Second / 2
	say("comparing upserts")
	for round := range b.Rounds + 1 {
		single, bareSingle, err := w.measure(ctx, 1, half)
		if err != nil {
			return err
		}
		batch, bareBatch, err := w.measure(ctx, batchSize, half)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // a warm-up that does not count
		}
		b.report.Single.add(single, bareSingle)
		b.report.Batch.add(batch, bareBatch)
		b.report.PerRecord.add(meanOf(single) * batchSize / meanOf(batch))
		if err := errors.Join(w.measureCPU(ctx, 1, half/4, &b.report.Single), w.measureCPU(ctx, batchSize, half/4, &b.report.Batch)); err != nil {
			return err
		}
		say("upserts, round %d of %d: single %.1f ms, batch %.1f ms", round, b.Rounds, b.report.Single.P50.Service.Rounds[round-1], b.report.Batch.P50.Service.Rounds[round-1])
	}
	return nil
}

// measure writes so many records at once through the service and, by turns,
// the same ones without it.
func (w *bookWriter) measure(ctx context.Context, records int, about time.Duration) (service, bare []time.Duration, err error) {
	var ids, items []string
	took, err := byTurns(about, func(int) (time.Duration, error) {
		ids, items = w.take(records)
		return w.write(ctx, items)
	}, func(int) (time.Duration, error) { return w.bare(ctx, ids, items) })
	if err = errors.Join(err, w.projected(ctx)); err != nil {
		return nil, nil, err
	}
	return took[0], took[1], nil
}

// take returns the records that are written next, and what is written of them.
func (w *bookWriter) take(records int) (ids, items []string) {
	for range records {
		id := w.ids[w.next%len(w.ids)]
		ids, items = append(ids, id), append(items, upsertItem(query.Accounts, id, w.next))
		w.next++
	}
	return ids, items
}

// write upserts one record, or a batch of several.
func (w *bookWriter) write(ctx context.Context, items []string) (time.Duration, error) {
	if len(items) > 1 {
		return w.sendBatch(ctx, bookPath(query.Accounts)+"/upsert/batch", items)
	}
	_, took, err := w.timed(ctx, bookPath(query.Accounts)+"/upsert", items[0], nil)
	return took, err
}

// measureCPU writes so many records at once, again and again, first through the
// service until all of it is projected, then without it.
func (w *bookWriter) measureCPU(ctx context.Context, records int, about time.Duration, into *writeTime) error {
	for _, way := range []struct {
		used  *cpu
		write func(ids, items []string) error
	}{
		{&into.ServiceCPU, func(_, items []string) error { _, err := w.write(ctx, items); return err }},
		{&into.BareCPU, func(ids, items []string) error { _, err := w.bare(ctx, ids, items); return err }},
	} {
		err := w.meter.during(ctx, way.used, func() (n int, err error) {
			for end := time.Now().Add(about); n < fewestTurns || time.Now().Before(end); n++ {
				if err := way.write(w.take(records)); err != nil {
					return n, err
				}
			}
			return n, w.projected(ctx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bareTable is the table that bare writes go to.
const bareTable = "benchmark_bare"

// bareAlias is the alias of bareIndex: bulk writes go to an alias only.
func (w *bookWriter) bareAlias() string { return w.names.Prefix + "bare-accounts" }
func (w *bookWriter) bareIndex() string { return w.bareAlias() + "-1" }

// bare commits the items to a table of its own, then sends their documents to an
// index of its own: one statement and one request.
func (w *bookWriter) bare(ctx context.Context, ids, items []string) (time.Duration, error) {
	rows := make([]json.RawMessage, len(items))
	var batch elastic.Batch
	for i, item := range items {
		rows[i] = json.RawMessage(item)
		batch.Index(ids[i], w.docs[ids[i]])
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := w.pool.Exec(ctx, `
		INSERT INTO `+bareTable+` (account_id, icp_tier, workspace_status, notes, tags, updated_at)
		SELECT account_id, icp_tier, workspace_status, notes, tags, clock_timestamp()
		FROM jsonb_to_recordset($1) AS r(account_id uuid, icp_tier text, workspace_status text, notes text, tags text[])
		ON CONFLICT (account_id) DO UPDATE SET icp_tier = excluded.icp_tier, workspace_status = excluded.workspace_status,
			notes = excluded.notes, tags = excluded.tags, updated_at = excluded.updated_at`, string(list)); err != nil {
		return 0, err
	}
	if len(items) == 1 {
		_, err = w.es.Do(ctx, elastic.Request{Method: http.MethodPut, Path: "/" + w.bareAlias() + "/_doc/" + url.PathEscape(ids[0]), Body: w.docs[ids[0]]})
		return time.Since(began), err
	}
	refused, err := w.es.Bulk(ctx, w.bareAlias(), &batch, elastic.Retry{})
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("elasticsearch refused %d documents: %s", len(refused), refused[0].Reason)
	}
	return time.Since(began), err
}

// prepareWrites puts accounts into a book of a new workspace, builds the
// documents that the service makes of them, and writes them to a table and an
// index without it.
func (b *bookBench) prepareWrites(ctx context.Context) (_ *bookWriter, err error) {
	r, err := b.inNewWorkspace(ctx)
	if err != nil {
		return nil, err
	}
	w := &bookWriter{running: r, docs: map[string][]byte{}}
	if w.ids, err = w.recordIDs(ctx, query.Accounts, writeBook); err != nil {
		return nil, err
	}
	items := make([]string, len(w.ids))
	for i, id := range w.ids {
		items[i] = upsertItem(query.Accounts, id, i)
	}
	w.next = len(w.ids)
	if err := w.sendAll(ctx, bookPath(query.Accounts)+"/upsert/batch", items); err != nil {
		return nil, err
	}
	if err := w.projected(ctx); err != nil {
		return nil, err
	}
	for ids := range slices.Chunk(w.ids, batchSize) {
		if err := w.buildDocuments(ctx, ids); err != nil {
			return nil, err
		}
	}
	body, err := mappings.Held(string(query.Accounts), mappings.Settings{})
	if err != nil {
		return nil, err
	}
	if err := w.es.DeleteIndices(ctx, w.bareIndex()); err != nil { // of an earlier run
		return nil, err
	}
	if err := w.es.CreateIndex(ctx, w.bareIndex(), body); err != nil {
		return nil, err
	}
	if err := w.es.ChangeAliases(ctx, []elastic.AliasChange{{Index: w.bareIndex(), Alias: w.bareAlias()}}); err != nil {
		return nil, err
	}
	if w.pool, err = pgxpool.New(ctx, w.urls.System); err != nil {
		return nil, err
	}
	_, err = w.pool.Exec(ctx, `DROP TABLE IF EXISTS `+bareTable+`; CREATE TABLE `+bareTable+` (
		account_id uuid PRIMARY KEY, icp_tier text, workspace_status text, notes text, tags text[] NOT NULL, updated_at timestamptz NOT NULL)`)
	for i := 0; err == nil && i < len(items); i += batchSize {
		to := min(i+batchSize, len(items))
		_, err = w.bare(ctx, w.ids[i:to], items[i:to])
	}
	if err == nil {
		err = w.settle(ctx)
	}
	if err != nil {
		w.pool.Close()
		return nil, err
	}
	return w, nil
}

// buildDocuments builds the held documents of accounts, with an overlay like the
// ones that are written.
func (w *bookWriter) buildDocuments(ctx context.Context, ids []string) error {
	global := &engine.Engine{Elastic: w.es, Names: w.names, Timeout: engine.DefaultTimeout}
	public, err := global.Lookup(ctx, query.Accounts, ids)
	if err != nil {
		return err
	}
	children, err := global.Children(ctx, query.Accounts, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		record, err := document.FromPublic(query.Accounts, public[id])
		if err != nil {
			return err
		}
		// No workspace's id, but as long as one.
		held := document.Held{Workspace: ids[0], Overlay: &workspace.Overlay{Score: 50, UpdatedAt: time.Now(), Values: workspace.Values{
			"icp_tier": query.ICPTiers.Values()[0], "workspace_status": bookStatuses[i%len(bookStatuses)],
			"notes": bookNotes[i%len(bookNotes)], "tags": bookTags[:2],
		}}}
		w.docs[id] = document.WithVersion(document.BuildHeld(record, children[id], held), 1)
	}
	return nil
}

// describePostgres tells its version and what a commit waits for.
func (w *bookWriter) describePostgres(ctx context.Context) (string, error) {
	var version, fsync, synchronous string
	err := w.pool.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&version, &fsync, &synchronous)
	return fmt.Sprintf("Postgres %s, fsync %s, synchronous_commit %s", version, fsync, synchronous), err
}
