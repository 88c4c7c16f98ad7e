package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"atlas/internal/telemetry"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// revocationWithin is how long after a revocation a request whose body is complete by
// then may still have an effect (docs/security.md).
const revocationWithin = 5 * time.Second

// watched counts how far requests have come.
type watched struct {
	endpoint.Gate
	*telemetry.Metrics
	begun, under, authorized atomic.Int64
}

func (w *watched) InFlight(change int) {
	w.under.Add(int64(change))
	w.begun.Add(int64(max(change, 0)))
}

func (w *watched) Authorize(ctx context.Context, i auth.Identity, in workspace.ID) (auth.Principal, error) {
	defer w.authorized.Add(1)
	return w.Gate.Authorize(ctx, i, in)
}

// turn is what happens between the two halves of a scene's requests, and the expected
// answers.
type turn struct {
	name string
	// token is the token of the caller.
	token func(s *scene) string
	// refused says that the request is refused before its body is complete.
	refused func(row) bool
	change  func(t *testing.T, s *scene)
	want    func(operation string, r row) verdict
	// effects says that writes must change stored data. Otherwise nothing may change
	// it.
	effects bool
	// cut says that the requests are cut off, as at the end of a server's shutdown.
	cut bool
}

func byKey(s *scene) string    { return s.key }
func byMember(s *scene) string { return s.token }

// forUsers reports whether the route refuses API keys.
func forUsers(r row) bool { return r.users || r.newcomers }

// toKey returns the expected answer to a key.
func toKey(v verdict) func(string, row) verdict {
	return func(_ string, r row) verdict {
		if forUsers(r) {
			return notAUser
		}
		return v
	}
}

func never(row) bool             { return false }
func ever(row) bool              { return true }
func nothing(*testing.T, *scene) {}

func turns() []turn {
	uninvite := func(t *testing.T, s *scene) {
		t.Helper()
		id, err := workspace.ParseUUID(s.invited)
		fatal(t, err)
		_, err = s.server.People.Invitations.Revoke(t.Context(), s.host, people.KeyActor, people.InvitationID(id))
		fatal(t, err)
	}
	plan := func(t *testing.T, s *scene) {
		t.Helper()
		free := workspace.Free
		for _, in := range []workspace.ID{s.in, s.host} {
			_, err := s.directory.SetWorkspace(t.Context(), in, people.WorkspaceChange{Plan: &free})
			fatal(t, err)
		}
	}
	ceiling := func(t *testing.T, s *scene) {
		t.Helper()
		left, err := s.ledger.Check(t.Context(), s.in.String(), 1000, credits.Key{})
		fatal(t, err)
		r, _, err := s.ledger.Reserve(t.Context(), s.in.String(), 1000, "search_accounts", left.Remaining, credits.Key{})
		fatal(t, err)
		_, err = r.Settle(t.Context(), left.Remaining)
		fatal(t, err)
	}
	spent := func(_ string, r row) verdict {
		if r.unthrottled {
			return fine
		}
		return rateLimited
	}
	served := func(string, row) verdict { return fine }
	away := verdict{503, "unavailable"}
	all := func(v verdict) func(string, row) verdict { return func(string, row) verdict { return v } }
	return []turn{
		{name: "no token", token: func(*scene) string { return "" }, refused: ever, change: nothing, want: all(unauthorized)},
		{
			name:  "an invented key id",
			token: func(*scene) string { return workspace.NewSecret().Token(workspace.NewKeyID()) }, refused: ever,
			change: nothing, want: all(unauthorized),
		},
		{name: "a stranger", token: func(s *scene) string {
			return tokenFor(s.t, people.Member{ID: workspace.NewUserID(), Email: "stranger@example.com"})
		}, refused: func(r row) bool { return !r.newcomers }, change: nothing, want: all(forbidden)},

		{name: "a key that is revoked", token: byKey, refused: forUsers, change: func(t *testing.T, s *scene) {
			_, err := s.directory.RevokeKey(t.Context(), s.keyID)
			fatal(t, err)
		}, want: toKey(forbidden)},
		{name: "a key that is restricted", token: byKey, refused: forUsers, change: func(t *testing.T, s *scene) {
			_, err := s.directory.RestrictKey(t.Context(), s.keyID, true)
			fatal(t, err)
		}, want: toKey(forbidden)},
		{name: "a member who is removed", token: byMember, refused: never, change: func(t *testing.T, s *scene) {
			// By another server, which does not notify this one.
			removed, err := people.NewMembers(s.server.Workspaces.(*postgres.Store), nil).
				Remove(t.Context(), s.in, people.OperatorActor, s.admin.ID)
			if fatal(t, err); !removed {
				t.Fatal("nobody was removed")
			}
			uninvite(t, s)
		}, want: func(_ string, r row) verdict {
			if r.newcomers {
				return notFound
			}
			return forbidden
		}},
		{name: "an admin who is made a plain member", token: byMember, refused: never, change: func(t *testing.T, s *scene) {
			_, err := people.NewMembers(s.server.Workspaces.(*postgres.Store), nil).SetRole(
				t.Context(), s.in, people.OperatorActor, s.admin.ID, people.MemberRole,
			)
			fatal(t, err)
		}, effects: true, want: func(_ string, r row) verdict {
			if r.admins {
				return forbidden
			}
			return fine
		}},
		{name: "a key whose workspace's plan changes", token: byKey, refused: forUsers, change: plan, want: toKey(forbidden)},
		{name: "a member whose workspace's plan changes", token: byMember, refused: never, change: plan, want: all(forbidden)},
		{name: "a key whose ceiling is used up", token: byKey, refused: forUsers, change: ceiling, want: func(o string, r row) verdict {
			if forUsers(r) {
				return notAUser
			}
			return spent(o, r)
		}},
		{name: "a member whose ceiling is used up", token: byMember, refused: never, change: func(t *testing.T, s *scene) {
			ceiling(t, s)
			uninvite(t, s)
		}, want: func(o string, r row) verdict {
			if r.newcomers {
				return notFound
			}
			return spent(o, r)
		}},
		{name: "a key, cut off", token: byKey, refused: forUsers, change: nothing, cut: true, want: toKey(away)},
		{name: "a member, cut off", token: byMember, refused: never, change: nothing, cut: true, want: all(away)},
		{name: "a key, while the server drains", token: byKey, refused: forUsers, change: nothing, effects: true, want: toKey(fine)},
		{name: "a member, while the server drains", token: byMember, refused: never, change: nothing, effects: true, want: served},
	}
}

