package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/cmd/internal/server"
	"atlas/indexer"
	"atlas/indexer/feed"
	"atlas/indexer/generate"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/mcp"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

// dataset is the global data of all tests in this package, which only read it.
type dataset struct {
	prefix string
	err    error
}

const datasetRecords = 4_000

var loadOnce sync.Once
var shared dataset

// globalData loads a generated dataset once per test process. The names of its indices
// let a later run delete those of a killed one.
func globalData(t *testing.T) string {
	t.Helper()
	loadOnce.Do(func() {
		shared.prefix = "e2e-" + strings.ToLower(uuid.NewString()[:8]) + "-"
		dir := t.TempDir()
		if _, shared.err = generate.Generate(context.Background(), generate.Options{
			Records: datasetRecords, Seed: 7, Dir: dir,
		}); shared.err != nil {
			return
		}
		var es *elastic.Client
		if es, shared.err = elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}}); shared.err != nil {
			return
		}
		_, shared.err = indexer.Load(context.Background(), indexer.Options{Dir: dir, Elastic: es, Names: mappings.Names{Prefix: shared.prefix}})
	})
	if shared.err != nil {
		t.Fatal("loading the dataset:", shared.err)
	}
	return shared.prefix
}

const testSecret = "a secret of at least thirty-two bytes"

// service is the program as `atlas serve` runs it, with one workspace.
type service struct {
	t         *testing.T
	config    server.Config
	root      string // http://host:port
	base      string // root and the version
	directory *people.Directory
	pro       workspace.Workspace
	key       string
	log       *syncBuffer
	stop      func() error
}

// testConfig serves on the test backends, with this database.
func testConfig(t *testing.T, d *pgtest.Databases) server.Config {
	return server.Config{
		Elastic: cli.Elastic{
			ElasticsearchURL: []string{backends.Elasticsearch(t)}, IndexPrefix: globalData(t),
			HeldIndexPrefix: "e2e-" + strings.ReplaceAll(d.Name, "_", "-") + "-",
		},
		Listen: "127.0.0.1:0", PostgresURL: d.App, PostgresSystemURL: d.System,
		RedisURL: backends.Redis(t), RedisPrefix: "e2e:" + d.Name + ":", RedisTimeout: 5 * time.Second, // a busy machine is not an error here
		CursorKeys: []string{"0123456789abcdef"}, JWTSecret: testSecret, SearchTimeout: 30 * time.Second,
		Operation: server.Operation{
			MaxRequests: endpoint.DefaultMaxRequests, MCP: true, MCPMaxBytes: mcp.DefaultMaxBytes,
			MaxCalls: server.DefaultMaxCalls, Drain: 20 * time.Second, MetricsListen: "127.0.0.1:0",
		},
	}
}

// prepare makes what a server needs: a database and Redis keys of the test's own, a
// workspace and its key.
func prepare(t *testing.T, ceiling int64, change ...func(*server.Config)) *service {
	t.Helper()
	return prepareOn(t, pgtest.New(t), ceiling, change...)
}

// prepareOn is prepare on a migrated database.
func prepareOn(t *testing.T, d *pgtest.Databases, ceiling int64, change ...func(*server.Config)) *service {
	t.Helper()
	s := &service{t: t, log: &syncBuffer{}, config: testConfig(t, d)}
	for _, f := range change {
		f(&s.config)
	}
	if err := s.config.Check(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteHeld(t, s.config) })
	system, err := postgres.OpenSystem(t.Context(), d.System, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(system.Close)
	settleFeed(t, s.config, system)
	s.directory = people.NewDirectory(system, system.Clock().Now)
	if s.pro, err = s.directory.CreateWorkspace(t.Context(), "Test", workspace.Pro, ceiling); err != nil {
		t.Fatal(err)
	}
	s.key = s.newKey(people.NewKey{Name: "all", Workspaces: []workspace.ID{s.pro.ID}, Scopes: workspace.AllScopes()})
	return s
}

// start serves what it prepares.
func start(t *testing.T, ceiling int64, change ...func(*server.Config)) *service {
	t.Helper()
	s := prepare(t, ceiling, change...)
	s.serve(t)
	return s
}

