package api_test

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/service/auth"
	"atlas/service/endpoint"
	"atlas/service/session"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/people"
)

const auditPath = "/workspace/audit"

// audited has the actions that each operation writes to the audit log. A new route that
// writes needs a row here, or a reason in unaudited.
var audited = map[string][]string{
	"update_member": {"member.role_changed"}, "remove_member": {"member.removed", "user.signed_out"},
	"sign_out_member":       {"member.signed_out"},
	"set_identity_provider": {"identity_provider.changed"}, "delete_identity_provider": {"identity_provider.deleted"},
	"add_identity_domain": {"identity_domain.created"}, "delete_identity_domain": {"identity_domain.deleted"},
	"create_invitation": {"invitation.created"}, "revoke_invitation": {"invitation.revoked"},
	"accept_invitation": {"invitation.accepted", "member.added", "user.changed"},
	"create_api_key":    {"api_key.created"}, "rotate_api_key": {"api_key.rotated"}, "revoke_api_key": {"api_key.revoked"},
	"set_api_key_policy": {"api_key_policy.changed"}, "undo_api_key": {"api_key.undone", "board.deleted"},
	"create_scim_token": {"scim_token.created"}, "revoke_scim_token": {"scim_token.revoked"}, "set_group_role": {"scim_group.role_changed"},
	"upsert_webhook": {"webhook.created"}, "delete_webhook": {"webhook.deleted"}, "rotate_webhook": {"webhook.secret_rotated"},
	"test_webhook": {"webhook.tested"}, "replay_webhook_delivery": {"webhook.replayed"}, "replay_webhook": {"webhook.replayed"},
	"create_skill": {"skill.created"},
	"upsert_board": {"board.created"}, "delete_board": {"board.deleted"},
	"upsert_view": {"view.created"}, "upsert_views_batch": {"view.created"},
	"delete_view": {"view.deleted"}, "delete_views_batch": {"view.deleted"},
}

// unaudited are the reasons why operations that write are not in the audit log.
var unaudited = map[string]string{
	"subscription":          "what the workspace gets of its own queue: it is in the changes of the workspace",
	"check_identity_domain": "a look at DNS: that a domain is proved or lost is an event of its own",
	"signals_batch":         "the state of the queue: it gives nobody access",
	"alert":                 "a user's own, which carry ids only", "see_view": "a user's own place",
	"favorite": "a user's own order of Views", "view_record": "data of the workspace: it is in the changes of the workspace",
	"workspace_": "data of the workspace: it is in the changes of the workspace",
}

// TestEveryWriteIsAudited makes a request of each route that writes, and checks its audit log
// entries.
func TestEveryWriteIsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.load(t, globals(t))
	w.holds(t)
	s := w.scene(t)
	for _, route := range w.server.Routes() {
		request := interleaved[route.Operation]
		if !request.writes {
			continue
		}
		want, known := audited[route.Operation]
		if !known &&
			!slices.ContainsFunc(
				slices.Collect(maps.Keys(unaudited)),
				func(part string) bool { return strings.Contains(route.Operation, part) },
			) {
			t.Errorf("%s writes: say which actions the audit log has of it, or why none", route.Operation)
			continue
		}
		path := s.fill(strings.Replace(request.path, "{apiKey}", "{apiKeyOfAdmin}", 1))
		id := uuid.NewString()
		a := w.send(
			t,
			s.token,
			rows[route.Operation].method,
			path+"?workspace_id="+s.in.String(),
			s.fill(request.body),
			http.Header{endpoint.RequestIDHeader: {id}},
		)
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s", route.Operation, a.status, a.text)
			continue
		}
		var got []string
		w.admin(t, func(conn *pgx.Conn) error {
			found, err := conn.Query(t.Context(), `SELECT action FROM audit_events
				WHERE request_id = $1 AND principal_kind = 'user' AND principal_id = $2 ORDER BY action`, id, s.admin.ID.String())
			if err != nil {
				return err
			}
			got, err = pgx.CollectRows(found, pgx.RowTo[string])
			return err
		})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", route.Operation, diff)
		}
	}
}

// auditEvent is an event as the API shows it.
type auditEvent struct {
	ID        int64
	Action    string
	Principal struct{ Kind, ID string }
	Network   *string
	Object    struct{ Kind, ID string }
	Fields    []string
	Details   map[string]any
	Values    map[string]string
	Number    *int64
	Digest    *string
}

