package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/procfs"

	"atlas/indexer/ndjson"
	"atlas/internal/devstack"
	"atlas/mappings"
	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/mix"
	"atlas/scripts/benchmark/peers"
	"atlas/scripts/benchmark/report"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
	"atlas/search/query"
)

// peersCmd compares Atlas with what users would pick instead.
type peersCmd struct {
	place
	Records int64  `default:"200000" help:"Records of the dataset, 30000 to 100000000; from 520000 on there is a row 200,000 (default: 200000)."`
	Seed    uint64 `default:"1" help:"Seed of the dataset and of the questions (default: 1)."`
	Seconds int    `default:"1" help:"About how long a round takes for each task and peer, in seconds (default: 1)."`
	Rounds  int    `default:"5" help:"How often each is repeated, by turns; a result to be kept has at least 5 (default: 5)."`
	report.Output
}

// Validate implements kong's interface.
func (c *peersCmd) Validate() error {
	return errors.Join(
		within("records", 30_000, 100_000_000, c.Records), within("seconds", 1, 3600, c.Seconds),
		within("rounds", 1, 100, c.Rounds),
	)
}

// Run measures and prints.
func (c *peersCmd) Run(ctx context.Context) error {
	if err := c.Check("peers"); err != nil {
		return err
	}
	return try(ctx, func(r *run) { c.on(install(r, c.place, c.Records, c.Seed)) })
}

// The peers in the order of the tables.
const (
	atlasPeer = iota
	postgresPeer
	elasticsearchPeer
	searchkitPeer
	peerCount
)

var peerNames = [peerCount]string{"Atlas", "Postgres", "Elasticsearch by hand", "Searchkit"}

// peersReport is the result. Its lists of peers are in the order of peerNames.
type peersReport struct {
	heading
	Postgres string `json:"postgres"`
	Rounds   int    `json:"rounds"`
	// WithoutSearchkit says why it was not measured.
	WithoutSearchkit string          `json:"without_searchkit,omitempty"`
	Tasks            []*peersTask    `json:"tasks"`
	Fills            [peerCount]fill `json:"fills"`
	RecordBytes      int64           `json:"record_bytes"`
	// WideAccounts is how many accounts have more projects than Atlas stores in their documents.
	WideAccounts int `json:"wide_accounts"`
}

// fill is the cost of storing the records; Searchkit uses those of Elasticsearch.
type fill struct {
	// First is how long the first load took, in seconds, after the peer's backend had
	// started. Seconds are those of further ones, the peers by turns.
	First   float64       `json:"first_load_seconds"`
	Seconds report.Spread `json:"load_seconds"`
	Bytes   int64         `json:"bytes"`
}

// fills is how often each peer is loaded after the first time.
const fills = 3

// peersTask has the costs of one task.
type peersTask struct {
	Name      string              `json:"name"`
	Questions int                 `json:"questions"`
	Peers     [peerCount]peerCost `json:"peers"`
	// SameTotals counts the questions for which the peer finds as many records as
	// Atlas.
	SameTotals [peerCount]int `json:"same_totals"`

	asked [peerCount][]*asked
}

// peerCost is that of a request; latencies over one connection by turns, the others
// at saturation. A peer that cannot do the task has no rounds.
type peerCost struct {
	P50       report.Spread `json:"p50_ms"`
	P99       report.Spread `json:"p99_ms"`
	PerSecond report.Spread `json:"requests_per_second"`
	CPU       report.Spread `json:"cpu_ms_per_request"`

	perSecond float64 // in the warm-up
}

// asked is a question in the form of a peer, with its first answer.
type asked struct {
	peers.Call
	size int
	sum  uint32
}

// do sends the question again; the answer must be the first one.
func (a *asked) do(ctx context.Context, buf []byte) ([]byte, error) {
	buf, err := a.Send(ctx, buf)
	if size, sum := load.Fingerprint(buf); err == nil && (size != a.size || sum != a.sum) {
		err = fmt.Errorf("another answer than before, %d bytes instead of %d: %.300s", size, a.size, buf)
	}
	return buf, err
}

