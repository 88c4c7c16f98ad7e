package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// asked is a request of an operation that has an effect if the caller may make it. Its
// {names} are targets. Requests that write must change stored data.
type asked struct {
	path, body string
	writes     bool
}

// interleaved has a request of each operation. A new route needs one.
var interleaved = map[string]asked{
	"get_workspace":          {path: "/workspace"},
	"read_workspace_changes": {path: "/workspace/changes", body: `{"limit":5}`},
	"list_audit_events":      {path: "/workspace/audit"},
	"list_records_delivered": {path: "/workspace/audit/records"},
	"get_credits":            {path: "/workspace/credits"},
	"get_usage":              {path: "/data/usage"},
	"search_fields":          {path: "/data/fields/search", body: `{"dataset":"accounts"}`},
	"get_field":              {path: "/data/fields/accounts/name"},
	"get_release":            {path: "/data/release"},
	"get_coverage":           {path: "/data/coverage", body: `{"dataset":"accounts","by":"city"}`},

	"list_members":       {path: "/workspace/members"},
	"update_member":      {path: "/workspace/members/{demoted}", body: `{"role":"admin"}`, writes: true},
	"remove_member":      {path: "/workspace/members/{removed}", writes: true},
	"sign_out_member":    {path: "/workspace/members/{demoted}/sign-out", writes: true},
	"list_invitations":   {path: "/workspace/invitations"},
	"create_invitation":  {path: "/workspace/invitations", body: `{"email":"{new}@example.com","role":"admin"}`, writes: true},
	"revoke_invitation":  {path: "/workspace/invitations/{invitation}", writes: true},
	"preview_invitation": {path: "/workspace/invitations/preview", body: `{"token":"{token}"}`},
	"accept_invitation":  {path: "/workspace/invitations/accept", body: `{"token":"{token}"}`, writes: true},

	"list_api_keys":         {path: "/workspace/api-keys"},
	"create_api_key":        {path: "/workspace/api-keys", body: `{"name":"{new}","scopes":["data:read"]}`, writes: true},
	"list_api_key_actions":  {path: "/workspace/api-keys/{apiKey}/actions"},
	"undo_api_key":          {path: "/workspace/api-keys/{endedKey}/undo", body: `{}`, writes: true},
	"get_api_key_policy":    {path: "/workspace/api-keys/policy"},
	"set_api_key_policy":    {path: "/workspace/api-keys/policy", body: `{"max_days":3650}`, writes: true},
	"get_identity_provider": {path: "/workspace/identity/provider"},
	"set_identity_provider": {
		path: "/workspace/identity/provider", body: `{"issuer":"https://{new}.example","client_id":"x","client_secret":"y"}`, writes: true,
	},
	"delete_identity_provider": {path: "/workspace/identity/provider", writes: true},
	"list_identity_domains":    {path: "/workspace/identity/domains"},
	"add_identity_domain":      {path: "/workspace/identity/domains", body: `{"domain":"{new}.example"}`, writes: true},
	"check_identity_domain":    {path: "/workspace/identity/domains/{checkedDomain}/check", writes: true},
	"delete_identity_domain":   {path: "/workspace/identity/domains/{domain}", writes: true},
	"rotate_api_key":           {path: "/workspace/api-keys/{apiKey}/rotate", body: `{"old_secret_hours":1}`, writes: true},
	"revoke_api_key":           {path: "/workspace/api-keys/{apiKeyToo}", writes: true},
	"list_webhooks":            {path: "/workspace/webhooks"},
	"upsert_webhook": {
		path:   "/workspace/webhooks/upsert",
		body:   `{"url":"https://hooks.example/{new}","events":["record.changed"]}`,
		writes: true,
	},
	"delete_webhook":          {path: "/workspace/webhooks/{hookToo}", writes: true},
	"test_webhook":            {path: "/workspace/webhooks/{hook}/test", writes: true},
	"rotate_webhook":          {path: "/workspace/webhooks/{hook}/rotate", writes: true},
	"list_webhook_deliveries": {path: "/workspace/webhooks/{hook}/deliveries"},
	"replay_webhook_delivery": {path: "/workspace/webhooks/{hook}/deliveries/{delivery}/replay", writes: true},
	"replay_webhook":          {path: "/workspace/webhooks/{hook}/replay", body: `{"from":"2026-01-01","to":"2100-01-01"}`, writes: true},
	"list_scim_tokens":        {path: "/workspace/identity/scim/tokens"},
	"create_scim_token":       {path: "/workspace/identity/scim/tokens", body: `{"name":"{new}"}`, writes: true},
	"revoke_scim_token":       {path: "/workspace/identity/scim/tokens/{scimToken}", writes: true},
	"list_provisioned_people": {path: "/workspace/identity/scim/people"},
	"list_provisioned_groups": {path: "/workspace/identity/scim/groups"},
	"set_group_role":          {path: "/workspace/identity/scim/groups/{scimGroup}", body: `{"role":"admin"}`, writes: true},

	"list_signal_subscriptions":  {path: "/workspace/signal-subscriptions"},
	"upsert_signal_subscription": {path: "/workspace/signal-subscriptions/upsert", body: `{"signal_type":"permit_issued"}`, writes: true},
	"search_signal_queue":        {path: "/workspace/signal-queue/search", body: `{"limit":1}`},
	"dismiss_signals_batch":      {path: "/workspace/signal-queue/dismiss/batch", body: `{"ids":["{unread}"]}`, writes: true},
	"restore_signals_batch":      {path: "/workspace/signal-queue/restore/batch", body: `{"ids":["{dismissed}"]}`, writes: true},
	"delete_signal_subscription": {path: "/workspace/signal-subscriptions/{subscription}", writes: true},

	"find_skills": {path: "/workspace/skills/find", body: `{"query":"x"}`},
	"list_skills": {path: "/workspace/skills/list", body: `{"limit":5}`},
	"get_skill":   {path: "/workspace/skills/get", body: `{"locator":"workspace/kept"}`},
	"create_skill": {
		path:   "/workspace/skills/create",
		body:   `{"scope":"workspace","name":"{new}","description":"d","content":"c"}`,
		writes: true,
	},

	"list_boards":  {path: "/workspace/boards"},
	"get_board":    {path: "/workspace/boards/{board}"},
	"upsert_board": {path: "/workspace/boards/upsert", body: `{"name":"{new}"}`, writes: true},
	"delete_board": {path: "/workspace/boards/{boardToo}", writes: true},

	"list_views":  {path: "/workspace/views"},
	"get_view":    {path: "/workspace/views/{view}"},
	"upsert_view": {path: "/workspace/views/upsert", body: `{"dataset":"account","view_type":"static","name":"{new}"}`, writes: true},
	"upsert_views_batch": {
		path: "/workspace/views/upsert/batch",
		body: `{"inputs":[{"dataset":"account","view_type":"static","name":"{new} too"}]}`, writes: true,
	},
	"delete_view":        {path: "/workspace/views/{deleted}", writes: true},
	"delete_views_batch": {path: "/workspace/views/delete/batch", body: `{"ids":["{deletedToo}"]}`, writes: true},
	"add_view_record":    {path: "/workspace/views/{view}/records/add", body: `{"record_id":"{account1}"}`, writes: true},
	"add_view_records_batch": {
		path: "/workspace/views/{view}/records/add/batch", body: `{"inputs":[{"record_id":"{account2}"}]}`,
		writes: true,
	},
	"remove_view_record":        {path: "/workspace/views/{view}/records/{account3}", writes: true},
	"remove_view_records_batch": {path: "/workspace/views/{view}/records/delete/batch", body: `{"ids":["{account4}"]}`, writes: true},
	"search_view_records":       {path: "/workspace/views/{view}/records/search", body: `{"limit":5}`},
	"search_workspace_batch":    {path: "/workspace/search/batch", body: `{"searches":[{"dataset":"accounts"},{"view_id":"{view}"}]}`},
	"search_data_batch":         {path: "/data/search/batch", body: `{"searches":[{"dataset":"accounts"},{"dataset":"projects"}]}`},
	"join_accounts":             {path: "/data/accounts/join", body: `{"limit":5}`},
	"join_workspace_accounts":   {path: "/workspace/accounts/join", body: `{"limit":5}`},
	"facet_view_records":        {path: "/workspace/views/{view}/records/facets", body: `{"facets":[{"field":"tags"}]}`},

	"pivot_view_records": {path: "/workspace/views/{view}/records/pivot", body: `{"rows":{"field":"tags"}}`},

	"list_alerts":        {path: "/workspace/alerts"},
	"list_alert_entries": {path: "/workspace/alerts/entries"},
	"upsert_alert":       {path: "/workspace/alerts/upsert", body: `{"view_id":"{alert2}"}`, writes: true},
	"delete_alert":       {path: "/workspace/alerts/{alert1}", writes: true},
	"see_view":           {path: "/workspace/views/{alert3}/seen", body: `{}`, writes: true},

	"list_favorite_views":  {path: "/workspace/favorite-views"},
	"upsert_favorite_view": {path: "/workspace/favorite-views/upsert", body: `{"view_id":"{liked1}"}`, writes: true},
	"upsert_favorite_views_batch": {
		path:   "/workspace/favorite-views/upsert/batch",
		body:   `{"inputs":[{"view_id":"{liked2}"}]}`,
		writes: true,
	},
	"delete_favorite_view":        {path: "/workspace/favorite-views/{favorite1}", writes: true},
	"delete_favorite_views_batch": {path: "/workspace/favorite-views/delete/batch", body: `{"ids":["{favorite2}"]}`, writes: true},
}

