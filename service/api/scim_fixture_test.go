package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/scim"
)

// tenant is a workspace with a proved domain, an owner and a token of SCIM.
type tenant struct {
	*world
	in     workspace.ID
	domain string
	owner  people.Member
	// by is the access token of the owner.
	by, token string
}

func (w *world) tenant(t *testing.T, domain string) *tenant {
	t.Helper()
	in := w.workspace(t, domain, workspace.Pro, 0)
	o := &tenant{world: w, in: in, domain: domain, owner: w.member(t, in, "owner@"+domain, people.Owner)}
	o.by = tokenFor(t, o.owner)
	o.prove(t, domain)
	o.token = o.newToken(t)
	return o
}

func (o *tenant) prove(t *testing.T, domain string) {
	t.Helper()
	o.exec(t, `INSERT INTO identity_domains (workspace_id, domain, token, proved_at, proved_by, created_at)
		VALUES ($1, $2, 'a text of twenty characters', now(), 'operator', now())`, o.in.String(), domain)
}

func (o *tenant) newToken(t *testing.T) string {
	t.Helper()
	var made struct{ Token struct{ Secret string } }
	o.call(t, o.by, "POST", "/workspace/identity/scim/tokens", `{"name":"IdP"}`).into(t, &made, nil)
	return made.Token.Secret
}

// scimAnswer is an answer of SCIM.
type scimAnswer struct {
	answer
	Schemas      []string
	ID           string
	Status       string
	ScimType     string
	Detail       string
	UserName     string
	ExternalID   string
	DisplayName  string
	Active       bool
	Emails       []map[string]any
	Members      []struct{ Value string }
	Meta         struct{ Location, Version, ResourceType string }
	TotalResults int
	StartIndex   int
	ItemsPerPage int
	Resources    []scimAnswer
}

// scim sends a request of SCIM, with a token, "" for that of the workspace.
func (o *tenant) scim(t testing.TB, method, path, body string, header ...string) (a scimAnswer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(o.base, endpoint.Version)+"/scim/v2"+path,
		strings.NewReader(body))
	fatal(t, err)
	r.Header.Set("Authorization", "Bearer "+o.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/scim+json; charset=utf-8")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	fatal(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	fatal(t, err)
	a.answer = answer{res.StatusCode, res.Header, string(text)}
	if len(text) > 0 {
		if kind := res.Header.Get("Content-Type"); kind != "application/scim+json; charset=utf-8" {
			t.Errorf("%s %.100s: %s", method, path, kind)
		}
		fatal(t, json.Unmarshal(text, &a))
	}
	if a.status >= 400 && (len(a.Schemas) != 1 || a.Schemas[0] != scim.ErrorMessage || a.Detail == "" || a.Status == "") {
		t.Errorf("%s %.100s: %d %s", method, path, a.status, text)
	}
	if a.status >= 500 {
		t.Errorf("%s %.100s: %d %s", method, path, a.status, text)
	}
	return a
}

// want is scim that must be answered with a status.
func (o *tenant) want(t testing.TB, status int, method, path, body string, header ...string) scimAnswer {
	t.Helper()
	a := o.scim(t, method, path, body, header...)
	if a.status != status {
		t.Fatalf("%s %.200s %.300s: %d, want %d: %s", method, path, body, a.status, status, a.text)
	}
	return a
}

// newUser is the body of a person.
func newUser(userName string, more string) string {
	return `{"schemas":["` + scim.UserSchema + `"],"userName":"` + userName + `"` + more + `}`
}

func patchBody(operations string) string {
	return `{"schemas":["` + scim.PatchMessage + `"],"Operations":[` + operations + `]}`
}

// person is how the settings show a person.
type person struct {
	ID, State, Email       string
	UserID                 *string `json:"user_id"`
	Role, RemovalRefusedAt *string
}

func (o *tenant) people(t *testing.T) map[string]person {
	t.Helper()
	var list struct {
		People []struct {
			ID, State, Email string
			UserID           *string `json:"user_id"`
			Role             *string
			RemovalRefusedAt *string `json:"removal_refused_at"`
		}
	}
	o.call(t, o.by, "GET", "/workspace/identity/scim/people", "").into(t, &list, nil)
	all := map[string]person{}
	for _, p := range list.People {
		all[p.Email] = person{p.ID, p.State, p.Email, p.UserID, p.Role, p.RemovalRefusedAt}
	}
	return all
}

// actions are those of the audit log of the workspace by tokens of SCIM, the oldest first.
func (o *tenant) actions(t *testing.T) (actions []string) {
	t.Helper()
	events, err := o.rows.AuditEvents(t.Context(), o.in, auditQuery)
	fatal(t, err)
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].By.Kind == "scim_token" {
			actions = append(actions, events[i].Action)
		}
	}
	return actions
}

// join is the sign-in of a person by the installation's provider, which has verified their
// address.
func (o *tenant) join(t *testing.T, email string) workspace.UserID {
	t.Helper()
	id := workspace.NewUserID()
	_, err := o.system.ClaimUser(t.Context(), id, email)
	fatal(t, err)
	return id
}

// acts reports whether a user may act in the workspace.
func (o *tenant) acts(t *testing.T, id workspace.UserID, email string) bool {
	t.Helper()
	return o.call(t, mint(t, secret, claims(id, email), tokenLife), "GET", "/workspace?workspace_id="+o.in.String(),
		"").status == http.StatusOK
}
