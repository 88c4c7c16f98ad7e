package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/projection"
	"atlas/workspace/records"
)

// world is the state of one run.
type world struct {
	*scheduler
	db      *database
	cluster *cluster
	names   mappings.Names
	// skew is the offset of the clock of Postgres.
	skew time.Duration

	workspaces []workspace.ID
	records    []uuid.UUID // of each dataset
	views      []uuid.UUID // of each workspace; View n holds records of dataset n modulo 3
	servers    []*server
	rounds     int
	faultsOn   bool
	// killed are the processes that faults killed in this round. shares are the shares of their
	// rounds at which faults killed processes, by name, in all rounds.
	killed []kill
	shares map[string][]float64
	// poison is the workspace whose rows cannot be read, nil for none.
	poison atomic.Pointer[workspace.ID]

	commits atomic.Int64
	states  map[key][]state
	// flickered has the global records that were ever deleted.
	flickered         map[uuid.UUID]bool
	globalGenerations int          // generations of the global dataset
	revisions         int          // of its records
	lastStatus        atomic.Int64 // the last one that was written
	// answered and refused count the searches of clients.
	answered, refused atomic.Int64
	// busy counts the clients that have not ended.
	busy atomic.Int64

	lock       sync.Mutex
	violations []string
}

// kill is the end of a process by a fault.
type kill struct {
	process string
	at      time.Duration
}

func newWorld(seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 0x61746c6173)) // #nosec G404 -- a seed must repeat
	w := &world{
		shares: map[string][]float64{},
		scheduler: &scheduler{
			bus: &bus{
				wake:         make(chan struct{}, 1),
				fingerprints: map[string]uint64{},
			},
			random:       random,
			plan:         newPlan(random),
			began:        time.Now(),
			pendingCalls: map[*call]bool{},
			history:      history{lock: new(sync.Mutex)},
		},
		states: map[key][]state{}, flickered: map[uuid.UUID]bool{},
	}
	w.db = newDatabase(func() time.Time { return time.Now().Add(w.skew) })
	w.db.bumpPage, w.db.onCommit = w.plan.bumpPage, w.recordCommit
	w.cluster = newCluster(time.Now, func() time.Duration { return upTo(random, RefreshWithin) })
	w.cluster.onWrite = w.checkDigest
	for n := range w.plan.workspaces {
		w.workspaces = append(w.workspaces, workspace.ID{15: byte(0xa0 + n)})
	}
	for n := range w.plan.records {
		w.records = append(w.records, uuid.UUID{6: 0x40, 8: 0x80, 15: byte(1 + n)})
	}
	for n := range w.plan.views {
		view := uuid.UUID{6: 0x40, 8: 0x80, 15: byte(0xe0 + n)}
		w.views = append(w.views, view)
		for _, in := range w.workspaces {
			w.db.views[viewKey{in, view}] = viewDataset(n)
		}
	}
	w.switchGlobal(nil)
	for n := range w.plan.servers {
		w.servers = append(w.servers, &server{world: w, name: fmt.Sprintf("s%d", n+1)})
	}
	return w
}

// maxViolations limits the stored violations of a run.
const maxViolations = 20

// violation records a violation.
func (w *world) violation(format string, args ...any) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.violations) < maxViolations {
		w.violations = append(w.violations, fmt.Sprintf(format, args...))
	}
}

// server is an instance of atlas serve or of a command, which may be killed and
// restarted.
type server struct {
	world   *world
	name    string
	current atomic.Pointer[process]
}

// process is one process of a server, from start to stop.
type process struct {
	link      *link
	rows      *rows
	global    *global
	records   *records.Records
	projector *projection.Projector
	end       context.CancelFunc
	ended     sync.WaitGroup
}

