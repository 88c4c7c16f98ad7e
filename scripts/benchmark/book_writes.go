package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/jackc/pgx/v5"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/scripts/benchmark/load"
	engine "atlas/search"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/workspace/book"
)

// writeTime is how long writes take, in milliseconds.
type writeTime struct {
	P50 threeWays `json:"p50_ms"`
	P99 threeWays `json:"p99_ms"`
	// CPU of one write, of one record or of a batch.
	ServiceCPU cpu `json:"service_cpu_ms"`
	BareCPU    cpu `json:"bare_cpu_ms"`
}

// writeBook is the number of accounts in the book that the benchmark writes to. A
// smaller dataset is used whole.
const writeBook = 2_000

// bookWriter writes to one book, and for comparison straight to both backends.
type bookWriter struct {
	*serving
	es   *elastic.Client
	db   *pgx.Conn
	ids  []string
	docs map[string][]byte // as the service builds them
	next int               // counts the writes
}

// measureWrites compares upserts with bare writes: single upserts in one half of
// each round, batches in the other. Each half begins when nothing is pending.
func (r *bookReport) measureWrites(s *serving, rounds, seconds int) {
	w := s.newBookWriter()
	r.WriteBook = len(w.ids)
	var version, fsync, synchronous string
	check(w.db.QueryRow(w.ctx, `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&version, &fsync, &synchronous))
	r.Postgres = fmt.Sprintf("Postgres %s, fsync %s, synchronous_commit %s", version, fsync, synchronous)
	half := time.Duration(seconds) * time.Second / 2
	say("comparing upserts")
	for round := range rounds + 1 { // the first one is a warm-up
		single, batch := w.measure(1, half, &r.Single, round == 0), w.measure(batchSize, half, &r.Batch, round == 0)
		if round == 0 {
			continue
		}
		r.PerRecord.Add(single * batchSize / batch)
		w.measureCPU(1, half/4, &r.Single)
		w.measureCPU(batchSize, half/4, &r.Batch)
		say(
			"upserts, round %d of %d: single %.1f ms, batch %.1f ms", round, rounds,
			r.Single.P50.Service.Rounds[round-1], r.Batch.P50.Service.Rounds[round-1],
		)
	}
}

// measure writes batches of this many records, alternately through the service and
// without it. It returns the mean time through the service.
func (w *bookWriter) measure(records int, about time.Duration, into *writeTime, warmUp bool) (mean float64) {
	var ids, items []string
	took := must(load.Turns(about, func(int) (time.Duration, error) {
		ids, items = w.take(records)
		return w.write(items), nil
	}, func(int) (time.Duration, error) { return w.bare(ids, items), nil }))
	w.projected()
	if !warmUp {
		into.P50.add(took[0].Percentile(50), took[1].Percentile(50))
		into.P99.add(took[0].Percentile(99), took[1].Percentile(99))
	}
	return took[0].Mean()
}

// take returns the next records to write, and their upserts.
func (w *bookWriter) take(records int) (ids, items []string) {
	for range records {
		id := w.ids[w.next%len(w.ids)]
		ids, items = append(ids, id), append(items, upsertItem(catalog.Accounts, id, w.next))
		w.next++
	}
	return ids, items
}

// write upserts one record, or a batch of several.
func (w *bookWriter) write(items []string) time.Duration {
	if len(items) > 1 {
		return must(w.sendBatch(w.ctx, bookPath(catalog.Accounts)+"/upsert/batch", items))
	}
	_, took := w.timed(bookPath(catalog.Accounts)+"/upsert", items[0], nil)
	return took
}

// measureCPU repeatedly writes batches of this many records, first through the
// service until everything is projected, then without it.
func (w *bookWriter) measureCPU(records int, about time.Duration, into *writeTime) {
	repeat := func(used *cpu, write func(ids, items []string)) {
		w.meter.during(used, func() (n int) {
			for end := time.Now().Add(about); n < load.FewestTurns || time.Now().Before(end); n++ {
				write(w.take(records))
			}
			w.projected()
			return n
		})
	}
	repeat(&into.ServiceCPU, func(_, items []string) { w.write(items) })
	repeat(&into.BareCPU, func(ids, items []string) { w.bare(ids, items) })
}

// The table and the index alias of bare writes. Bulk writes require an alias.
const (
	bareTable = "benchmark_bare"
	bareAlias = "benchmark-bare-accounts"
)

// bare commits the items to a separate table with one statement, then sends their
// documents to a separate index with one request.
func (w *bookWriter) bare(ids, items []string) time.Duration {
	rows := make([]json.RawMessage, len(items))
	var batch elastic.Batch
	for i, item := range items {
		rows[i] = json.RawMessage(item)
		batch.Index(ids[i], w.docs[ids[i]])
	}
	list := must(json.Marshal(rows))
	began := time.Now()
	must(w.db.Exec(w.ctx, `
		INSERT INTO `+bareTable+` (account_id, icp_tier, workspace_status, notes, tags, updated_at)
		SELECT account_id, icp_tier, workspace_status, notes, tags, clock_timestamp()
		FROM jsonb_to_recordset($1) AS r(account_id uuid, icp_tier text, workspace_status text, notes text, tags text[])
		ON CONFLICT (account_id) DO UPDATE SET icp_tier = excluded.icp_tier, workspace_status = excluded.workspace_status,
			notes = excluded.notes, tags = excluded.tags, updated_at = excluded.updated_at`, string(list)))
	if len(items) == 1 {
		must(w.es.Do(w.ctx, esapi.IndexRequest{Index: bareAlias, DocumentID: ids[0], Body: bytes.NewReader(w.docs[ids[0]])}))
	} else if refused := must(w.es.Bulk(w.ctx, bareAlias, &batch, elastic.Retry{})); len(refused) > 0 {
		failf("elasticsearch refused %d documents: %s", len(refused), refused[0].Reason)
	}
	return time.Since(began)
}

// newBookWriter adds accounts to the book of a new workspace, builds the same
// documents as the service, and writes them directly to a table and an index.
func (s *serving) newBookWriter() *bookWriter {
	w := &bookWriter{serving: s.inNewWorkspace(), docs: map[string][]byte{}}
	w.es = must(elastic.New(elastic.Config{Addresses: w.Elasticsearch}))
	w.ids = w.recordIDs(catalog.Accounts, writeBook)
	_, items := w.take(len(w.ids))
	w.sendAll(bookPath(catalog.Accounts)+"/upsert/batch", items)
	for ids := range slices.Chunk(w.ids, batchSize) {
		w.buildDocuments(ids)
	}
	const index = bareAlias + "-1"
	check(w.es.DeleteIndices(w.ctx, index)) // of an earlier run
	check(w.es.CreateIndex(w.ctx, index, must(mappings.Held(string(catalog.Accounts), mappings.Settings{}))))
	check(w.es.ChangeAliases(w.ctx, []elastic.AliasChange{{Index: index, Alias: bareAlias}}))
	w.db = must(pgx.Connect(w.ctx, w.Postgres))
	w.Cleanup(func() { _ = w.db.Close(w.ctx) })
	must(w.db.Exec(w.ctx, `DROP TABLE IF EXISTS `+bareTable+`; CREATE TABLE `+bareTable+` (
		account_id uuid PRIMARY KEY, icp_tier text, workspace_status text, notes text, tags text[] NOT NULL, updated_at timestamptz NOT NULL)`))
	for i := 0; i < len(items); i += batchSize {
		to := min(i+batchSize, len(items))
		w.bare(w.ids[i:to], items[i:to])
	}
	w.settle()
	return w
}

// buildDocuments builds the held documents of accounts, with an overlay like those
// that the benchmark writes.
func (w *bookWriter) buildDocuments(ids []string) {
	global := &engine.Engine{Elastic: w.es, Names: mappings.Names{Prefix: indexPrefix}, Timeout: engine.DefaultTimeout}
	public := must(global.Lookup(w.ctx, catalog.Accounts, ids))
	children := must(global.Children(w.ctx, catalog.Accounts, ids))
	for i, id := range ids {
		record := must(document.FromPublic(catalog.Accounts, public[id]))
		// This is not the id of a workspace, but has the same length.
		held := document.Held{Workspace: ids[0], Overlay: &book.Overlay{Score: 50, UpdatedAt: time.Now(), Values: book.Values{
			"icp_tier": catalog.ICPTiers.Values()[0], "workspace_status": bookStatuses[i%len(bookStatuses)],
			"notes": bookNotes[i%len(bookNotes)], "tags": bookTags[:2],
		}}}
		w.docs[id] = document.WithVersion(document.BuildHeld(record, children[id], held), 1)
	}
}
