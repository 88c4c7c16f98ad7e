package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"atlas/search/catalog"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/workspace"
	"atlas/workspace/people"
)

// row states the rules of docs/api.md for a route, independent of the route table.
type row struct {
	method, path, body string
	scope              workspace.Scope
	// also is another scope that it needs.
	also workspace.Scope
	// required: users must send workspace_id.
	required bool
	// admins: plain members are refused.
	admins bool
	// newcomers: users of any or no workspace; API keys are refused.
	newcomers bool
	// users: API keys are refused.
	users bool
	// unthrottled: works when the ceiling is exhausted.
	unthrottled bool
	// ok is the answer to a caller with access.
	ok verdict
}

type verdict struct {
	status int
	code   string
}

var (
	fine         = verdict{200, ""}
	unauthorized = verdict{401, "unauthorized"}
	forbidden    = verdict{403, "forbidden"}
	badRequest   = verdict{400, "bad_request"}
	invalid      = verdict{400, "validation"}
	notAUser     = verdict{400, "user_identity_required"}
	notFound     = verdict{404, "not_found"}
	rateLimited  = verdict{429, "rate_limited"}
	budgetUsed   = verdict{429, "key_budget_used"}
	noView       = verdict{404, "view_not_found"}
)

const (
	dataRead  = workspace.DataRead
	wsRead    = workspace.WorkspaceRead
	wsWrite   = workspace.WorkspaceWrite
	wsAdmin   = workspace.WorkspaceAdmin
	unknownID = "01a1fe20-0000-7000-8000-00000000dead"
)