// start starts a process; with sweep it is atlas serve.
func (s *server) start(sweep bool) *process {
	w := s.world
	l := &link{bus: w.bus, name: s.name}
	client, err := elastic.New(elastic.Config{
		Addresses: []string{"http://model:9200"},
		Transport: &transport{link: l, cluster: w.cluster, name: w.indexName},
		// A function of the time only: goroutines that wake up at the same time have no
		// order.
		Jitter: func(most time.Duration) time.Duration {
			h := fnv.New64a()
			fmt.Fprint(h, s.name, w.now())
			return 1 + time.Duration(h.Sum64()%uint64(most)) // #nosec G115 -- most is positive
		},
	})
	if err != nil {
		panic(err) // the configuration is right
	}
	ctx, cancel := context.WithCancel(context.Background())
	model := postgresModel{l, w.db}
	p := &process{link: l, rows: &rows{model, w.isPoisoned}, global: &global{l, w.cluster, w.names}, end: cancel}
	p.projector = &projection.Projector{
		Rows: p.rows, System: &system{model}, Global: p.global, Elastic: client, Names: w.names,
		Page: w.plan.page, Lease: w.plan.lease,
	}
	p.records = &records.Records{Searcher: &searcher{l, w.cluster, w.names, w}, Freshness: p.projector, Overlays: p.rows, Views: p.rows}
	if sweep {
		p.ended.Go(func() { p.projector.Sweep(ctx) })
	}
	s.current.Store(p)
	w.history.add(w.now(), s.name, "starts", "")
	return p
}

// startIfStopped starts atlas serve unless it runs.
func (s *server) startIfStopped() {
	if s.current.Load() == nil {
		s.start(true)
	}
}

// running is the process of a command, a new one if the last was killed.
func (s *server) running() *process {
	if p := s.current.Load(); p != nil {
		return p
	}
	return s.start(false)
}

func (w *world) startServers() {
	for _, s := range w.servers {
		s.startIfStopped()
	}
}

func (w *world) stopServers() {
	for _, s := range w.servers {
		s.stop()
	}
}

// stop kills the process as kill -9 does.
func (s *server) stop() {
	p := s.current.Swap(nil)
	if p == nil {
		return
	}
	s.world.history.add(s.world.now(), s.name, "is killed", "")
	if s.world.faultsOn {
		s.world.killed = append(s.world.killed, kill{s.name, s.world.now()})
	}
	s.world.kill(p.link)
	p.end()
	p.ended.Go(p.projector.Close)
}

// isPoisoned reports whether a workspace's rows cannot be read.
func (w *world) isPoisoned(in workspace.ID) bool {
	poisoned := w.poison.Load()
	return poisoned != nil && *poisoned == in
}

// indexName is the name of an index without its random part.
func (w *world) indexName(name string) string {
	for _, d := range catalog.Held {
		held := w.names.Held(string(d))
		if len(name) > len(held)+16 && name[:len(held)+1] == held+"-" {
			return name[:len(held)+1+16]
		}
	}
	return name
}

// switchGlobal creates a new generation of all global records and switches searches to
// it. change maps each record of the previous generation.
func (w *world) switchGlobal(change func(d catalog.Dataset, id uuid.UUID, r globalRecord) globalRecord) {
	w.globalGenerations++
	for _, d := range catalog.Held {
		alias := w.names.Alias(string(d))
		name := w.names.Generation(string(d), fmt.Sprint(w.globalGenerations))
		before := w.cluster.indicesOf(alias)
		if err := w.cluster.create(name, []string{alias}); err != nil {
			panic(err) // it has a name of its own
		}
		records := map[string]globalRecord{}
		for _, id := range w.records {
			r := globalRecord{}
			if len(before) > 0 {
				var there bool
				if r, there = before[0].global[id.String()]; !there {
					continue
				}
			}
			if change != nil {
				r = change(d, id, r)
			}
			records[id.String()] = r
		}
		w.cluster.indices[name].global = records
		for _, old := range before {
			w.cluster.delete(old.name)
		}
	}
}

// setGlobal changes a global record in the served generation; nil deletes it.
func (w *world) setGlobal(d catalog.Dataset, id uuid.UUID, to *globalRecord) {
	serving := w.cluster.indicesOf(w.names.Alias(string(d)))[0]
	if to == nil {
		delete(serving.global, id.String())
		w.flickered[id] = true
		return
	}
	serving.global[id.String()] = *to
}