type auditPage struct{ Events []auditEvent }

type auditMeta struct{ Next *string }

func TestAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trusting(w)
	in, other := w.workspace(t, "A", workspace.Pro, 0), w.workspace(t, "B", workspace.Pro, 0)
	owner := w.member(t, in, "owner@a.example", people.Owner)
	by, of := tokenFor(t, owner), "?workspace_id="+in.String()
	foreign := tokenFor(t, w.member(t, other, "owner@b.example", people.Owner))
	var invited struct{ Invitation struct{ ID string } }
	w.from(t, "198.51.100.77", by, "POST", "/workspace/invitations", `{"email":"Maria@Firm.example","role":"admin"}`).into(t, &invited, nil)
	key := w.makeKey(t, by, `"scopes":["data:read","workspace:read","workspace:admin"]`)

	read := func(token, query string) (page auditPage, meta auditMeta) {
		t.Helper()
		w.call(t, token, "GET", auditPath+query, "").into(t, &page, &meta)
		return page, meta
	}
	actionsOf := func(p auditPage) (all []string) {
		for _, e := range p.Events {
			all = append(all, e.Action)
		}
		return all
	}
	all, meta := read(by, of)
	if want := []string{"api_key.created", "invitation.created", "member.added", "workspace.created"}; !slices.Equal(
		actionsOf(all),
		want,
	) ||
		meta.Next != nil {
		t.Fatalf("the log has %v, want %v", actionsOf(all), want)
	}
	made := all.Events[1]
	values := slices.Collect(maps.Values(made.Values))
	if made.Principal.Kind != "user" || made.Principal.ID != owner.ID.String() || made.Network == nil ||
		*made.Network != "198.51.100.0/24" ||
		made.Object.ID != invited.Invitation.ID ||
		!slices.Equal(values, []string{"Maria@Firm.example"}) {
		t.Errorf("the invitation: %+v", made)
	}
	for query, want := range map[string][]string{
		"&action=invitation":                         {"invitation.created"},
		"&action=api_key.created":                    {"api_key.created"},
		"&action=api":                                nil,
		"&principal_id=" + owner.ID.String():         {"api_key.created", "invitation.created"},
		"&object_id=" + key.ID:                       {"api_key.created"},
		"&principal_id=" + key.ID:                    nil,
		"&since=2100-01-01":                          nil,
		"&until=2020-01-01":                          nil,
		"&since=2020-01-01&until=2100-01-01&limit=2": {"api_key.created", "invitation.created"},
	} {
		if page, _ := read(by, of+query); !slices.Equal(actionsOf(page), want) {
			t.Errorf("%s: %v, want %v", query, actionsOf(page), want)
		}
	}
	// Pages have every event once, also a key's, whose workspace they are.
	var paged []string
	cursor := ""
	for {
		page, meta := read(key.Secret, "?limit=1"+cursor)
		paged = append(paged, actionsOf(page)...)
		if meta.Next == nil {
			break
		}
		cursor = "&cursor=" + *meta.Next
	}
	if !slices.Equal(paged, actionsOf(all)) {
		t.Errorf("page by page: %v", paged)
	}
	// In the order of the chain, from a cursor.
	if page, meta := read(by, of+"&order=oldest"); len(page.Events) != 0 || meta.Next == nil {
		t.Errorf("before anything is chained: %+v", page)
	}
	_, begin := read(by, of+"&order=oldest")
	eventually(t, "chaining", func() bool {
		_, err := w.system.SealEvents(t.Context(), 100, time.Now())
		fatal(t, err)
		page, _ := read(by, of+"&order=oldest&cursor="+*begin.Next)
		return len(page.Events) == 4 && *page.Events[3].Number == 4 && page.Events[3].Action == "api_key.created"
	})
	// Nothing of another workspace, with any parameter.
	page, _ := read(foreign, "?workspace_id="+other.String())
	if !slices.Equal(actionsOf(page), []string{"member.added", "workspace.created"}) {
		t.Errorf("the other workspace sees %v", actionsOf(page))
	}
	if page, _ := read(foreign, "?workspace_id="+other.String()+"&object_id="+key.ID); len(page.Events) > 0 {
		t.Errorf("the other workspace sees the key: %+v", page)
	}
	wantAnswer(t, "another workspace", w.call(t, foreign, "GET", auditPath+of, ""), 403, "")
	wantAnswer(
		t,
		"its cursor",
		w.call(t, foreign, "GET", auditPath+"?workspace_id="+other.String()+"&order=oldest&cursor="+*begin.Next, ""),
		400,
		"not a cursor of this audit log",
	)
	wantAnswer(t, "a cursor of another order", w.call(t, by, "GET", auditPath+of+"&cursor="+*begin.Next, ""), 400, "in this order")
	wantAnswer(t, "an order", w.call(t, by, "GET", auditPath+of+"&order=up", ""), 400, "newest")
	wantAnswer(t, "an id", w.call(t, by, "GET", auditPath+of+"&principal_id=7", ""), 400, "principal_id")
	wantAnswer(t, "a time", w.call(t, by, "GET", auditPath+of+"&since=soon", ""), 400, "since")
	_, plain := w.key(
		t,
		people.NewKey{Workspaces: []workspace.ID{in}, Scopes: []workspace.Scope{workspace.WorkspaceRead, workspace.WorkspaceWrite}},
	)
	wantAnswer(t, "a key without workspace:admin", w.call(t, plain, "GET", auditPath, ""), 403, "workspace:admin")
	member := tokenFor(t, w.member(t, in, "member@a.example", people.MemberRole))
	wantAnswer(t, "a member", w.call(t, member, "GET", auditPath+of, ""), 403, "")
}

