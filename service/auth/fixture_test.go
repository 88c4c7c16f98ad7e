package auth_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atlas/internal/devstack/backends"
	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
	"atlas/workspace/postgres/pgtest"
)

func TestMain(m *testing.M) {
	backends.Prepare()
	goleak.VerifyTestMain(m)
}

const secret = "a development secret of 32 bytes, or more"

var _ auth.Store = (*postgres.System)(nil)

// gate is the real store. It counts calls, and delays or fails them.
type gate struct {
	*postgres.System
	mu    sync.Mutex
	calls map[string]int
	fail  error
	hold  func(method string) // called before each look-up
}

func (g *gate) pass(method string) error {
	g.mu.Lock()
	g.calls[method]++
	fail, hold := g.fail, g.hold
	g.mu.Unlock()
	if hold != nil {
		hold(method)
	}
	return fail
}

func (g *gate) count(method string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[method]
}

func (g *gate) set(fail error, hold func(string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail, g.hold = fail, hold
}

func (g *gate) KeyByID(ctx context.Context, id workspace.KeyID) (workspace.KeyRecord, error) {
	if err := g.pass("KeyByID"); err != nil {
		return workspace.KeyRecord{}, err
	}
	return g.System.KeyByID(ctx, id)
}

func (g *gate) WorkspaceByID(ctx context.Context, id workspace.ID) (workspace.Workspace, error) {
	if err := g.pass("WorkspaceByID"); err != nil {
		return workspace.Workspace{}, err
	}
	return g.System.WorkspaceByID(ctx, id)
}

func (g *gate) Role(ctx context.Context, in workspace.ID, user workspace.UserID) (people.Role, error) {
	if err := g.pass("Role"); err != nil {
		return "", err
	}
	return g.System.Role(ctx, in, user)
}

func (g *gate) OnlyWorkspace(ctx context.Context, user workspace.UserID) (workspace.ID, error) {
	if err := g.pass("OnlyWorkspace"); err != nil {
		return workspace.ID{}, err
	}
	return g.System.OnlyWorkspace(ctx, user)
}

func (g *gate) TouchKey(ctx context.Context, id workspace.KeyID, in workspace.ID, from netip.Prefix) (bool, error) {
	if err := g.pass("TouchKey"); err != nil {
		return false, err
	}
	return g.System.TouchKey(ctx, id, in, from)
}

// clock is a manual clock.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// world has two Pro workspaces and a free one. alice is a member of one, bob of one and
// two, carol of the free one, dan of none.
type world struct {
	gate                  *gate
	clock                 *clock
	directory             *people.Directory
	one, two, free        workspace.Workspace
	alice, bob, carol     people.Member
	dan                   workspace.UserID
	keyOne, keyBoth       workspace.Key
	tokenOne, tokenBoth   string
	keyFree               workspace.Key
	tokenFree, tokenNever string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := t.Context()
	w := &world{
		gate:  &gate{System: pgtest.New(t).OpenSystem(t, postgres.Options{}), calls: map[string]int{}},
		clock: &clock{at: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)},
		dan:   workspace.NewUserID(),
	}
	w.directory = people.NewDirectory(w.gate.System, w.clock.Now)
	create := func(name string, plan workspace.Plan) workspace.Workspace {
		ws, err := w.directory.CreateWorkspace(ctx, name, plan, 0)
		fatal(t, err)
		return ws
	}
	w.one, w.two, w.free = create("One", workspace.Pro), create("Two", workspace.Pro), create("Free", workspace.Free)
	add := func(email string, role people.Role, to ...workspace.Workspace) (m people.Member) {
		for _, ws := range to {
			var err error
			m, err = w.directory.AddMember(ctx, ws.ID, people.Member{Email: email, Name: "N", Role: role})
			fatal(t, err)
		}
		return m
	}
	w.alice = add("alice@example.com", people.Admin, w.one)
	w.bob = add("bob@example.com", people.MemberRole, w.one, w.two)
	w.carol = add("carol@example.com", people.Owner, w.free)
	key := func(ws ...workspace.ID) (workspace.Key, string) {
		k, token, err := w.directory.CreateKey(ctx, people.NewKey{Name: "k", Workspaces: ws, Scopes: []workspace.Scope{workspace.DataRead}})
		fatal(t, err)
		return k, token
	}
	w.keyOne, w.tokenOne = key(w.one.ID)
	w.keyBoth, w.tokenBoth = key(w.two.ID, w.one.ID)
	w.keyFree, w.tokenFree = key(w.free.ID)
	w.tokenNever = workspace.NewSecret().Token(workspace.NewKeyID())
	return w
}

func (w *world) auth(t *testing.T, c auth.Config) *auth.Authenticator {
	t.Helper()
	if c.Now == nil {
		c.Now = w.clock.Now
	}
	a, err := auth.New(w.gate, c)
	fatal(t, err)
	t.Cleanup(a.Close)
	return a
}

func (w *world) token(t *testing.T, user workspace.UserID, claim workspace.ID) string {
	t.Helper()
	token, err := auth.Mint(
		secret, auth.Claims{User: user, Email: "x@example.com", Name: "X", Workspace: claim, IssuedAt: w.clock.Now()},
		time.Hour,
	)
	fatal(t, err)
	return token
}

// request runs the three steps in the order of the API.
func request(ctx context.Context, a *auth.Authenticator, token string, given []string, required bool) (auth.Principal, error) {
	identity, err := a.Authenticate(ctx, []string{"Bearer " + token})
	if err != nil {
		return auth.Principal{}, err
	}
	in, err := a.Resolve(ctx, identity, given, required)
	if err != nil {
		return auth.Principal{}, err
	}
	return a.Authorize(ctx, identity, in)
}

func wantCode(t *testing.T, name string, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("%s: %q (%v), want %q", name, got, err, want)
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