func init() {
	for _, d := range catalog.Datasets {
		one := d.Singular()
		interleaved["search_"+string(d)] = asked{path: "/data/" + string(d) + "/search", body: `{"limit":5}`}
		interleaved["facet_"+string(d)] = asked{
			path: "/data/" + string(d) + "/facets", body: `{"facets":[{"field":"created_at","interval":"day"}]}`,
		}
		interleaved["pivot_"+string(d)] = asked{path: "/data/" + string(d) + "/pivot", body: `{"rows":{"field":"city"}}`}
		interleaved["suggest_"+string(d)] = asked{path: "/data/" + string(d) + "/suggest", body: `{"prefix":"c"}`}
		interleaved["read_"+string(d)] = asked{path: "/data/" + string(d) + "/read", body: `{"query":"calgary"}`}
		interleaved["read_"+string(d)+"_changes"] = asked{path: "/data/" + string(d) + "/changes", body: `{"limit":5}`}
		interleaved["get_"+one] = asked{path: "/data/" + string(d) + "/{" + one + "1}"}
		interleaved["get_"+string(d)+"_batch"] = asked{path: "/data/" + string(d) + "/get/batch", body: `{"ids":["{` + one + `1}"]}`}
	}
	for _, d := range query.Matched {
		interleaved["match_"+string(d)] = asked{path: "/data/" + string(d) + "/match", body: `{"inputs":[{"ref":"1","name":"Bow Valley"}]}`}
	}
	for _, d := range catalog.Held {
		one, path := d.Singular(), "/workspace/"+string(d)
		interleaved["search_workspace_"+string(d)] = asked{path: path + "/search", body: `{"limit":5}`}
		interleaved["facet_workspace_"+string(d)] = asked{path: path + "/facets", body: `{"facets":[{"field":"tags"}]}`}
		interleaved["pivot_workspace_"+string(d)] = asked{path: path + "/pivot", body: `{"rows":{"field":"tags"}}`}
		interleaved["read_workspace_"+string(d)] = asked{path: path + "/read", body: `{"query":"calgary"}`}
		interleaved["get_workspace_"+one] = asked{path: path + "/{" + one + "1}"}
		interleaved["list_workspace_"+one+"_history"] = asked{path: path + "/{" + one + "1}/history"}
		interleaved["upsert_workspace_"+one] = asked{
			path: path + "/upsert", body: `{"` + one + `_id":"{` + one + `2}","notes":"{new}"}`, writes: true,
		}
		interleaved["delete_workspace_"+one] = asked{path: path + "/{" + one + "3}", writes: true}
		interleaved["upsert_workspace_"+string(d)+"_batch"] = asked{
			path: path + "/upsert/batch", body: `{"inputs":[{"` + one + `_id":"{` + one + `4}","notes":"{new}"}]}`,
			writes: true,
		}
		interleaved["delete_workspace_"+string(d)+"_batch"] = asked{
			path: path + "/delete/batch", body: `{"ids":["{` + one + `5}"]}`, writes: true,
		}
	}
}

