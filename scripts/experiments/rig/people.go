package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Print runs an atlas command that prints JSON and decodes its output. Any
// goroutine may call it.
func (r *Rig) Print(ctx context.Context, into any, args ...string) error {
	code, stdout, stderr := r.Run(ctx, append(args, "--json")...)
	if code != 0 {
		return fmt.Errorf("atlas %v: status %d %s", args, code, stderr)
	}
	return json.Unmarshal([]byte(stdout), into)
}

// Workspace has an API key of all scopes.
type Workspace struct {
	ID, Key string
	rig     *Rig
}

// Unlimited is a ceiling that no experiment reaches.
const Unlimited = 1_000_000_000

// NewWorkspace makes a Pro workspace with a key. Any goroutine may call it.
func (r *Rig) NewWorkspace(ctx context.Context, name string, ceiling int64) (Workspace, error) {
	w := Workspace{rig: r}
	if err := r.Print(ctx, &w, "workspace", "create", name, "--plan", "pro", "--ceiling", strconv.FormatInt(ceiling, 10)); err != nil {
		return w, err
	}
	var made struct{ Key string }
	err := r.Print(ctx, &made, "key", "create", "--workspace", w.ID, "--name", name, "--scope", "all")
	w.Key = made.Key
	return w, err
}

// Workspace makes a Pro workspace with a key. The name is optional.
func (r *Rig) Workspace(ceiling int64, name ...string) Workspace {
	r.t.Helper()
	w, err := r.NewWorkspace(r.t.Context(), append(name, "Experiment")[0], ceiling)
	Check(r.t, err)
	return w
}

// AddMember adds a user, new or not, in a role (owner, admin, member), and returns
// the user's id and an access token that is valid for a day.
func (w Workspace) AddMember(role, name, email string) (user, token string) {
	r := w.rig
	r.t.Helper()
	var member struct{ ID string }
	Check(r.t, r.Print(r.t.Context(), &member, "member", "add", "--workspace", w.ID, "--email", email, "--name", name, "--role", role))
	var minted struct{ Token string }
	Check(r.t, r.Print(r.t.Context(), &minted, "token", "--user", member.ID, "--email", email, "--ttl", "24h"))
	return member.ID, minted.Token
}

// Member adds a new user.
func (w Workspace) Member(role string) (user, token string) {
	w.rig.t.Helper()
	w.rig.servers++ // makes the address new
	return w.AddMember(role, "Someone", fmt.Sprintf("%s-%d-%.8s@example.com", role, w.rig.servers, w.ID))
}

// By is a caller with the workspace's key.
func (s *Server) By(w Workspace) Caller { return Caller{Base: s.Base, Token: w.Key} }

// ByUser is a caller with a member's token.
func (s *Server) ByUser(w Workspace, token string) Caller {
	return Caller{Base: s.Base, Token: token, Workspace: w.ID}
}

// Used returns the credits that the ledger counts for the caller's workspace.
func (c Caller) Used(ctx context.Context) (int64, error) {
	a, err := c.Want(ctx, 200, "GET", "/data/usage", nil)
	if err != nil {
		return 0, err
	}
	var usage struct {
		Used int64 `json:"used_credits"`
	}
	return usage.Used, a.Data(&usage)
}

// View makes a View and returns its id.
func (c Caller) View(ctx context.Context, body any) (id string, err error) {
	a, err := c.Want(ctx, 200, "POST", "/workspace/views/upsert", body)
	if err != nil {
		return "", err
	}
	var made struct{ View struct{ ID string } }
	err = a.Data(&made)
	return made.View.ID, err
}
