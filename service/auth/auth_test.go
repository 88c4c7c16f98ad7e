package auth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/workspace"
	"atlas/workspace/people"
)

func TestWorkspaceOfARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	none, unknown := workspace.ID{}, workspace.NewID().String()
	user := func(id workspace.UserID, claim workspace.ID) string { return w.token(t, id, claim) }
	for name, c := range map[string]struct {
		token    string
		given    []string
		required bool
		want     workspace.ID
		code     fault.Code
	}{
		"a key's default":                       {token: w.tokenBoth, want: w.two.ID},
		"a key need not name it":                {token: w.tokenBoth, required: true, want: w.two.ID},
		"a key naming another of its own":       {token: w.tokenBoth, given: []string{w.one.ID.String()}, want: w.one.ID},
		"in upper case":                         {token: w.tokenBoth, given: []string{strings.ToUpper(w.one.ID.String())}, want: w.one.ID},
		"a key naming one it was not granted":   {token: w.tokenOne, given: []string{w.two.ID.String()}, code: fault.Forbidden},
		"a key naming one that is not":          {token: w.tokenOne, given: []string{unknown}, code: fault.Forbidden},
		"not a UUID":                            {token: w.tokenOne, given: []string{"one"}, code: fault.InvalidInput},
		"empty":                                 {token: w.tokenOne, given: []string{""}, code: fault.InvalidInput},
		"in braces":                             {token: w.tokenOne, given: []string{"{" + w.one.ID.String() + "}"}, code: fault.InvalidInput},
		"without hyphens":                       {token: w.tokenOne, given: []string{strings.ReplaceAll(w.one.ID.String(), "-", "")}, code: fault.InvalidInput},
		"as a urn":                              {token: w.tokenOne, given: []string{"urn:uuid:" + w.one.ID.String()}, code: fault.InvalidInput},
		"twice":                                 {token: w.tokenOne, given: []string{w.one.ID.String(), w.one.ID.String()}, code: fault.InvalidInput},
		"the nil UUID, by a key":                {token: w.tokenOne, given: []string{none.String()}, code: fault.Forbidden},
		"the nil UUID, by a user":               {token: user(w.alice.ID, none), given: []string{none.String()}, code: fault.Forbidden},
		"a user naming theirs":                  {token: user(w.bob.ID, none), given: []string{w.two.ID.String()}, required: true, want: w.two.ID},
		"a user not naming it where they must":  {token: user(w.alice.ID, w.one.ID), required: true, code: fault.BadRequest},
		"a user's claim":                        {token: user(w.bob.ID, w.one.ID), want: w.one.ID},
		"the parameter before the claim":        {token: user(w.bob.ID, w.one.ID), given: []string{w.two.ID.String()}, want: w.two.ID},
		"a user's only one":                     {token: user(w.alice.ID, none), want: w.one.ID},
		"a user of two":                         {token: user(w.bob.ID, none), code: fault.BadRequest},
		"a user of none":                        {token: user(w.dan, none), code: fault.BadRequest},
		"a claim of a foreign one, no fallback": {token: user(w.alice.ID, w.two.ID), code: fault.Forbidden},
		"a user naming a foreign one":           {token: user(w.alice.ID, none), given: []string{w.two.ID.String()}, code: fault.Forbidden},
		"a user naming one that is not":         {token: user(w.alice.ID, none), given: []string{unknown}, code: fault.Forbidden},
		"a user not a UUID":                     {token: user(w.alice.ID, none), given: []string{"x"}, required: true, code: fault.InvalidInput},
		"a key of a free workspace":             {token: w.tokenFree, code: fault.Forbidden},
		"a user of a free workspace":            {token: user(w.carol.ID, none), code: fault.Forbidden},
	} {
		p, err := request(t.Context(), a, c.token, c.given, c.required)
		wantCode(t, name, err, c.code)
		if err == nil && p.Workspace.ID != c.want {
			t.Errorf("%s: workspace %v, want %v", name, p.Workspace.ID, c.want)
		}
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == fault.InvalidInput {
			want := []fault.Issue{{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: e.Issues[0].Message}}
			if diff := cmp.Diff(want, e.Issues); diff != "" {
				t.Errorf("%s: issues (-want +got):\n%s", name, diff)
			}
		}
	}
	// The response does not reveal whether a workspace exists, but reveals its plan.
	message := func(token, given string) string {
		_, err := request(t.Context(), a, token, []string{given}, true)
		e, _ := errors.AsType[*fault.Error](err)
		return e.Message
	}
	for _, token := range []string{w.tokenOne, user(w.alice.ID, none)} {
		if a, b := message(token, w.two.ID.String()), message(token, unknown); a != b {
			t.Errorf("a workspace that exists: %q, one that does not: %q", a, b)
		}
		if m := message(token, w.free.ID.String()); strings.Contains(m, "plan") {
			t.Errorf("the plan of a foreign workspace shows: %q", m)
		}
	}
	if m := message(w.tokenFree, w.free.ID.String()); !strings.Contains(m, "plan") {
		t.Errorf("the message does not name the plan: %q", m)
	}
}