// globals are the global records that targets refer to.
func globals(t *testing.T) *searchtest.World {
	t.Helper()
	data := searchtest.NewWorld()
	for i := 1; i <= 5; i++ {
		account, contact, project := searchtest.ID("a", i), searchtest.ID("c", i), searchtest.ID("p", i)
		data.Add(
			searchtest.Record(t, catalog.Accounts, fmt.Sprintf(`{"id":%q,"name":"Firm %d"}`, account, i)),
			searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Person %d"}`, contact, i)),
			searchtest.Record(t, catalog.Projects, fmt.Sprintf(`{"id":%q,"name":"Tower %d","contact_ids":[%q]}`, project, i, contact)),
			searchtest.Record(
				t,
				catalog.Signals,
				fmt.Sprintf(
					`{"id":%q,"title":"Event %d","signal_type":"stage_changed","occurred_at":"2026-01-0%dT00:00:00Z","project_id":%q}`,
					searchtest.ID("s", i),
					i,
					i,
					project,
				),
			))
	}
	return data
}

// scene is a workspace with a target for each operation, and a workspace that invites.
type scene struct {
	*world
	t        *testing.T
	in, host workspace.ID
	owner    string
	key      string
	keyID    workspace.KeyID
	admin    people.Member
	token    string // the admin's
	invited  string // the id of the host's invitation of the admin
	targets  []string
}