// peersBench is one run.
type peersBench struct {
	*serving
	elasticsearch *peers.Elasticsearch
	postgres      peers.Postgres
	searchkit     *peers.Searchkit // nil if it was not to be had
	report        peersReport
}

// on runs the benchmark on an installation and prints the result.
func (c *peersCmd) on(i *installation) {
	b := &peersBench{}
	b.elasticsearch = &peers.Elasticsearch{
		URL: must(url.Parse(i.Elasticsearch[0])), Client: load.NewClient(connections), Prefix: "bench-peer-",
	}
	kept, err := os.ReadFile(fillsFile(i))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		check(err)
	}
	b.postgres = tunedPostgres(i, err != nil)
	b.report = peersReport{heading: i.heading(), Rounds: c.Rounds}
	check(b.postgres.QueryRow(i.ctx, `SHOW server_version`).Scan(&b.report.Postgres))
	if err == nil {
		check(json.Unmarshal(kept, &b.report.Fills))
	} else {
		b.fill(i)
	}
	for _, d := range catalog.Datasets {
		b.report.RecordBytes += must(os.Stat(must(ndjson.Find(i.records(), string(d))))).Size()
	}
	if b.searchkit, err = peers.StartSearchkit(i.ctx, b.elasticsearch, load.NewClient(connections)); err != nil {
		say("without Searchkit: %v", err)
		b.report.WithoutSearchkit = err.Error()
	} else {
		defer func() { check(b.searchkit.Stop()) }()
	}
	i.serving(i.newKey(), func(s *serving) {
		b.serving = s
		b.prepare(c.Seed)
		b.measure(float64(c.Seconds), c.Rounds)
	})
	check(c.Emit("peers", b.report))
}

// peersDatabase is the database beside that of Atlas.
const peersDatabase = "peers"

// tunedPostgres restarts Postgres with the peer's settings, and connects to its
// database, which it creates if it is to be fresh.
func tunedPostgres(i *installation, fresh bool) peers.Postgres {
	admin := must(pgx.Connect(i.ctx, i.Postgres))
	for _, s := range peers.PostgresSettings {
		must(admin.Exec(i.ctx, "ALTER SYSTEM SET "+s))
	}
	check(admin.Close(i.ctx))
	i.Halt(devstack.Postgres)
	i.Resume(devstack.Postgres)
	return peers.Postgres{Pool: peersPool(i, fresh)}
}

// peersPool connects to the database of the peers, which it creates if it is to be fresh.
func peersPool(i *installation, fresh bool) *pgxpool.Pool {
	if fresh {
		admin := must(pgx.Connect(i.ctx, i.Postgres))
		must(admin.Exec(i.ctx, "DROP DATABASE IF EXISTS "+peersDatabase))
		must(admin.Exec(i.ctx, "CREATE DATABASE "+peersDatabase))
		check(admin.Close(i.ctx))
	}
	address := must(url.Parse(i.Postgres))
	address.Path = "/" + peersDatabase
	config := must(pgxpool.ParseConfig(address.String()))
	config.MaxConns = connections
	pool := must(pgxpool.NewWithConfig(i.ctx, config))
	i.Cleanup(pool.Close)
	return pool
}

// fillsFile stores the cost of loading, beside the data.
func fillsFile(i *installation) string { return filepath.Join(i.Dir, "peers.json") }

