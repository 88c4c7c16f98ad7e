package api_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/internal/egress"
	"atlas/search"
	"atlas/search/changes"
	"atlas/service/api"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/service/openapi/conformance"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/auditlog"
	"atlas/workspace/identity"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
	"atlas/workspace/queue"
	"atlas/workspace/scim"
	"atlas/workspace/skills"
	"atlas/workspace/subscriptions"
	"atlas/workspace/undo"
	"atlas/workspace/webhooks"
)

func TestMain(m *testing.M) { backends.Main(sharing{m}) }

const (
	secret   = "a development secret of 32 bytes, or more"
	issuer   = "https://issuer.example"
	audience = "atlas"
	linkBase = "https://app.example/join"
)

// world is the API on the real backends. Its global indices are empty ones that other
// worlds read too, until load.
type world struct {
	server    *api.Server
	base      string
	databases *pgtest.Databases
	rows      *postgres.Store // the store of the projector
	directory *people.Directory
	system    *postgres.System
	ledger    *credits.Ledger
	config    auth.Config
	loaded    bool // into global indices of its own

	mu    sync.Mutex
	ahead time.Duration
}

// now is the clock of invitations. Tests can advance it.
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
	app := d.OpenApp(t, postgres.Options{MaxConns: 4})
	w := &world{databases: d, rows: app, system: d.OpenSystem(t, postgres.Options{MaxConns: 4})}
	w.directory = people.NewDirectory(w.system, nil)
	redis, err := credits.Open(backends.Redis(t))
	fatal(t, err)
	t.Cleanup(func() { _ = redis.Close() })
	w.ledger, err = credits.New(redis, credits.Options{Prefix: "test:" + uuid.NewString() + ":", Timeout: 5 * time.Second})
	fatal(t, err)
	w.config = auth.Config{Secret: secret, Issuer: issuer, Audience: audience}
	gate, err := auth.New(w.system, w.config)
	fatal(t, err)
	t.Cleanup(gate.Close)
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	links, err := people.NewInvitationLinks(linkBase, []byte("a key of the servers"))
	fatal(t, err)
	indices := emptyIndices.Indices(t, backends.Elasticsearch(t))
	indices.Names.HeldPrefix = "test-" + uuid.NewString() + "-"
	engine := &search.Engine{Elastic: indices.Client, Names: indices.Names, Cursors: cursors, Timeout: 30 * time.Second}
	w.server = &api.Server{
		Core: endpoint.Core{
			Gate:    gate,
			Ledger:  w.ledger,
			Answers: app,
			Log:     slog.New(slog.DiscardHandler),
		},
		Search:     engine,
		Facets:     engine,
		Match:      engine,
		Changes:    &changes.Reader{Store: app, Records: engine, Cursors: cursors},
		Merges:     app,
		Audit:      &audit.Reader{Store: app, Cursors: cursors},
		AuditLog:   &auditlog.Reader{Store: app, Cursors: cursors},
		SignInLog:  w.system,
		Workspaces: app,
		People: api.People{
			Members:       people.NewMembers(app, gate.Forget),
			Invitations:   &people.Invitations{Store: app, Acceptances: w.system, Links: links, Accepted: gate.Forget, Now: w.now},
			Subscriptions: subscriptions.NewSubscriptions(app, nil),
			Skills:        skills.NewSkills(app, nil),
			Keys:          people.NewKeys(app, w.now, gate.ForgetKey),
			Policies:      people.NewPolicies(app, w.now),
			Identity: &identity.Settings{
				Store: app, Prover: w.system, Guard: egress.New(nil, nil), Sealer: identity.Sealer{Keys: [][]byte{[]byte("a key of the servers")}},
				Resolver: &textRecords{}, Changed: gate.ForgetGate, Now: w.now,
			},
			Undoer: &undo.Undoer{Store: app, Cursors: cursors},
			Webhooks: &webhooks.Webhooks{
				Store: app, Guard: egress.New(nil, nil),
				Sealer: webhooks.Sealer{Keys: [][]byte{[]byte("a key of the servers")}},
			},
		},
		SCIM: api.SCIM{
			Provisioning: &scim.Provisioning{Store: app, Groups: app, Changed: gate.Forget, Now: w.now},
			Tokens:       &scim.Tokens{Store: app, Lookup: w.system, Now: w.now},
		},
		Queue: &queue.Queue{Store: app, Searcher: engine},
		MCP:   &api.MCP{},
	}
	// The first request makes it: tests change the server before.
	handler := sync.OnceValue(w.server.Handler)
	listening := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { handler().ServeHTTP(rw, r) }))
	t.Cleanup(listening.Close)
	w.base = listening.URL + endpoint.Version
	return w
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) workspace(t *testing.T, name string, plan workspace.Plan, ceiling int64) workspace.ID {
	t.Helper()
	ws, err := w.directory.CreateWorkspace(t.Context(), name, plan, ceiling)
	fatal(t, err)
	return ws.ID
}