// counted notes what the server counts.
type counted struct {
	lock    sync.Mutex
	records map[string]int64
	refused map[string]int
}

func (c *counted) Delivered(in workspace.ID, by workspace.Author, operation string, records int64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.records[in.String()+" "+by.Text()+" "+operation] += records
}

func (c *counted) Refused(reason string, network netip.Prefix) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.refused[reason+" "+network.String()]++
}

func TestDeliveredAndRefusedAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	trusting(w)
	w.load(t, globals(t))
	counts := &counted{records: map[string]int64{}, refused: map[string]int{}}
	w.server.Counts = counts
	in := w.workspace(t, "A", workspace.Pro, 1000)
	id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	for _, path := range []string{"/data/accounts/search", "/data/accounts/search"} {
		wantAnswer(t, path, w.call(t, key, "POST", path, `{"limit":2}`), 200, "")
	}
	w.call(t, key, "POST", "/data/accounts/facets", `{"facets":[{"field":"city"}]}`)
	for _, token := range []string{workspace.NewSecret().Token(workspace.NewKeyID()), "nonsense", key + "x"} {
		w.from(t, "203.0.113.9", token, "GET", "/workspace", "")
	}
	wantAnswer(t, "nobody", w.call(t, "", "GET", "/workspace", ""), 401, "")
	counts.lock.Lock()
	defer counts.lock.Unlock()
	if diff := cmp.Diff(map[string]int64{in.String() + " key:" + id.String() + " search_accounts": 4}, counts.records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"API key 203.0.113.0/24": 2, "access token 203.0.113.0/24": 1}, counts.refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// Sign-ins and sign-outs are in the log of each workspace of the person.
func TestSessionsAreAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.workspace(t, "A", workspace.Pro, 0), w.workspace(t, "B", workspace.Pro, 0)
	m := w.member(t, one, "both@example.com", people.Owner)
	_, err := w.directory.AddMember(t.Context(), two, m)
	fatal(t, err)
	sessions := w.sessions(t, session.Options{})
	base := w.serveSessions(t, sessions, true)
	b := &browser{base: base}
	token, err := sessions.Link(t.Context(), auth.User{ID: m.ID, Email: m.Email, EmailVerified: true, Name: m.Name})
	fatal(t, err)
	b.want(t, "signing in", 200, "POST", "/session", `{"token":"`+token+`"}`, nil)
	b.want(t, "signing out", 200, "DELETE", "/session", "", nil)
	for _, in := range []workspace.ID{one, two} {
		page, err := w.rows.AuditEvents(t.Context(), in, auditlog.Query{Actions: []string{"session"}, Limit: 10})
		fatal(t, err)
		if len(page) != 2 || page[1].Action != "session.started" || page[0].Action != "session.ended" ||
			page[0].By.ID != uuid.UUID(m.ID) || page[0].Request == "" || string(page[1].Details) != `{"by": "link"}` {
			t.Errorf("%+v", page)
		}
	}
}