// fill loads the records into the peers, and measures that. The first load of each, of
// which Atlas's was before, is into servers that have compiled and cached nothing.
func (b *peersBench) fill(i *installation) {
	loads := [...]func() error{
		atlasPeer:         func() error { i.load(); return nil },
		postgresPeer:      func() error { return b.postgres.Load(i.ctx, i.records()) },
		elasticsearchPeer: func() error { return b.elasticsearch.Load(i.ctx, i.records()) },
	}
	took := func(peer int) float64 {
		began := time.Now()
		check(loads[peer]())
		seconds := time.Since(began).Seconds()
		say("loaded into %s in %.1f s", peerNames[peer], seconds)
		i.settle() // the next one does not share the machine with merges
		return seconds
	}
	of := &b.report.Fills
	of[atlasPeer].First = i.loaded.Seconds()
	for _, peer := range []int{elasticsearchPeer, postgresPeer} {
		of[peer].First = took(peer)
	}
	for range fills {
		for peer := range loads {
			of[peer].Seconds.Add(took(peer))
		}
	}
	var served []string // without the generation before
	for _, d := range catalog.Datasets {
		served = append(served, mappings.Names{Prefix: indexPrefix}.Alias(string(d)))
	}
	of[atlasPeer].Bytes = must(b.elasticsearch.Bytes(i.ctx, strings.Join(served, ",")))
	of[elasticsearchPeer].Bytes = must(b.elasticsearch.Bytes(i.ctx, b.elasticsearch.Prefix+"*"))
	of[postgresPeer].Bytes = must(b.postgres.Bytes(i.ctx))
	check(os.WriteFile(fillsFile(i), must(json.Marshal(of)), 0o600))
}

// The rows of deep pages; the deeper one is nearer where there are fewer signals.
const (
	deepRow   = 9_000
	deeperRow = 200_000
)

// questionsATask is how many different ones there are; pages differ less.
const (
	questionsATask = 40
	pagesATask     = 8
)

// prepare makes the requests of all tasks, and compares the answers of the peers.
func (b *peersBench) prepare(seed uint64) {
	counts := b.dataset.Records
	from := must(peers.ReadProjects(b.records(), counts.Projects, 2_000))
	check(
		b.postgres.QueryRow(b.ctx, `SELECT count(*) FROM (SELECT FROM accounts_projects GROUP BY parent HAVING count(*) > $1) wide`, catalog.MaxChildren).
			Scan(&b.report.WideAccounts),
	)
	far := min(deeperRow, int(counts.Signals)/peers.PageSize*peers.PageSize-peers.PageSize)
	for _, task := range []peers.Task{peers.Text, peers.Filter, peers.Related} {
		b.task(string(task)+", page 1", peers.Draw(task, from, questionsATask, seed))
	}
	b.task(fmt.Sprintf("row %s by offset", report.Number(deepRow)), peers.Pages(peers.Offset, deepRow, pagesATask))
	b.task(fmt.Sprintf("row %s by offset", report.Number(far)), peers.Pages(peers.Offset, far, pagesATask))
	b.task(fmt.Sprintf("row %s by cursor", report.Number(far)), peers.Pages(peers.Cursor, far, pagesATask))
	b.task(string(peers.Facets), peers.Draw(peers.Facets, from, questionsATask, seed))
}

// task adds a task.
func (b *peersBench) task(name string, questions []peers.Question) {
	t := &peersTask{Name: name, Questions: len(questions)}
	b.report.Tasks = append(b.report.Tasks, t)
	calls := [peerCount]func(context.Context, peers.Question) (peers.Call, error){
		b.atlasCalls(questions), b.postgres.Call, b.elasticsearch.Call, nil,
	}
	if b.searchkit != nil {
		calls[searchkitPeer] = b.searchkit.Call
	}
	for _, q := range questions {
		var answers [peerCount]*peers.Answer
		for peer, call := range calls {
			if call == nil {
				continue
			}
			c, err := call(b.ctx, q)
			if errors.Is(err, peers.ErrCannot) {
				continue
			}
			check(err)
			raw := must(c.Send(b.ctx, nil))
			a := &asked{Call: c}
			a.size, a.sum = load.Fingerprint(raw)
			answer := must(c.Read(raw))
			t.asked[peer], answers[peer] = append(t.asked[peer], a), &answer
		}
		check(b.agree(q, answers))
		for peer, a := range answers {
			if a != nil && answers[atlasPeer] != nil && a.Total == answers[atlasPeer].Total {
				t.SameTotals[peer]++
			}
		}
	}
	say("%s: %d questions, %d of them with Atlas, %d Postgres, %d Elasticsearch by hand, %d Searchkit", name, len(questions),
		len(t.asked[atlasPeer]), len(t.asked[postgresPeer]), len(t.asked[elasticsearchPeer]), len(t.asked[searchkitPeer]))
}

