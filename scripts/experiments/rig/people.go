package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// Workspace is one with an API key of all scopes.
type Workspace struct {
	ID, Key string
	rig     *Rig
}

// Unlimited is a ceiling that no experiment reaches.
const Unlimited = 1_000_000_000

// Workspace makes a Pro workspace with a key.
func (r *Rig) Workspace(ceiling int64) Workspace {
	r.t.Helper()
	w := Workspace{rig: r}
	var made struct{ ID, Key string }
	r.decode(r.Atlas("workspace", "create", "Experiment", "--plan", "pro", "--ceiling", strconv.FormatInt(ceiling, 10), "--json"), &made)
	w.ID = made.ID
	r.decode(r.Atlas("key", "create", "--workspace", w.ID, "--name", "Experiment", "--json"), &made)
	w.Key = made.Key
	return w
}

// Member adds a user of a role (owner, admin, member), and returns their access
// token, good for a day.
func (w Workspace) Member(role string) (user, token string) {
	r := w.rig
	r.t.Helper()
	r.servers++ // makes the address new
	email := fmt.Sprintf("%s-%d-%.8s@example.com", role, r.servers, w.ID)
	var member struct{ ID string }
	r.decode(r.Atlas("member", "add", "--workspace", w.ID, "--email", email, "--name", "Someone", "--role", role, "--json"), &member)
	var minted struct{ Token string }
	r.decode(r.Atlas("token", "--user", member.ID, "--email", email, "--ttl", "24h", "--json"), &minted)
	return member.ID, minted.Token
}

// By is a caller with the workspace's key.
func (s *Server) By(w Workspace) Caller { return Caller{Base: s.Base, Token: w.Key} }

// ByUser is a caller with a member's token.
func (s *Server) ByUser(w Workspace, token string) Caller {
	return Caller{Base: s.Base, Token: token, Workspace: w.ID}
}

// Used are the credits that the ledger counts for the caller's workspace.
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

func (r *Rig) decode(text string, into any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.t.Fatalf("%v in %s", err, text)
	}
}