// TestInterleavedRequests sends each operation the header and half of a body, for each
// kind of caller. Then it revokes something from the caller, and sends the rest 5 s
// later. Requests that are no longer allowed are refused and have no effect, whether or
// not the route takes a body.
func TestInterleavedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.MaxRequests = 8_192 // more than all requests of a caller or a workspace
	w.load(t, globals(t))
	w.holds(t)
	seen := &watched{Gate: w.server.Gate, Metrics: telemetry.New("test")}
	w.server.Gate, w.server.Meter = seen, seen
	w.server.RequestTimeout = 10 * time.Minute // a slow machine must not fail the test
	handler := w.server.Handler()
	listening := httptest.NewServer(handler)
	t.Cleanup(listening.Close)
	requests, cut := context.WithCancel(context.Background())
	defer cut()
	stopping := httptest.NewUnstartedServer(handler)
	stopping.Config.BaseContext = func(net.Listener) context.Context { return requests }
	stopping.Start()
	t.Cleanup(stopping.Close)

	routes := w.server.Routes()
	for _, r := range routes {
		if _, ok := interleaved[r.Operation]; !ok {
			t.Fatalf("%s has no request: say one that does something", r.Operation)
		}
	}
	var all []*played
	var setting errgroup.Group
	setting.SetLimit(4)
	var lock sync.Mutex
	for _, turn := range turns() {
		setting.Go(func() error {
			p := &played{turn: turn, scene: w.scene(t)}
			lock.Lock()
			defer lock.Unlock()
			all = append(all, p)
			return nil
		})
	}
	fatal(t, setting.Wait())

	var begun, under, authorized int64
	seen.begun.Store(0)
	seen.authorized.Store(0)
	for _, p := range all {
		address := listening.Listener.Addr().String()
		if p.turn.cut {
			address = stopping.Listener.Addr().String()
		}
		token := p.turn.token(p.scene)
		for _, route := range routes {
			r := rows[route.Operation]
			p.halves = append(p.halves, p.begin(t, address, token, route.Operation))
			begun++
			if !p.turn.refused(r) {
				under++
			}
			if p.turn.name != "no token" && p.turn.name != "an invented key id" && !(r.newcomers && token != p.scene.key) {
				authorized++
			}
		}
	}
	waitUntil(t, "all are judged", func() bool {
		return seen.begun.Load() == begun && seen.under.Load() == under && seen.authorized.Load() == authorized
	}, func() string {
		return fmt.Sprintf(
			"%d of %d have come, %d of %d are under way, %d of %d judged", seen.begun.Load(), begun, seen.under.Load(),
			under, seen.authorized.Load(), authorized,
		)
	})

	for _, p := range all {
		p.turn.change(t, p.scene)
	}
	w.server.Drain()
	cut()
	changed := time.Now()
	for _, p := range all {
		p.before = p.scene.stored()
	}
	<-time.After(time.Until(changed.Add(revocationWithin))) // the documented limit is a time

	var finishing errgroup.Group
	finishing.SetLimit(8)                         // concurrently, but not more than the few connections to Postgres can serve
	for _, accepts := range []bool{false, true} { // an invitation that is accepted has no preview anymore
		for _, p := range all {
			for _, h := range p.halves {
				if (h.operation == "accept_invitation") == accepts {
					finishing.Go(func() error { h.finish(); return nil })
				}
			}
		}
		fatal(t, finishing.Wait())
	}
	for _, p := range all {
		t.Run(p.turn.name, p.judge)
	}
	idle, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.server.Idle(idle); err != nil {
		t.Errorf("%d requests are still under way", seen.under.Load())
	}
}

