package workspace_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atlas/internal/fault"
	"atlas/workspace"
)

func TestParseUUID(t *testing.T) {
	t.Parallel()
	const good = "0197a1b2-0000-7000-8000-00000000abcd"
	for _, s := range []string{good, strings.ToUpper(good)} {
		id, err := workspace.ParseID(s)
		if err != nil || id.String() != good {
			t.Errorf("%s: %v, %v", s, id, err)
		}
	}
	for _, s := range []string{
		"", "x", good[:35], good + "0", "{" + good + "}", "urn:uuid:" + good, strings.ReplaceAll(good, "-", ""),
		strings.Replace(good, "-", "_", 1), strings.Replace(good, "0", "g", 1), " " + good[1:], good[:35] + "\n",
		strings.Replace(good, "0197", "01９", 1), // full-width digits: 36 bytes
	} {
		if id, err := workspace.ParseID(s); err == nil {
			t.Errorf("%q was read as %v", s, id)
		}
	}
	if (workspace.ID{}).Check() == nil || workspace.NewID().Check() != nil {
		t.Error("the zero workspace is not told apart")
	}
}

func TestKeyTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := workspace.KeyID(
			rapid.SliceOfN(rapid.Byte(), 16, 16).Filter(func(b []byte) bool { return !slices.Equal(b, make([]byte, 16)) }).Draw(t, "id"),
		)
		secret := workspace.Secret(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "secret"))
		text := secret.Token(id)
		gotID, gotSecret, err := workspace.ParseKey(text)
		if err != nil || gotID != id || gotSecret != secret {
			t.Fatalf("%s: %v %v", text, gotID, err)
		}
		// No other text is a valid form of the key.
		i := rapid.IntRange(0, len(text)-1).Draw(t, "position")
		changed := []byte(text)
		changed[i] = rapid.Byte().Filter(func(b byte) bool { return b != text[i] }).Draw(t, "byte")
		otherID, other, err := workspace.ParseKey(string(changed))
		if err == nil && otherID == id && other == secret && !strings.EqualFold(text, string(changed)) {
			t.Fatalf("%s and %s are one key", text, changed)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add(workspace.NewSecret().Token(workspace.NewKeyID()))
	f.Add("atlas_")
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, err := workspace.ParseKey(text)
		if err == nil && !strings.EqualFold(secret.Token(id)[:42], text[:42]) {
			t.Errorf("%q was read as %q", text, secret.Token(id))
		}
		if err == nil && secret.Token(id)[42:] != text[42:] {
			t.Errorf("%q was read as %q", text, secret.Token(id))
		}
	})
}

func TestSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	secret := workspace.NewSecret()
	text := secret.Token(workspace.NewKeyID())[43:]
	for _, shown := range []string{fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s", secret, secret, secret, secret)} {
		if strings.Contains(shown, text) || strings.Contains(shown, fmt.Sprint(secret[0], secret[1])) {
			t.Errorf("a secret shows: %s", shown)
		}
	}
	if workspace.NewSecret() == secret {
		t.Error("two secrets are equal")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	long := strings.Repeat("é", workspace.MaxName)
	good := workspace.Workspace{ID: workspace.NewID(), Name: long, Plan: workspace.Pro, CreditCeiling: 1, TimeZone: "America/Edmonton"}
	key := workspace.Key{
		ID: workspace.NewKeyID(), Name: "k", Workspaces: []workspace.ID{workspace.NewID()}, Scopes: workspace.AllScopes(), CreatedAt: now,
	}
	changed := func(change func(*workspace.Workspace)) error { w := good; change(&w); return w.Validate() }
	changedKey := func(change func(*workspace.Key)) error { k := key; change(&k); return k.Validate() }
	past := now.Add(-time.Second)
	for name, c := range map[string]struct {
		err  error
		want string // code and field of the issue
	}{
		"good":                {good.Validate(), ""},
		"no id":               {changed(func(w *workspace.Workspace) { w.ID = workspace.ID{} }), "invalid_format id"},
		"no name":             {changed(func(w *workspace.Workspace) { w.Name = "" }), "too_small name"},
		"a longer name":       {changed(func(w *workspace.Workspace) { w.Name += "x" }), "too_big name"},
		"a NUL":               {changed(func(w *workspace.Workspace) { w.Name = "a\x00b" }), "invalid_format name"},
		"an escape":           {changed(func(w *workspace.Workspace) { w.Name = "a\x1b[2Jb" }), "invalid_format name"},
		"no UTF-8":            {changed(func(w *workspace.Workspace) { w.Name = "a\xff" }), "invalid_format name"},
		"spaces around":       {changed(func(w *workspace.Workspace) { w.Name = " a" }), "invalid_format name"},
		"no plan":             {changed(func(w *workspace.Workspace) { w.Plan = "gold" }), "invalid_union plan"},
		"no ceiling":          {changed(func(w *workspace.Workspace) { w.CreditCeiling = 0 }), "too_small ceiling"},
		"a huge ceiling":      {changed(func(w *workspace.Workspace) { w.CreditCeiling = workspace.MaxCeiling + 1 }), "too_big ceiling"},
		"no zone":             {changed(func(w *workspace.Workspace) { w.TimeZone = "" }), "invalid_format time_zone"},
		"a zone that is none": {changed(func(w *workspace.Workspace) { w.TimeZone = "Mars/Olympus" }), "invalid_format time_zone"},
		"a good key":          {key.Validate(), ""},
		"a key of none":       {changedKey(func(k *workspace.Key) { k.Workspaces = nil }), "too_small workspaces"},
		"a key of the zero":   {changedKey(func(k *workspace.Key) { k.Workspaces = []workspace.ID{{}} }), "custom workspaces"},
		"a workspace twice":   {changedKey(func(k *workspace.Key) { k.Workspaces = append(k.Workspaces, k.Workspaces[0]) }), "custom workspaces"},
		"too many":            {changedKey(func(k *workspace.Key) { k.Workspaces = many(workspace.MaxKeyWorkspaces + 1) }), "too_big workspaces"},
		"no scope":            {changedKey(func(k *workspace.Key) { k.Scopes = nil }), "too_small scopes"},
		"another scope":       {changedKey(func(k *workspace.Key) { k.Scopes = []workspace.Scope{"data:write"} }), "invalid_union scopes"},
		"a scope twice":       {changedKey(func(k *workspace.Key) { k.Scopes = []workspace.Scope{"data:read", "data:read"} }), "custom scopes"},
		"ended before it was": {changedKey(func(k *workspace.Key) { k.ExpiresAt = &past }), "custom expires_at"},
	} {
		got := ""
		if e, ok := errors.AsType[*fault.Error](c.err); ok && len(e.Issues) == 1 {
			got = string(e.Issues[0].Code) + " " + strings.Join(e.Issues[0].Path, ".")
		} else if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	err := workspace.Workspace{}.Validate()
	if e, ok := errors.AsType[*fault.Error](err); !ok || len(e.Issues) != 5 {
		t.Errorf("not every fault is named: %v", err)
	}
}

func many(n int) (ids []workspace.ID) {
	for range n {
		ids = append(ids, workspace.NewID())
	}
	return ids
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(time.Second)
	for name, c := range map[string]struct {
		key  workspace.Key
		want string
	}{
		"in force":         {workspace.Key{ExpiresAt: &later}, ""},
		"at its end":       {workspace.Key{ExpiresAt: &now}, "expired"},
		"restricted":       {workspace.Key{Restricted: true}, "restricted"},
		"revoked":          {workspace.Key{RevokedAt: &now}, "revoked"},
		"revoked for good": {workspace.Key{RevokedAt: &later, Restricted: true}, "revoked"},
	} {
		got := c.key.Refusal(now)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