// rows has every route by its operation. The % of a body is replaced by a unique text.
var rows = map[string]row{
	"get_workspace":          {method: "GET", path: "/workspace", scope: wsRead, unthrottled: true, ok: fine},
	"read_workspace_changes": {method: "POST", path: "/workspace/changes", body: `{}`, scope: wsWrite, admins: true, ok: fine},
	"get_credits":            {method: "GET", path: "/workspace/credits", scope: wsRead, unthrottled: true, ok: fine},

	"search_accounts": {method: "POST", path: "/data/accounts/search", body: `{}`, scope: dataRead, required: true, ok: fine},
	"search_contacts": {method: "POST", path: "/data/contacts/search", body: `{}`, scope: dataRead, required: true, ok: fine},
	"search_projects": {method: "POST", path: "/data/projects/search", body: `{}`, scope: dataRead, required: true, ok: fine},
	"search_signals":  {method: "POST", path: "/data/signals/search", body: `{}`, scope: dataRead, required: true, ok: fine},
	"search_data_batch": {
		method: "POST", path: "/data/search/batch", body: `{"searches":[{"dataset":"accounts"}]}`, scope: dataRead,
		required: true, ok: fine,
	},
	"search_workspace_batch": {
		method: "POST", path: "/workspace/search/batch", body: `{"searches":[{"dataset":"accounts"}]}`, scope: wsRead,
		ok: fine,
	},

	"join_accounts":           {method: "POST", path: "/data/accounts/join", body: `{}`, scope: dataRead, required: true, ok: fine},
	"join_workspace_accounts": {method: "POST", path: "/workspace/accounts/join", body: `{}`, scope: wsRead, also: dataRead, ok: fine},

	"facet_accounts": {method: "POST", path: "/data/accounts/facets", body: `{}`, scope: dataRead, required: true, ok: fine},
	"facet_contacts": {method: "POST", path: "/data/contacts/facets", body: `{}`, scope: dataRead, required: true, ok: fine},
	"facet_projects": {method: "POST", path: "/data/projects/facets", body: `{}`, scope: dataRead, required: true, ok: fine},
	"facet_signals":  {method: "POST", path: "/data/signals/facets", body: `{}`, scope: dataRead, required: true, ok: fine},

	"pivot_accounts": {
		method: "POST", path: "/data/accounts/pivot", body: `{"rows":{"field":"city"}}`,
		scope: dataRead, required: true, ok: fine,
	},
	"pivot_contacts": {
		method: "POST", path: "/data/contacts/pivot", body: `{"rows":{"field":"city"}}`,
		scope: dataRead, required: true, ok: fine,
	},
	"pivot_projects": {
		method: "POST", path: "/data/projects/pivot", body: `{"rows":{"field":"city"}}`,
		scope: dataRead, required: true, ok: fine,
	},
	"pivot_signals": {
		method: "POST", path: "/data/signals/pivot", body: `{"rows":{"field":"city"}}`,
		scope: dataRead, required: true, ok: fine,
	},

	"suggest_accounts": {method: "POST", path: "/data/accounts/suggest", body: `{"prefix":"x"}`, scope: dataRead, required: true, ok: fine},
	"suggest_contacts": {method: "POST", path: "/data/contacts/suggest", body: `{"prefix":"x"}`, scope: dataRead, required: true, ok: fine},
	"suggest_projects": {method: "POST", path: "/data/projects/suggest", body: `{"prefix":"x"}`, scope: dataRead, required: true, ok: fine},
	"suggest_signals":  {method: "POST", path: "/data/signals/suggest", body: `{"prefix":"x"}`, scope: dataRead, required: true, ok: fine},

	"read_accounts": {method: "POST", path: "/data/accounts/read", body: `{"query":"x"}`, scope: dataRead, required: true, ok: fine},
	"read_contacts": {method: "POST", path: "/data/contacts/read", body: `{"query":"x"}`, scope: dataRead, required: true, ok: fine},
	"read_projects": {method: "POST", path: "/data/projects/read", body: `{"query":"x"}`, scope: dataRead, required: true, ok: fine},
	"read_signals":  {method: "POST", path: "/data/signals/read", body: `{"query":"x"}`, scope: dataRead, required: true, ok: fine},

	"get_account": {method: "GET", path: "/data/accounts/" + unknownID, scope: dataRead, required: true, ok: notFound},
	"get_contact": {method: "GET", path: "/data/contacts/" + unknownID, scope: dataRead, required: true, ok: notFound},
	"get_project": {method: "GET", path: "/data/projects/" + unknownID, scope: dataRead, required: true, ok: notFound},
	"get_signal":  {method: "GET", path: "/data/signals/" + unknownID, scope: dataRead, required: true, ok: notFound},
	"search_fields": {
		method:      "POST",
		path:        "/data/fields/search",
		body:        `{}`,
		scope:       dataRead,
		required:    true,
		unthrottled: true,
		ok:          fine,
	},
	"get_field": {method: "GET", path: "/data/fields/accounts/name", scope: dataRead, required: true, unthrottled: true, ok: fine},
	"get_usage": {method: "GET", path: "/data/usage", scope: dataRead, required: true, unthrottled: true, ok: fine},

	"match_accounts": {
		method: "POST", path: "/data/accounts/match", body: `{"inputs":[{"ref":"1","name":"x"}]}`, scope: dataRead,
		required: true, ok: fine,
	},
	"match_contacts": {
		method: "POST", path: "/data/contacts/match", body: `{"inputs":[{"ref":"1","name":"x"}]}`, scope: dataRead,
		required: true, ok: fine,
	},
	"read_accounts_changes": {method: "POST", path: "/data/accounts/changes", body: `{}`, scope: dataRead, required: true, ok: fine},
	"read_contacts_changes": {method: "POST", path: "/data/contacts/changes", body: `{}`, scope: dataRead, required: true, ok: fine},
	"read_projects_changes": {method: "POST", path: "/data/projects/changes", body: `{}`, scope: dataRead, required: true, ok: fine},
	"read_signals_changes":  {method: "POST", path: "/data/signals/changes", body: `{}`, scope: dataRead, required: true, ok: fine},
	"get_release":           {method: "GET", path: "/data/release", scope: dataRead, required: true, ok: fine},
	"get_coverage": {
		method: "POST", path: "/data/coverage", body: `{"dataset":"accounts","by":"city"}`, scope: dataRead,
		required: true, ok: fine,
	},

	"list_members": {method: "GET", path: "/workspace/members", scope: wsRead, ok: fine},
	"update_member": {
		method: "PATCH", path: "/workspace/members/" + unknownID, body: `{"role":"admin"}`, scope: wsWrite,
		admins: true, ok: notFound,
	},
	"remove_member":    {method: "DELETE", path: "/workspace/members/" + unknownID, scope: wsWrite, admins: true, ok: fine},
	"sign_out_member":  {method: "POST", path: "/workspace/members/" + unknownID + "/sign-out", scope: wsWrite, admins: true, ok: notFound},
	"list_invitations": {method: "GET", path: "/workspace/invitations", scope: wsRead, ok: fine},
	"create_invitation": {
		method: "POST", path: "/workspace/invitations", body: `{"email":"%@example.com","role":"member"}`,
		scope: wsWrite, admins: true, ok: fine,
	},
	"revoke_invitation": {method: "DELETE", path: "/workspace/invitations/" + unknownID, scope: wsWrite, admins: true, ok: notFound},
	"preview_invitation": {
		method: "POST", path: "/workspace/invitations/preview", body: `{"token":"x"}`, scope: wsWrite, newcomers: true,
		unthrottled: true, ok: notFound,
	},
	"accept_invitation": {
		method: "POST", path: "/workspace/invitations/accept", body: `{"token":"x"}`, scope: wsWrite, newcomers: true,
		unthrottled: true, ok: notFound,
	},

	"list_audit_events": {
		method: "GET", path: "/workspace/audit", scope: wsRead, also: wsAdmin, admins: true, unthrottled: true, ok: fine,
	},
	"list_records_delivered": {
		method: "GET", path: "/workspace/audit/records", scope: wsRead, also: wsAdmin, admins: true, unthrottled: true, ok: fine,
	},
	"list_api_keys": {
		method: "GET", path: "/workspace/api-keys", scope: wsRead, also: wsAdmin, admins: true, unthrottled: true, ok: fine,
	},
	"create_api_key": {
		method: "POST", path: "/workspace/api-keys", body: `{"name":"%","scopes":["everything"]}`,
		scope: wsWrite, also: wsAdmin, admins: true, unthrottled: true, ok: invalid,
	},
	"rotate_api_key": {
		method: "POST", path: "/workspace/api-keys/" + unknownID + "/rotate",
		scope: wsWrite, also: wsAdmin, admins: true, unthrottled: true, ok: notFound,
	},
	"list_api_key_actions": {
		method: "GET", path: "/workspace/api-keys/" + unknownID + "/actions", scope: wsRead, admins: true, users: true, unthrottled: true,
		ok: notFound,
	},
	"undo_api_key": {
		method: "POST", path: "/workspace/api-keys/" + unknownID + "/undo", body: `{}`, scope: wsWrite, admins: true, users: true,
		unthrottled: true, ok: notFound,
	},
	"get_api_key_policy": {method: "GET", path: "/workspace/api-keys/policy", scope: wsRead, unthrottled: true, ok: fine},
	"set_api_key_policy": {
		method: "POST", path: "/workspace/api-keys/policy", body: `{}`, scope: wsWrite, admins: true, users: true, unthrottled: true, ok: fine,
	},
	"get_identity_provider": {
		method: "GET", path: "/workspace/identity/provider", scope: wsRead, admins: true, users: true, unthrottled: true, ok: fine,
	},
	"set_identity_provider": {
		method: "POST", path: "/workspace/identity/provider", body: `{"issuer":"http://plain.example","client_id":"x"}`,
		scope: wsWrite, admins: true, users: true, unthrottled: true, ok: invalid,
	},
	"delete_identity_provider": {
		method: "DELETE", path: "/workspace/identity/provider", scope: wsWrite, admins: true, users: true, unthrottled: true,
		ok: notFound,
	},
	"list_identity_domains": {
		method: "GET", path: "/workspace/identity/domains", scope: wsRead, admins: true, users: true, unthrottled: true, ok: fine,
	},
	"add_identity_domain": {
		method: "POST", path: "/workspace/identity/domains", body: `{"domain":"%.example"}`, scope: wsWrite, admins: true, users: true,
		unthrottled: true, ok: fine,
	},
	"check_identity_domain": {
		method: "POST", path: "/workspace/identity/domains/none.example/check", scope: wsWrite, admins: true, users: true, unthrottled: true,
		ok: notFound,
	},
	"delete_identity_domain": {
		method: "DELETE", path: "/workspace/identity/domains/none.example", scope: wsWrite, admins: true, users: true, unthrottled: true,
		ok: notFound,
	},
	"revoke_api_key": {
		method: "DELETE", path: "/workspace/api-keys/" + unknownID,
		scope: wsWrite, also: wsAdmin, admins: true, unthrottled: true, ok: notFound,
	},
	"list_scim_tokens": {
		method: "GET", path: "/workspace/identity/scim/tokens", scope: wsRead, admins: true, users: true, unthrottled: true, ok: fine,
	},
	"create_scim_token": {
		method: "POST", path: "/workspace/identity/scim/tokens", body: `{"name":""}`,
		scope: wsWrite, admins: true, users: true, unthrottled: true, ok: invalid,
	},
	"revoke_scim_token": {
		method: "DELETE", path: "/workspace/identity/scim/tokens/" + unknownID,
		scope: wsWrite, admins: true, users: true, unthrottled: true, ok: notFound,
	},
	"list_provisioned_people": {
		method: "GET", path: "/workspace/identity/scim/people", scope: wsRead, admins: true, users: true, unthrottled: true, ok: fine,
	},
	"list_provisioned_groups": {
		method: "GET", path: "/workspace/identity/scim/groups", scope: wsRead, admins: true, users: true, unthrottled: true, ok: fine,
	},
	"set_group_role": {
		method: "POST", path: "/workspace/identity/scim/groups/" + unknownID, body: `{"role":"admin"}`,
		scope: wsWrite, admins: true, users: true, unthrottled: true, ok: notFound,
	},
	"list_webhooks": {method: "GET", path: "/workspace/webhooks", scope: wsRead, admins: true, ok: fine},
	"upsert_webhook": {
		method: "POST", path: "/workspace/webhooks/upsert",
		body:  `{"id":"` + unknownID + `","url":"https://hooks.example/atlas","events":["record.changed"]}`,
		scope: wsWrite, admins: true, ok: notFound,
	},
	"delete_webhook": {method: "DELETE", path: "/workspace/webhooks/" + unknownID, scope: wsWrite, admins: true, ok: notFound},
	"test_webhook":   {method: "POST", path: "/workspace/webhooks/" + unknownID + "/test", scope: wsWrite, admins: true, ok: notFound},
	"rotate_webhook": {method: "POST", path: "/workspace/webhooks/" + unknownID + "/rotate", scope: wsWrite, admins: true, ok: notFound},
	"list_webhook_deliveries": {
		method: "GET", path: "/workspace/webhooks/" + unknownID + "/deliveries", scope: wsRead, admins: true,
		ok: notFound,
	},
	"replay_webhook_delivery": {
		method: "POST", path: "/workspace/webhooks/" + unknownID + "/deliveries/" + unknownID + "/replay",
		scope: wsWrite, admins: true, ok: notFound,
	},
	"replay_webhook": {
		method: "POST", path: "/workspace/webhooks/" + unknownID + "/replay",
		body: `{"from":"2026-01-01","to":"2026-01-02"}`, scope: wsWrite, admins: true, ok: notFound,
	},

	"list_signal_subscriptions": {method: "GET", path: "/workspace/signal-subscriptions", scope: wsRead, ok: fine},
	"upsert_signal_subscription": {
		method: "POST", path: "/workspace/signal-subscriptions/upsert", body: `{"signal_type":"permit_filed"}`,
		scope: wsWrite, ok: fine,
	},
	"search_signal_queue": {method: "POST", path: "/workspace/signal-queue/search", body: `{}`, scope: wsRead, ok: fine},
	"dismiss_signals_batch": {
		method: "POST", path: "/workspace/signal-queue/dismiss/batch", body: `{"ids":["` + unknownID + `"]}`,
		scope: wsWrite, ok: fine,
	},
	"restore_signals_batch": {
		method: "POST", path: "/workspace/signal-queue/restore/batch", body: `{"ids":["` + unknownID + `"]}`,
		scope: wsWrite, ok: fine,
	},
	"delete_signal_subscription": {method: "DELETE", path: "/workspace/signal-subscriptions/" + unknownID, scope: wsWrite, ok: fine},

	"list_boards":  {method: "GET", path: "/workspace/boards", scope: wsRead, ok: fine},
	"get_board":    {method: "GET", path: "/workspace/boards/" + unknownID, scope: wsRead, ok: notFound},
	"upsert_board": {method: "POST", path: "/workspace/boards/upsert", body: `{"name":"%"}`, scope: wsWrite, ok: fine},
	"delete_board": {method: "DELETE", path: "/workspace/boards/" + unknownID, scope: wsWrite, ok: notFound},

	"list_views": {method: "GET", path: "/workspace/views", scope: wsRead, required: true, ok: fine},
	"get_view":   {method: "GET", path: "/workspace/views/" + unknownID, scope: wsRead, ok: noView},
	"upsert_view": {
		method: "POST", path: "/workspace/views/upsert", body: `{"dataset":"account","view_type":"static","name":"%"}`,
		scope: wsWrite, ok: fine,
	},
	"upsert_views_batch": {method: "POST", path: "/workspace/views/upsert/batch", body: `{"inputs":[{}]}`, scope: wsWrite, ok: fine},
	"delete_view":        {method: "DELETE", path: "/workspace/views/" + unknownID, scope: wsWrite, ok: noView},
	"delete_views_batch": {method: "POST", path: "/workspace/views/delete/batch", body: `{"ids":["x"]}`, scope: wsWrite, ok: fine},
	"add_view_record": {
		method: "POST", path: "/workspace/views/" + unknownID + "/records/add",
		body: `{"record_id":"` + unknownID + `"}`, scope: wsWrite, ok: noView,
	},
	"add_view_records_batch": {
		method: "POST", path: "/workspace/views/" + unknownID + "/records/add/batch", body: `{"inputs":[{}]}`,
		scope: wsWrite, ok: noView,
	},
	"remove_view_record": {method: "DELETE", path: "/workspace/views/" + unknownID + "/records/" + unknownID, scope: wsWrite, ok: noView},
	"remove_view_records_batch": {
		method: "POST", path: "/workspace/views/" + unknownID + "/records/delete/batch", body: `{"ids":["x"]}`,
		scope: wsWrite, ok: noView,
	},
	"pivot_view_records": {
		method: "POST", path: "/workspace/views/" + unknownID + "/records/pivot", body: `{"rows":{"field":"tags"}}`,
		scope: wsRead, ok: noView,
	},
	"facet_view_records": {
		method: "POST",
		path:   "/workspace/views/" + unknownID + "/records/facets",
		body:   `{}`,
		scope:  wsRead,
		ok:     noView,
	},
	"search_view_records": {
		method: "POST",
		path:   "/workspace/views/" + unknownID + "/records/search",
		body:   `{}`,
		scope:  wsRead,
		ok:     noView,
	},

	"list_favorite_views": {method: "GET", path: "/workspace/favorite-views", scope: wsRead, required: true, users: true, ok: fine},
	"upsert_favorite_view": {
		method: "POST", path: "/workspace/favorite-views/upsert", body: `{"view_id":"` + unknownID + `"}`,
		scope: wsWrite, users: true, ok: noView,
	},
	"upsert_favorite_views_batch": {
		method: "POST", path: "/workspace/favorite-views/upsert/batch", body: `{"inputs":[{}]}`, scope: wsWrite,
		users: true, ok: fine,
	},
	"delete_favorite_view": {method: "DELETE", path: "/workspace/favorite-views/" + unknownID, scope: wsWrite, users: true, ok: fine},
	"delete_favorite_views_batch": {
		method: "POST", path: "/workspace/favorite-views/delete/batch", body: `{"ids":["x"]}`, scope: wsWrite,
		users: true, ok: fine,
	},

	"list_alerts":        {method: "GET", path: "/workspace/alerts", scope: wsRead, users: true, ok: fine},
	"list_alert_entries": {method: "GET", path: "/workspace/alerts/entries", scope: wsRead, users: true, ok: fine},
	"upsert_alert": {
		method: "POST", path: "/workspace/alerts/upsert", body: `{"view_id":"` + unknownID + `"}`, scope: wsWrite, users: true, ok: noView,
	},
	"delete_alert": {method: "DELETE", path: "/workspace/alerts/" + unknownID, scope: wsWrite, users: true, ok: fine},
	"see_view": {
		method: "POST", path: "/workspace/views/" + unknownID + "/seen", body: `{}`, scope: wsWrite, users: true,
		ok: verdict{404, "not_found"},
	},

	"find_skills": {method: "POST", path: "/workspace/skills/find", body: `{}`, scope: wsRead, ok: fine},
	"list_skills": {method: "POST", path: "/workspace/skills/list", body: `{}`, scope: wsRead, ok: fine},
	"get_skill": {
		method: "POST", path: "/workspace/skills/get", body: `{"locator":"workspace/none"}`, scope: wsRead,
		ok: verdict{404, "skill_not_found"},
	},
	"create_skill": {
		method: "POST",
		path:   "/workspace/skills/create",
		body:   `{"scope":"workspace","name":"%","description":"d","content":"c"}`,
		scope:  wsWrite,
		ok:     fine,
	},
}

