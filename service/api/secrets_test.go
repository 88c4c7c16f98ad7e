package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"atlas/workspace"
	"atlas/workspace/people"
	"atlas/workspace/webhooks"
)

// A read-only key and a plain member request every route of the API: no answer has a secret
// of the workspace's managers, or a value that receivers use as one.
func TestReadersSeeNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "One", workspace.Pro, 1000)
	admin := w.member(t, in, "admin@example.com", people.Admin)
	member := w.member(t, in, "member@example.com", people.MemberRole)
	_, manager := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	_, reader := w.key(t, people.NewKey{
		Workspaces: []workspace.ID{in}, Scopes: []workspace.Scope{workspace.DataRead, workspace.WorkspaceRead},
	})
	const url = "https://hooks.example/path-token?query=query-token"
	var made struct{ Webhook webhook }
	w.call(t, manager, "POST", "/workspace/webhooks/upsert", fmt.Sprintf(`{"url":%q,"events":["load.switched"]}`, url)).into(t, &made, nil)
	w.call(t, manager, "POST", "/workspace/webhooks/"+made.Webhook.ID+"/test", "")
	var invited struct {
		AcceptURL string `json:"accept_url"`
	}
	w.call(t, manager, "POST", "/workspace/invitations", `{"email":"new@example.com","role":"member"}`).into(t, &invited, nil)
	_, token, found := strings.Cut(invited.AcceptURL, "token=")
	if !found || made.Webhook.Secret == "" {
		t.Fatalf("%+v, %+v", made, invited)
	}
	w.call(
		t, tokenFor(t, admin), "POST", "/workspace/skills/create?workspace_id="+in.String(),
		`{"scope":"personal","name":"personal-name","description":"D","content":"personal-content"}`,
	)
	secrets := []string{
		"path-token", "query-token", strings.TrimPrefix(made.Webhook.Secret, "whsec_"), token, "personal-name",
		"personal-content",
	}
	for operation, row := range rows {
		path := row.path
		if strings.HasPrefix(path, "/workspace/webhooks/") {
			path = strings.Replace(path, unknownID, made.Webhook.ID, 1)
		}
		for who, caller := range map[string]string{"a reading key": reader, "a member": tokenFor(t, member)} {
			to := path
			if who == "a member" {
				to += "?workspace_id=" + in.String()
			}
			a := w.call(t, caller, row.method, to, strings.ReplaceAll(row.body, "%", uuid.NewString()))
			for _, secret := range secrets {
				if strings.Contains(a.text, secret) {
					t.Errorf("%s: %s sees %q: %s", operation, who, secret, a.text)
				}
			}
		}
	}
	type shown struct {
		Webhooks []struct {
			URL       string
			URLDigest string `json:"url_digest"`
		}
	}
	for key, want := range map[string]string{manager: url, reader: "https://hooks.example/"} {
		var list shown
		w.call(t, key, "GET", "/workspace/webhooks", "").into(t, &list, nil)
		if len(list.Webhooks) != 1 || list.Webhooks[0].URL != want || list.Webhooks[0].URLDigest != webhooks.Digest(url) {
			t.Errorf("listed %+v, want %s", list, want)
		}
	}
}