func (w *world) scene(t *testing.T) *scene {
	t.Helper()
	s := &scene{world: w, t: t, in: w.workspace(t, "Scene", workspace.Pro, 1000), host: w.workspace(t, "Host", workspace.Pro, 1000)}
	name := uuid.NewString()
	s.owner = tokenFor(t, w.member(t, s.in, "owner-"+name+"@example.com", people.Owner))
	s.admin = w.member(t, s.in, "admin-"+name+"@example.com", people.Owner)
	s.token = tokenFor(t, s.admin)
	s.keyID, s.key = w.key(t, people.NewKey{Workspaces: []workspace.ID{s.in}})
	_, ofHost := w.key(t, people.NewKey{Workspaces: []workspace.ID{s.host}})
	target := func(name, id string) { s.targets = append(s.targets, "{"+name+"}", id) }
	for letter, one := range map[string]string{"a": "account", "c": "contact", "p": "project", "s": "signal"} {
		for i := 1; i <= 5; i++ {
			target(fmt.Sprintf("%s%d", one, i), searchtest.ID(letter, i))
		}
	}
	target("demoted", w.member(t, s.in, "demoted-"+name+"@example.com", people.MemberRole).ID.String())
	target("removed", w.member(t, s.in, "removed-"+name+"@example.com", people.MemberRole).ID.String())

	var invitation struct {
		Invitation struct{ ID string }
		AcceptURL  string `json:"accept_url"`
	}
	s.make(s.key, "/workspace/invitations", `{"email":"someone@example.com","role":"member"}`, &invitation)
	target("invitation", invitation.Invitation.ID)
	s.make(ofHost, "/workspace/invitations", `{"email":"`+s.admin.Email+`","role":"admin"}`, &invitation)
	link, err := url.Parse(invitation.AcceptURL)
	fatal(t, err)
	target("token", link.Query().Get("token"))
	s.invited = invitation.Invitation.ID

	var made struct {
		Subscription struct{ ID string }
		View         struct{ ID string }
		Webhook      struct{ ID string }
		Delivery     struct{ ID string }
		Board        struct{ ID string }
		APIKey       struct{ ID, Secret string } `json:"api_key"`
	}
	s.make(s.key, "/workspace/signal-subscriptions/upsert", `{"signal_type":"permit_filed"}`, &made)
	target("subscription", made.Subscription.ID)
	for _, key := range []string{"apiKey", "apiKeyToo"} {
		s.make(s.key, "/workspace/api-keys", `{"name":"`+key+`","scopes":["data:read"]}`, &made)
		target(key, made.APIKey.ID)
	}
	s.make(s.key, "/workspace/api-keys", `{"name":"ended","scopes":["workspace:write"]}`, &made)
	s.make(made.APIKey.Secret, "/workspace/boards/upsert", `{"name":"of the ended key"}`, nil)
	w.call(t, s.key, "DELETE", "/workspace/api-keys/"+made.APIKey.ID, "").into(t, nil, nil)
	target("endedKey", made.APIKey.ID)
	s.make(s.token, "/workspace/api-keys?workspace_id="+s.in.String(), `{"name":"of the admin","scopes":["data:read"]}`, &made)
	target("apiKeyOfAdmin", made.APIKey.ID)
	of := "?workspace_id=" + s.in.String()
	s.make(s.token, "/workspace/identity/provider"+of, `{"issuer":"https://id.example","client_id":"x","client_secret":"y"}`, nil)
	for _, domain := range []string{"domain", "checkedDomain"} {
		s.make(s.token, "/workspace/identity/domains"+of, `{"domain":"`+strings.ToLower(domain)+`.example"}`, nil)
		target(domain, strings.ToLower(domain)+".example")
	}
	var token struct{ Token struct{ ID string } }
	s.make(s.token, "/workspace/identity/scim/tokens?workspace_id="+s.in.String(), `{"name":"IdP"}`, &token)
	target("scimToken", token.Token.ID)
	group := uuid.NewString()
	w.exec(t, `INSERT INTO scim_groups (workspace_id, id, display_name, display_name_folded, version, created_at, updated_at)
		VALUES ($1, $2, 'Sales', 'sales', 1, now(), now())`, s.in.String(), group)
	target("scimGroup", group)
	for _, hook := range []string{"hook", "hookToo"} {
		s.make(s.key, "/workspace/webhooks/upsert", `{"url":"https://hooks.example/`+hook+`","events":["record.changed"]}`, &made)
		target(hook, made.Webhook.ID)
	}
	for _, delivery := range []string{"delivery", "deliveryToo"} {
		s.make(s.key, s.fill("/workspace/webhooks/{hook}/test"), "", &made)
		target(delivery, made.Delivery.ID)
	}
	w.exec(t, `UPDATE jobs SET state = 'done', ended_at = created_at WHERE workspace_id = $1`, s.in.String())
	s.make(s.key, "/workspace/signal-subscriptions/upsert", `{"signal_type":"stage_changed"}`, nil)
	target("dismissed", searchtest.ID("s", 1))
	target("unread", searchtest.ID("s", 2))
	s.make(s.key, "/workspace/signal-queue/dismiss/batch", s.fill(`{"ids":["{dismissed}"]}`), nil)
	s.make(s.key, "/workspace/skills/create", `{"scope":"workspace","name":"Kept","slug":"kept","description":"d","content":"c"}`, nil)
	for _, board := range []string{"board", "boardToo"} {
		s.make(s.key, "/workspace/boards/upsert", `{"name":"`+board+`"}`, &made)
		target(board, made.Board.ID)
	}
	for _, view := range []string{"view", "deleted", "deletedToo", "liked1", "liked2", "favorite1", "favorite2"} {
		s.make(s.key, "/workspace/views/upsert", viewBody("account", "static", view), &made)
		target(view, made.View.ID)
		if strings.HasPrefix(view, "favorite") {
			s.make(s.token, "/workspace/favorite-views/upsert?workspace_id="+s.in.String(), `{"view_id":"`+made.View.ID+`"}`, nil)
		}
	}
	for _, view := range []string{"alert1", "alert2", "alert3"} {
		s.make(s.key, "/workspace/views/upsert", viewBody("account", "dynamic", view), &made)
		target(view, made.View.ID)
		if view != "alert2" {
			s.make(s.token, "/workspace/alerts/upsert?workspace_id="+s.in.String(), `{"view_id":"`+made.View.ID+`"}`, nil)
		}
	}
	s.make(
		s.key, s.fill("/workspace/views/{view}/records/add/batch"),
		s.fill(`{"inputs":[{"record_id":"{account3}"},{"record_id":"{account4}"}]}`), nil,
	)
	for _, d := range catalog.Held {
		item := func(n int) string { return fmt.Sprintf(`{"%[1]s_id":"{%[1]s%[2]d}","notes":"x"}`, d.Singular(), n) }
		s.make(s.key, "/workspace/"+string(d)+"/upsert/batch", s.fill(`{"inputs":[`+item(1)+`,`+item(3)+`,`+item(5)+`]}`), nil)
	}
	return s
}