// caller is a column: a token, a workspace_id, and the answer of each route.
type caller struct {
	token, in string
	want      func(row) verdict
}

// always returns the same answer for each route.
func always(v verdict) func(row) verdict { return func(row) verdict { return v } }

// asMember is the answer to a member that sends workspace_id.
func asMember(administers bool) func(row) verdict {
	return func(r row) verdict {
		if r.admins && !administers {
			return forbidden
		}
		return r.ok
	}
}

// unlessNewcomer is the answer to a user without access to the workspace. Accepting an
// invitation needs no access.
func unlessNewcomer(v verdict) func(row) verdict {
	return func(r row) verdict {
		if r.newcomers {
			return r.ok
		}
		return v
	}
}

func asKey(scopes ...workspace.Scope) func(row) verdict {
	return func(r row) verdict {
		switch {
		case r.newcomers || r.users:
			return notAUser
		case !slices.Contains(scopes, r.scope) || r.also != "" && !slices.Contains(scopes, r.also):
			return forbidden
		}
		return r.ok
	}
}

// bookRows are the rows of one dataset of the book.
func bookRows(d catalog.Dataset) map[string]row {
	path, one := "/workspace/"+string(d), d.Singular()
	none := verdict{404, "not_found"}
	return map[string]row{
		"facet_workspace_" + string(d): {method: "POST", path: path + "/facets", body: `{}`, scope: wsRead, ok: fine},
		"pivot_workspace_" + string(d): {
			method: "POST",
			path:   path + "/pivot",
			body:   `{"rows":{"field":"tags"}}`,
			scope:  wsRead,
			ok:     fine,
		},
		"read_workspace_" + string(d):        {method: "POST", path: path + "/read", body: `{"query":"x"}`, scope: wsRead, ok: fine},
		"search_workspace_" + string(d):      {method: "POST", path: path + "/search", body: `{}`, scope: wsRead, ok: fine},
		"get_workspace_" + one:               {method: "GET", path: path + "/" + unknownID, scope: wsRead, ok: none},
		"list_workspace_" + one + "_history": {method: "GET", path: path + "/" + unknownID + "/history", scope: wsRead, ok: fine},
		"upsert_workspace_" +
			one: {method: "POST", path: path + "/upsert", body: `{"` + one + `_id":"` + unknownID + `"}`, scope: wsWrite, ok: none},
		"delete_workspace_" + one: {method: "DELETE", path: path + "/" + unknownID, scope: wsWrite, ok: fine},
		"upsert_workspace_" + string(d) +
			"_batch": {method: "POST", path: path + "/upsert/batch", body: `{"inputs":[{}]}`, scope: wsWrite, ok: fine},
		"delete_workspace_" + string(d) +
			"_batch": {method: "POST", path: path + "/delete/batch", body: `{"ids":["x"]}`, scope: wsWrite, ok: fine},
	}
}