func TestPrincipals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	p, err := request(t.Context(), a, w.tokenOne, nil, false)
	fatal(t, err)
	_, keySecret, err := workspace.ParseKey(w.tokenOne)
	fatal(t, err)
	want := auth.Principal{
		Kind: auth.ByKey, Workspace: w.one, Key: w.keyOne.ID, Secret: keySecret.Hash(), Scopes: []workspace.Scope{workspace.DataRead},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("a key (-want +got):\n%s", diff)
	}
	wantCode(t, "a key as a user", p.RequireUser(), fault.UserIdentityRequired)
	wantCode(t, "a key as an admin", p.RequireAdmin(), "")
	wantCode(t, "a scope it has", p.RequireScope(workspace.DataRead), "")
	wantCode(t, "a scope it lacks", p.RequireScope(workspace.WorkspaceWrite), fault.Forbidden)
	if p.RoleOrNil() != nil {
		t.Error("a key has a role")
	}

	p, err = request(t.Context(), a, w.token(t, w.alice.ID, workspace.ID{}), nil, false)
	fatal(t, err)
	want = auth.Principal{
		Kind: auth.ByUser, Workspace: w.one, User: w.alice.ID, Role: people.Admin, Scopes: workspace.AllScopes(),
		Email: "x@example.com", Name: "X",
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("a user (-want +got):\n%s", diff)
	}
	wantCode(t, "a user", p.RequireUser(), "")
	wantCode(t, "an admin", p.RequireAdmin(), "")
	wantCode(t, "every scope", p.RequireScope(workspace.WorkspaceWrite), "")

	p, err = request(t.Context(), a, w.token(t, w.bob.ID, w.one.ID), nil, false)
	fatal(t, err)
	wantCode(t, "a plain member", p.RequireAdmin(), fault.Forbidden)
}

func TestHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{Secret: secret})
	for name, c := range map[string]struct {
		header []string
		ok     bool
	}{
		"none":            {nil, false},
		"empty":           {[]string{""}, false},
		"plain":           {[]string{"Bearer " + w.tokenOne}, true},
		"lower case":      {[]string{"bearer " + w.tokenOne}, true},
		"wider":           {[]string{"BEARER   " + w.tokenOne + " "}, true},
		"no scheme":       {[]string{w.tokenOne}, false},
		"another scheme":  {[]string{"Basic " + w.tokenOne}, false},
		"no token":        {[]string{"Bearer "}, false},
		"two tokens":      {[]string{"Bearer " + w.tokenOne + " " + w.tokenOne}, false},
		"a list":          {[]string{"Bearer " + w.tokenOne + ",Bearer x"}, false},
		"two headers":     {[]string{"Bearer " + w.tokenOne, "Bearer " + w.tokenOne}, false},
		"a tab":           {[]string{"Bearer\t" + w.tokenOne}, false},
		"too long":        {[]string{"Bearer " + strings.Repeat("a", auth.MaxHeader)}, false},
		"an unknown key":  {[]string{"Bearer " + w.tokenNever}, false},
		"another secret":  {[]string{"Bearer " + workspace.NewSecret().Token(w.keyOne.ID)}, false},
		"a cut key":       {[]string{"Bearer " + w.tokenOne[:len(w.tokenOne)-1]}, false},
		"a lengthy key":   {[]string{"Bearer " + w.tokenOne + "A"}, false},
		"not base64url":   {[]string{"Bearer " + w.tokenOne[:len(w.tokenOne)-1] + "+"}, false},
		"a secret of 0s":  {[]string{"Bearer " + workspace.Secret{}.Token(w.keyOne.ID)}, false},
		"the prefix only": {[]string{"Bearer atlas_"}, false},
	} {
		_, err := a.Authenticate(t.Context(), c.header)
		want := fault.Unauthorized
		if c.ok {
			want = ""
		}
		wantCode(t, name, err, want)
	}
}

func TestStateOfAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.auth(t, auth.Config{})
	ctx := t.Context()
	_, brief, err := w.directory.CreateKey(ctx, people.NewKey{Name: "brief", Workspaces: []workspace.ID{w.one.ID}, ExpiresIn: time.Second})
	fatal(t, err)
	try := func(name, token string, want fault.Code) {
		t.Helper()
		_, err := request(ctx, a, token, nil, false)
		wantCode(t, name, err, want)
	}
	try("before its end", brief, "")
	w.clock.move(time.Second)
	try("at its end, though kept", brief, fault.Forbidden)

	try("in force", w.tokenOne, "")
	_, err = w.directory.RestrictKey(ctx, w.keyOne.ID, true)
	fatal(t, err)
	w.clock.move(4 * time.Second)
	try("restricted", w.tokenOne, fault.Forbidden)
	_, err = w.directory.RestrictKey(ctx, w.keyOne.ID, false)
	fatal(t, err)
	w.clock.move(4 * time.Second)
	try("again in force", w.tokenOne, "")
	_, err = w.directory.RevokeKey(ctx, w.keyOne.ID)
	fatal(t, err)
	w.clock.move(4 * time.Second)
	try("revoked", w.tokenOne, fault.Forbidden)
	// 400 comes before 403, and 401 before both.
	_, err = request(ctx, a, w.tokenOne, []string{"x"}, false)
	wantCode(t, "revoked and a bad workspace", err, fault.InvalidInput)
	_, err = request(ctx, a, workspace.NewSecret().Token(w.keyOne.ID), []string{"x"}, false)
	wantCode(t, "another secret, and a bad workspace", err, fault.Unauthorized)
	// Without a secret and a JWKS only API keys are accepted.
	try("a user's token", w.token(t, w.alice.ID, w.one.ID), fault.Unauthorized)
}