// make sends a request that must succeed.
func (s *scene) make(token, path, body string, into any) {
	s.t.Helper()
	a := s.call(s.t, token, "POST", path, body)
	if into == nil {
		into = new(any)
	}
	a.into(s.t, into, nil)
}

// fill replaces the {names} in a text by the scene's targets.
func (s *scene) fill(text string) string {
	return strings.NewReplacer(append([]string{"{new}", "new-" + uuid.NewString()}, s.targets...)...).Replace(text)
}

// stored returns the content of Postgres for the scene's workspaces, by table, except
// what background jobs change.
func (s *scene) stored() map[string]string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.databases.Admin)
	fatal(s.t, err)
	defer conn.Close(ctx) //nolint:errcheck // the test is done with it
	rows, err := conn.Query(
		ctx,
		`SELECT table_name::text FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
		WHERE table_schema = 'public' AND column_name = 'workspace_id' AND table_type = 'BASE TABLE' AND table_name NOT IN ('held_records', 'projectors', 'workspace_changes', 'audit_events', 'audit_values')`,
	)
	fatal(s.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	fatal(s.t, err)
	all := map[string]string{}
	for _, table := range tables {
		var text *string
		fatal(s.t, conn.QueryRow(ctx, `SELECT string_agg(r, E'\n' ORDER BY r) FROM (
			SELECT (to_jsonb(t) - ARRAY['atlas_score', 'atlas_trend', 'scored_at', 'last_used_at', 'last_network'])::text FROM `+pgx.Identifier{table}.Sanitize()+` t WHERE workspace_id = ANY($1)) AS rows (r)`,
			[]uuid.UUID{uuid.UUID(s.in), uuid.UUID(s.host)}).Scan(&text))
		if text != nil {
			all[table] = *text
		}
	}
	for _, in := range []workspace.ID{s.in, s.host} {
		used, err := s.ledger.Usage(ctx, in.String(), 1000)
		fatal(s.t, err)
		b, err := json.Marshal(used)
		fatal(s.t, err)
		all["credits of "+in.String()] = string(b)
	}
	return all
}
