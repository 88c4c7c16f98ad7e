package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"atlas/client"
	"atlas/workspace/people"
)

// The actions of a key are listed, a dry run shows what would be undone, and they are undone
// once the key is revoked.
func (s *service) keyActionsCommand(t *testing.T) {
	token, in := s.user(people.Owner), s.pro.ID.String()
	atlas := func(want int, args ...string) (out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		status := run(t.Context(), append([]string{"key"}, append(args, "--url", s.base)...), &o, &e)
		if status != want {
			t.Fatalf("atlas key %v: status %d, want %d\n%s%s", args, status, want, &o, &e)
		}
		return o.String(), e.String()
	}
	as := func(token string, args ...string) []string { return append(args, "--token", token, "--workspace", in) }
	owner := s.client(token, client.WithWorkspace(in))
	made := must(owner.APIKeys.Create(t.Context(), client.NewAPIKey{
		Name: "leaked", Scopes: []client.KeyScope{client.ScopeWorkspaceRead, client.ScopeWorkspaceWrite},
	}))(t)
	key := s.client(made.Secret)
	views := make([]string, 2)
	for i := range views {
		views[i] = must(key.Views.Upsert(t.Context(), client.ViewUpsert{
			Dataset: "account", Type: client.ViewStatic, Name: fmt.Sprintf("Of a key %d %s", i, uuid.NewString()),
		}))(t).ID
	}
	there := func(id string) bool {
		t.Helper()
		_, err := owner.Views.Get(t.Context(), id)
		if err != nil && !errors.Is(err, client.ErrViewNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	read := func(text string) (all []client.KeyAction) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return all
	}
	out, _ := atlas(0, as(token, "actions", made.ID)...)
	if !strings.HasPrefix(out, "ID ") || strings.Count(out, "created  view/accounts  ") != 2 || strings.Count(out, "possible") != 2 {
		t.Errorf("%s", out)
	}
	out, _ = atlas(0, as(token, "actions", made.ID, "--json")...)
	all := read(out)
	if len(all) != 2 || all[0].ObjectID != views[1] || all[1].ObjectID != views[0] {
		t.Fatalf("%+v", all)
	}
	out, errs := atlas(0, as(token, "actions", made.ID, "--limit", "1", "--json")...)
	if len(read(out)) != 1 || !strings.Contains(errs, "--limit") {
		t.Errorf("%s%s", out, errs)
	}
	if _, errs := atlas(1, as(token, "undo", made.ID)...); !strings.Contains(errs, "revoke this API key first") {
		t.Errorf("an active key: %s", errs)
	}
	if err := owner.APIKeys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	out, errs = atlas(0, as(token, "undo", made.ID, "--dry-run")...)
	if strings.Count(out, "undone") != 2 || !strings.Contains(errs, "2 of 2 actions would be undone") || !there(views[0]) || !there(views[1]) {
		t.Errorf("a dry run: %s%s", out, errs)
	}
	out, errs = atlas(0, as(token, "undo", made.ID, "--json", "--action", fmt.Sprint(all[0].ID))...)
	if got := read(out); len(got) != 1 || got[0].Outcome != "undone" || !strings.Contains(errs, "1 of 1 actions undone") ||
		!there(views[0]) || there(views[1]) {
		t.Errorf("one action: %s%s", out, errs)
	}
	if _, errs := atlas(0, as(token, "undo", made.ID, "--since", time.Now().Add(time.Hour).Format(time.RFC3339))...); !there(views[0]) {
		t.Errorf("since later: %s", errs)
	}
	if out, errs := atlas(0, as(token, "undo", made.ID)...); !strings.Contains(out, "nothing_left") || there(views[0]) {
		t.Errorf("all: %s%s", out, errs)
	}
	for text, c := range map[string]struct {
		status int
		args   []string
	}{
		"no API key " + views[0]:      {1, as(token, "undo", views[0])},
		"the id of an API key":        {2, as(token, "actions", "leaked")},
		"exclude each other":          {2, as(token, "undo", made.ID, "--action", "1", "--since", "2026-01-31T09:00:00Z")},
		"--action must be the id":     {2, as(token, "undo", made.ID, "--action", "0")},
		"--limit must be at least 1":  {2, as(token, "actions", made.ID, "--limit", "0")},
		"only people look at what":    {2, []string{"actions", made.ID, "--api-key", s.key}},
		"owner or admin":              {1, as(s.user(people.MemberRole), "actions", made.ID)},
		"--token (ATLAS_TOKEN) needs": {2, []string{"undo", made.ID, "--token", token}},
	} {
		if out, errs := atlas(c.status, c.args...); !strings.Contains(errs, text) {
			t.Errorf("%v: %s%s", c.args, out, errs)
		}
	}
}