func init() {
	for _, d := range catalog.Datasets {
		rows["get_"+string(d)+"_batch"] = row{
			method: "POST", path: "/data/" + string(d) + "/get/batch", body: `{"ids":["x"]}`, scope: dataRead,
			required: true, ok: fine,
		}
	}
	for _, d := range catalog.Held {
		maps.Copy(rows, bookRows(d))
	}
}

// callers returns the columns.
func callers(t *testing.T, w *world) map[string]caller {
	in := w.workspace(t, "One", workspace.Pro, 0)
	other := w.workspace(t, "Other", workspace.Pro, 0)
	free := w.workspace(t, "Free", workspace.Free, 0)
	spend := func(in workspace.ID, by credits.Key) {
		reservation, _, err := w.ledger.Reserve(t.Context(), in.String(), 1, "search_accounts", 1, by)
		fatal(t, err)
		_, err = reservation.Settle(t.Context(), 1)
		fatal(t, err)
	}
	spent := w.workspace(t, "Spent", workspace.Pro, 1)
	spend(spent, credits.Key{})
	spenderID, spender := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Budget: workspace.KeyBudget{DailyCredits: 1}})
	spend(in, credits.Key{ID: spenderID.String()})

	id, all := in.String(), workspace.AllScopes()
	member := w.member(t, in, "member@one.example", people.MemberRole)
	admin := w.member(t, in, "admin@one.example", people.Admin)
	owner := w.member(t, in, "owner@one.example", people.Owner)
	foreigner := w.member(t, other, "owner@other.example", people.Owner)
	ofFree := w.member(t, free, "owner@free.example", people.Owner)
	ofSpent := w.member(t, spent, "owner@spent.example", people.Owner)
	outsider := people.Member{ID: workspace.NewUserID(), Email: "outsider@example.com"}
	good := tokenFor(t, owner)
	changed := func(change func(*auth.Claims)) string {
		c := claims(owner.ID, owner.Email)
		change(&c)
		return mint(t, secret, c, time.Hour)
	}
	raw := func(method jwt.SigningMethod, key any, change jwt.MapClaims) string {
		c := jwt.MapClaims{"sub": owner.ID.String(), "iss": issuer, "aud": audience, "exp": time.Now().Add(time.Hour).Unix()}
		for name, value := range change {
			c[name] = value
		}
		text, err := jwt.NewWithClaims(method, c).SignedString(key)
		fatal(t, err)
		return text
	}
	key := func(n people.NewKey) string { _, text := w.key(t, n); return text }
	of := func(ids ...workspace.ID) []workspace.ID { return ids }
	revokedID, revoked := w.key(t, people.NewKey{Workspaces: of(in)})
	_, err := w.directory.RevokeKey(t.Context(), revokedID)
	fatal(t, err)
	expired := key(people.NewKey{Workspaces: of(in), ExpiresIn: time.Millisecond})
	keyOfOne := key(people.NewKey{Workspaces: of(in)})

	columns := map[string]caller{
		"no token":     {"", id, always(unauthorized)},
		"broken token": {"nonsense", id, always(unauthorized)},
		"broken JWT":   {good[:len(good)-2], id, always(unauthorized)},
		"changed JWT":  {strings.Replace(good, ".", ".A", 1), id, always(unauthorized)},
		"expired JWT": {
			changed(func(c *auth.Claims) { c.IssuedAt = time.Now().Add(-2 * time.Hour) }),
			id,
			always(unauthorized),
		},
		"JWT of another secret":    {mint(t, secret+"x", claims(owner.ID, owner.Email), time.Hour), id, always(unauthorized)},
		"JWT of another issuer":    {changed(func(c *auth.Claims) { c.Issuer = "https://evil.example" }), id, always(unauthorized)},
		"JWT for another audience": {changed(func(c *auth.Claims) { c.Audience = "other" }), id, always(unauthorized)},
		"JWT of no algorithm":      {raw(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil), id, always(unauthorized)},
		"JWT not yet valid": {
			raw(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"nbf": time.Now().Add(time.Hour).Unix()}), id,
			always(unauthorized),
		},
		"JWT of nobody": {raw(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"sub": "olga"}), id, always(unauthorized)},
		"JWT with a claim no UUID": {
			raw(jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"workspace_id": "one"}),
			id,
			always(unauthorized),
		},
		"unknown key":                {workspace.NewSecret().Token(workspace.NewKeyID()), id, always(unauthorized)},
		"key with another secret":    {workspace.NewSecret().Token(revokedID), id, always(unauthorized)},
		"broken key":                 {keyOfOne[:len(keyOfOne)-1], id, always(unauthorized)},
		"member":                     {tokenFor(t, member), id, asMember(false)},
		"admin":                      {tokenFor(t, admin), id, asMember(true)},
		"owner":                      {good, id, asMember(true)},
		"member, id in upper case":   {tokenFor(t, member), strings.ToUpper(id), asMember(false)},
		"owner, workspace not named": {good, "", func(r row) verdict { return named(r, asMember(true)(r)) }},
		"owner, by claim": {
			changed(func(c *auth.Claims) { c.Workspace = in }),
			"",
			func(r row) verdict { return named(r, asMember(true)(r)) },
		},
		"owner, claim of a foreign": {
			changed(func(c *auth.Claims) { c.Workspace = other }), "",
			func(r row) verdict { return named(r, unlessNewcomer(forbidden)(r)) },
		},
		"owner, named no UUID":       {good, "one", always(invalid)},
		"owner of another workspace": {tokenFor(t, foreigner), id, unlessNewcomer(forbidden)},
		"owner, of an unknown one":   {good, unknownID, unlessNewcomer(forbidden)},
		"user of no workspace":       {tokenFor(t, outsider), id, unlessNewcomer(forbidden)},
		"user of none, none named":   {tokenFor(t, outsider), "", unlessNewcomer(badRequest)},
		"owner of a free workspace":  {tokenFor(t, ofFree), free.String(), unlessNewcomer(forbidden)},
		"key of a free workspace":    {key(people.NewKey{Workspaces: of(free)}), "", always(forbidden)},
		"key":                        {keyOfOne, "", asKey(all...)},
		"key naming its workspace":   {keyOfOne, id, asKey(all...)},
		"key of several, another":    {key(people.NewKey{Workspaces: of(other, in)}), id, asKey(all...)},
		"key of another workspace":   {key(people.NewKey{Workspaces: of(other)}), id, always(forbidden)},
		"key naming an unknown one":  {keyOfOne, unknownID, always(forbidden)},
		"key naming no UUID":         {keyOfOne, "one", always(invalid)},
		"restricted key":             {key(people.NewKey{Workspaces: of(in), Restricted: true}), "", always(forbidden)},
		"revoked key":                {revoked, "", always(forbidden)},
		"expired key":                {expired, "", always(forbidden)},
		"key, ceiling used up":       {key(people.NewKey{Workspaces: of(spent)}), "", throttled(rateLimited, asKey(all...))},
		"key, budget used up":        {spender, "", throttled(budgetUsed, asKey(all...))},
		"owner, ceiling used up":     {tokenFor(t, ofSpent), spent.String(), throttled(rateLimited, asMember(true))},
	}
	for set := 1; set < 1<<len(all); set++ {
		var scopes []workspace.Scope
		for i, s := range all {
			if set&(1<<i) != 0 {
				scopes = append(scopes, s)
			}
		}
		columns[fmt.Sprintf("key with %v", scopes)] = caller{key(people.NewKey{Workspaces: of(in), Scopes: scopes}), "", asKey(scopes...)}
	}
	return columns
}