// agree returns an error unless the peers agree where they mean the same. Words mean the same
// to none (SameTotals shows how often they find the same). Names of Elasticsearch by hand are
// not folded, so their order differs. Atlas may miss accounts that have more projects than a
// document stores.
func (b *peersBench) agree(q peers.Question, answers [peerCount]*peers.Answer) error {
	if q.Task == peers.Text {
		return nil
	}
	reference := answers[postgresPeer]
	for peer, a := range answers {
		if a == nil {
			continue
		}
		missed := reference.Total - a.Total
		if q.Task == peers.Related && peer == atlasPeer && missed > 0 && missed <= b.report.WideAccounts {
			continue
		}
		// Facets have no page, so Postgres counts no matches for them.
		if q.Task != peers.Facets && missed != 0 {
			return fmt.Errorf("%+v: %s finds %d, Postgres %d", q, peerNames[peer], a.Total, reference.Total)
		}
		if q.Task != peers.Related && !slices.Equal(a.IDs, reference.IDs) {
			return fmt.Errorf("%+v: %s answers %v, Postgres %v", q, peerNames[peer], a.IDs, reference.IDs)
		}
		if !maps.EqualFunc(a.Facets, reference.Facets, maps.Equal) {
			return fmt.Errorf("%+v: %s counts %v, Postgres %v", q, peerNames[peer], a.Facets, reference.Facets)
		}
	}
	return nil
}

// byOccurred is the order of the pages of signals.
var byOccurred = order{catalog.Signals, "occurred_at", true}

// atlasCalls returns the function that makes Atlas's calls. It walks to the pages by
// cursor first, because each cursor comes from the page before.
func (b *peersBench) atlasCalls(questions []peers.Question) func(context.Context, peers.Question) (peers.Call, error) {
	walked := map[int]*load.Request{}
	if questions[0].Task == peers.Cursor {
		var pages []int
		for _, q := range questions {
			pages = append(pages, q.Row/peers.PageSize+1)
		}
		requests, _ := b.walk(byOccurred, pages, peers.PageSize)
		for i, q := range questions {
			walked[q.Row] = requests[i]
		}
	}
	return func(_ context.Context, q peers.Question) (peers.Call, error) {
		r := walked[q.Row]
		if r == nil {
			d, body := atlasBody(q)
			if body == nil {
				return peers.Call{}, peers.ErrCannot
			}
			r = request(b.server, b.key, mix.Search{Dataset: d}.Path(), string(must(json.Marshal(body))))
		}
		return peers.Call{
			Send: func(ctx context.Context, buf []byte) ([]byte, error) { return b.client.Do(ctx, r, buf) },
			Read: readAtlas,
		}, nil
	}
}

// atlasBody returns the body of a question, nil if Atlas cannot answer it.
func atlasBody(q peers.Question) (catalog.Dataset, map[string]any) {
	like := map[string]any{
		"stage": map[string]any{"value": q.Stage}, "primary_use": map[string]any{"value": q.PrimaryUse},
		"cost": map[string]any{"value": []any{q.MinCost, nil}},
	}
	body := map[string]any{"limit": peers.PageSize}
	switch {
	case q.Task == peers.Text:
		body["query"] = q.Words
		return catalog.Projects, body
	case q.Task == peers.Filter:
		body["filters"], body["sort"] = like, map[string]any{"field": "cost", "order": "desc"}
		return catalog.Projects, body
	case q.Task == peers.Related:
		body["relations"] = map[string]any{"has_project": like}
		return catalog.Accounts, body
	case q.Task == peers.Offset && q.Row <= query.MaxOffset:
		body["offset"], body["sort"] = q.Row, map[string]any{"field": byOccurred.field, "order": byOccurred.direction()}
		return byOccurred.dataset, body
	}
	return "", nil
}