// key creates a key and returns its id and text. No scopes means all scopes.
func (w *world) key(t *testing.T, n people.NewKey) (workspace.KeyID, string) {
	t.Helper()
	n.Name = "k"
	k, text, err := w.directory.CreateKey(t.Context(), n)
	fatal(t, err)
	return k.ID, text
}

// member adds a member and returns it.
func (w *world) member(t *testing.T, in workspace.ID, email string, role people.Role) people.Member {
	t.Helper()
	m, err := w.directory.AddMember(t.Context(), in, people.Member{Email: email, Name: "Name of " + email, Role: role})
	fatal(t, err)
	return m
}

// claims are the claims of a valid token.
func claims(user workspace.UserID, email string) auth.Claims {
	return auth.Claims{User: user, Email: email, Name: "Claimed", Issuer: issuer, Audience: audience}
}

func mint(t *testing.T, key string, c auth.Claims, ttl time.Duration) string {
	t.Helper()
	token, err := auth.Mint(key, c, ttl)
	fatal(t, err)
	return token
}

func tokenFor(t *testing.T, m people.Member) string {
	t.Helper()
	return mint(t, secret, claims(m.ID, m.Email), time.Hour)
}

// document is the OpenAPI document. Every exchange is checked against it.
var document = sync.OnceValue(func() *conformance.Document {
	d, err := conformance.Read(documentText())
	if err != nil {
		panic(err)
	}
	return d
})

// documentText returns the document as served.
func documentText() []byte {
	w := httptest.NewRecorder()
	s := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, endpoint.Version+"/openapi.json", nil))
	return w.Body.Bytes()
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	text   string
}

// code is the code of an error, "validation" for a validation error, "" for success.
func (a answer) code() string {
	var body struct {
		Success *bool
		Error   struct{ Code, Name string }
	}
	if json.Unmarshal([]byte(a.text), &body) != nil {
		return "no JSON"
	}
	if body.Success != nil && !*body.Success && body.Error.Name == "ValidationError" {
		return "validation"
	}
	return body.Error.Code
}

// into decodes data and metadata.
func (a answer) into(t *testing.T, data, metadata any) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.text)
	}
	fatal(t, json.Unmarshal([]byte(a.text), &struct{ Data, Metadata any }{data, metadata}))
}

// call sends a request. Without body it is "", without token the header is left out.
func (w *world) call(t *testing.T, token, method, path, body string) answer {
	t.Helper()
	return w.send(t, token, method, path, body, http.Header{})
}

// send is call with further headers.
func (w *world) send(t *testing.T, token, method, path, body string, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
	fatal(t, err)
	r.Header = header
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{Transport: document().Transport(t, http.DefaultTransport)}).Do(r)
	fatal(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	fatal(t, err)
	return answer{res.StatusCode, res.Header, string(text)}
}