// named is the answer to a user that does not send workspace_id.
func named(r row, otherwise verdict) verdict {
	if r.required {
		return badRequest
	}
	return otherwise
}

func throttled(refusal verdict, want func(row) verdict) func(row) verdict {
	return func(r row) verdict {
		if v := want(r); r.unthrottled || v == forbidden || v == notAUser {
			return v
		}
		return refusal
	}
}

// TestAuthMatrix sends a request to every route from every kind of caller.
func TestAuthMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holds(t)
	routes := map[string]bool{}
	for _, r := range w.server.Routes() {
		routes[r.Operation] = true
		documented, ok := rows[r.Operation]
		if !ok {
			t.Errorf("%s (%s %s) has no row: say who may call it", r.Operation, r.Method, r.Path)
			continue
		}
		if documented.method != r.Method || !matches(r.Path, documented.path) {
			t.Errorf("%s is %s %s, and documented as %s %s", r.Operation, r.Method, r.Path, documented.method, documented.path)
		}
	}
	columns := callers(t, w)
	for operation, r := range rows {
		if !routes[operation] {
			t.Errorf("%s is no route", operation)
			continue
		}
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			for name, c := range columns {
				path := r.path
				if c.in != "" {
					path += "?workspace_id=" + c.in
				}
				a := w.call(t, c.token, r.method, path, strings.ReplaceAll(r.body, "%", uuid.NewString()))
				if got, want := (verdict{a.status, a.code()}), c.want(r); got != want {
					t.Errorf("%s: %v, want %v\n%s", name, got, want, a.text)
				}
				if a.code() == rateLimited.code && a.header.Get("Retry-After") != "86400" {
					t.Errorf("%s: Retry-After %q", name, a.header.Get("Retry-After"))
				}
			}
		})
	}
}

// matches reports whether a path matches a pattern.
func matches(pattern, path string) bool {
	wanted, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(wanted, given, func(w, g string) bool { return w == g || strings.HasPrefix(w, ":") })
}