// played is a scene in one turn.
type played struct {
	turn   turn
	scene  *scene
	halves []*half
	before map[string]string
}

// half is a request whose first half was sent.
type half struct {
	operation, rest string
	connection      net.Conn
	got             verdict
	text            string
	err             error
}

func (p *played) begin(t *testing.T, address, token, operation string) *half {
	t.Helper()
	s, request := p.scene, interleaved[operation]
	if token == s.token { // people rotate only keys that they created
		request.path = strings.Replace(request.path, "{apiKey}", "{apiKeyOfAdmin}", 1)
	}
	body := s.fill(request.body)
	if body == "" {
		body = strings.Repeat(" ", 14) // the route takes no body
	}
	h := &half{operation: operation, rest: body[len(body)/2:]}
	var err error
	h.connection, err = net.Dial("tcp", address)
	fatal(t, err)
	t.Cleanup(func() { h.connection.Close() })
	authorization := ""
	if token != "" {
		authorization = "Authorization: Bearer " + token + "\r\n"
	}
	_, err = fmt.Fprintf(
		h.connection,
		"%s %s%s?workspace_id=%s HTTP/1.1\r\nHost: atlas\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		rows[operation].method,
		endpoint.Version,
		s.fill(request.path),
		url.QueryEscape(s.in.String()),
		authorization,
		len(body),
		body[:len(body)/2],
	)
	fatal(t, err)
	return h
}

// finish sends the rest and reads the answer.
func (h *half) finish() {
	if _, h.err = io.WriteString(h.connection, h.rest); h.err != nil {
		return
	}
	if h.err = h.connection.SetReadDeadline(time.Now().Add(time.Minute)); h.err != nil {
		return
	}
	var res *http.Response
	if res, h.err = http.ReadResponse(bufio.NewReader(h.connection), nil); h.err != nil {
		return
	}
	defer res.Body.Close()
	var text []byte
	text, h.err = io.ReadAll(res.Body)
	h.text = string(text)
	h.got = verdict{res.StatusCode, answer{res.StatusCode, res.Header, h.text}.code()}
}

// judge checks the answers and the stored data.
func (p *played) judge(t *testing.T) {
	for _, h := range p.halves {
		want := p.turn.want(h.operation, rows[h.operation])
		if h.err != nil || h.got != want {
			t.Errorf("%s: %v %v, want %v\n%s", h.operation, h.got, h.err, want, h.text)
		}
		if h.got.status == http.StatusOK && strings.HasSuffix(h.operation, "_batch") && !strings.Contains(h.text, `"failed":0`) {
			t.Errorf("%s: an item failed: %s", h.operation, h.text)
		}
	}
	after := p.scene.stored()
	if !p.turn.effects {
		for _, h := range p.halves {
			if h.got == fine && interleaved[h.operation].writes && rows[h.operation].unthrottled {
				for _, table := range []string{tableOf(h.operation), "api_key_workspaces"} {
					delete(p.before, table)
					delete(after, table)
				}
			}
		}
	}
	diff := cmp.Diff(p.before, after)
	if !p.turn.effects && diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
	if !p.turn.effects {
		return
	}
	for _, h := range p.halves {
		if !interleaved[h.operation].writes || h.got != fine {
			continue
		}
		table := tableOf(h.operation)
		if p.before[table] == after[table] {
			t.Errorf("%s: %s is as before", h.operation, table)
		}
	}
}

// tableOf returns the table that an operation writes.
func tableOf(operation string) string {
	for part, table := range map[string]string{
		"_member": "members", "create_invitation": "invitations", "revoke_invitation": "invitations", "accept_invitation": "members",
		"subscription": "signal_subscriptions", "skill": "skills", "favorite": "favorites",
		"alert": "view_alerts", "_board": "boards", "see_view": "view_alerts",
		"view_record": "view_records", "signals_batch": "dismissed_signals",
		"upsert_webhook": "webhooks", "delete_webhook": "webhooks", "rotate_webhook": "webhooks", "test_webhook": "jobs",
		"replay_webhook":    "jobs",
		"identity_provider": "identity_providers", "identity_domain": "identity_domains", "sign_out": "member_sign_outs",
		"create_api_key": "api_keys", "rotate_api_key": "api_keys", "revoke_api_key": "api_keys", "key_policy": "key_policies",
		"scim_token": "scim_tokens", "group_role": "scim_groups",
		"undo_api_key":      "boards",
		"workspace_account": "overlays", "workspace_contact": "overlays", "workspace_project": "overlays",
	} {
		if strings.Contains(operation, part) {
			return table
		}
	}
	return "views"
}

func waitUntil(t *testing.T, what string, ok func() bool, state func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s: %s", what, state())
		}
		time.Sleep(5 * time.Millisecond)
	}
}