// serve starts the program, which ends with the test.
func (s *service) serve(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, s.config, cli.Log{}.Logger(s.log), func(a string) { address <- a })
	}()
	s.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error("serve:", err)
		}
		noSecrets(t, s.log.String(), s.key)
	})
	select {
	case a := <-address:
		s.root, s.base = "http://"+a, "http://"+a+"/api/v1"
	case err := <-ended:
		t.Fatal("serve:", err)
	}
}

// settleFeed makes a new database know the served generation. Otherwise its server would
// start the feed over some seconds later, and earlier cursors would be too old.
func settleFeed(t *testing.T, c server.Config, system *postgres.System) {
	t.Helper()
	es, err := elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed.Feed{Store: system, Elastic: es, Names: c.Names(), Live: &search.Engine{Elastic: es, Names: c.Names(), Timeout: time.Minute}}
	if err := f.Settle(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// deleteHeld deletes the indices of held records when nothing writes to them any more.
func deleteHeld(t *testing.T, c server.Config) {
	// The configured backends may be unavailable on purpose.
	es, err := elastic.New(elastic.Config{Addresses: []string{backends.Elasticsearch(t)}})
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, d := range catalog.Held {
		indices, err := es.Aliases(ctx, c.Names().Held(string(d))+"-*")
		if err != nil {
			t.Error(err)
		}
		for index := range indices {
			if err := es.DeleteIndices(ctx, index); err != nil {
				t.Error(err)
			}
		}
	}
}

func (s *service) newKey(n people.NewKey) string {
	s.t.Helper()
	_, text, err := s.directory.CreateKey(s.t.Context(), n)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// user adds a member and returns a token.
func (s *service) user(role people.Role, change ...func(*auth.Claims)) string {
	s.t.Helper()
	m, err := s.directory.AddMember(s.t.Context(), s.pro.ID, people.Member{
		Email: uuid.NewString() + "@example.com", Name: "Someone", Role: role,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	claims := auth.Claims{User: m.ID, Email: m.Email, Name: m.Name}
	for _, f := range change {
		f(&claims)
	}
	token, err := auth.Mint(testSecret, claims, time.Hour)
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// answer is a response.
type answer struct {
	status int
	closes bool // the connection
	header http.Header
	raw    []byte
	body   struct {
		Data     json.RawMessage
		Metadata struct {
			Total         int
			TotalIsCapped bool `json:"total_is_capped"`
			Limit, Offset int
			SearchAfter   *string `json:"search_after"`
			Credits       int64
			NotFound      []string `json:"not_found"`
		}
		Success *bool
		Error   struct {
			Code, Message, Name string
			Issues              []struct {
				Code, Message string
				Path, Keys    []string
			}
		}
	}
}

// call sends a request; body is "" for none.
func (s *service) call(method, path, token, body string, header ...string) answer {
	s.t.Helper()
	address := s.base + path
	if strings.HasPrefix(path, "/health") {
		address = s.root + path
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := s.held().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, closes: res.Close, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(a.raw, &a.body); err != nil && method != http.MethodHead {
		s.t.Fatalf("%s %s: %d, no JSON: %s", method, path, a.status, a.raw)
	}
	return a
}

// search searches with the workspace's key and must succeed.
func (s *service) search(d catalog.Dataset, body string) answer {
	s.t.Helper()
	a := s.call("POST", "/data/"+string(d)+"/search", s.key, body)
	if a.status != http.StatusOK {
		s.t.Fatalf("search %s %s: %d %s", d, body, a.status, a.raw)
	}
	return a
}

// ids returns the ids of the records of a search.
func (a answer) ids(t *testing.T) []string {
	t.Helper()
	var records []struct{ ID string }
	if err := json.Unmarshal(a.body.Data, &records); err != nil {
		t.Fatalf("%v in %s", err, a.raw)
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	return ids
}

// syncBuffer collects log lines of several goroutines.
type syncBuffer struct {
	lock sync.Mutex
	b    bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.b.String()
}