func readAtlas(raw []byte) (peers.Answer, error) {
	var p page
	err := json.Unmarshal(raw, &p)
	return peers.Answer{Total: rig.Answer{Raw: raw}.Metadata().Total, IDs: p.Data}, err
}

// measure measures all tasks in each round, after an uncounted warm-up.
func (b *peersBench) measure(seconds float64, rounds int) {
	say("warming up")
	for _, t := range b.report.Tasks {
		for peer := range t.Peers {
			if len(t.asked[peer]) == 0 {
				continue
			}
			n := 2 * len(t.asked[peer])
			for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
				t.Peers[peer].perSecond = t.closed(b.ctx, peer, n).PerSecond()
			}
		}
	}
	cpus := b.cpus()
	for round := range rounds {
		for _, t := range b.report.Tasks {
			t.latencies(b.ctx, seconds)
			for peer := range t.Peers {
				if len(t.asked[peer]) > 0 {
					t.saturate(b.ctx, peer, seconds, cpus[peer])
				}
			}
		}
		say("round %d of %d", round+1, rounds)
	}
}

// cpus are the functions that read the CPU time of each peer's processes, in
// seconds.
func (b *peersBench) cpus() (of [peerCount]func() float64) {
	sum := func(all ...func() float64) func() float64 {
		return func() (sum float64) {
			for _, read := range all {
				sum += read()
			}
			return sum
		}
	}
	elasticsearch, postgres := b.meter[0], b.meter[2]
	if postgres == nil {
		failf("the CPU time of Postgres in a container cannot be measured")
	}
	of = [peerCount]func() float64{sum(b.meter[:4]...), postgres, elasticsearch, nil}
	if b.searchkit != nil {
		of[searchkitPeer] = sum(elasticsearch, func() float64 { return must(must(procfs.NewProc(b.searchkit.PID())).Stat()).CPUTime() })
	}
	return of
}

// latencies sends questions over one connection, to each peer in turn.
func (t *peersTask) latencies(ctx context.Context, seconds float64) {
	var turns []func(int) (time.Duration, error)
	var of []*peerCost
	for peer, asked := range t.asked {
		if len(asked) == 0 {
			continue
		}
		var buf []byte
		of = append(of, &t.Peers[peer])
		turns = append(turns, func(turn int) (_ time.Duration, err error) {
			began := time.Now()
			buf, err = asked[turn%len(asked)].do(ctx, buf)
			return time.Since(began), err
		})
	}
	for i, took := range must(load.Turns(time.Duration(seconds*float64(time.Second)), turns...)) {
		of[i].P50.Add(took.Percentile(50))
		of[i].P99.Add(took.Percentile(99))
	}
}

// saturate sends as many questions as the peer answers in about this many seconds.
func (t *peersTask) saturate(ctx context.Context, peer int, seconds float64, cpu func() float64) {
	cost, n := &t.Peers[peer], len(t.asked[peer])
	total := n * max(1, int(cost.perSecond*seconds/float64(n)))
	before, began := cpu(), time.Now()
	result := t.closed(ctx, peer, total)
	time.Sleep(elasticsearchLooks - time.Since(began))
	cost.CPU.Add((cpu() - before) * 1e3 / float64(total))
	cost.PerSecond.Add(result.PerSecond())
}

func (t *peersTask) closed(ctx context.Context, peer, total int) load.Result {
	all := t.asked[peer]
	return must(load.Closed(ctx, connections, total, func() func(context.Context, int) error {
		var buf []byte
		return func(ctx context.Context, i int) (err error) {
			buf, err = all[i%len(all)].do(ctx, buf)
			return err
		}
	}))
}
