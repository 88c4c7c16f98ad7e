package scim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/workspace"
	"atlas/workspace/scim"
)

func patchOf(t testing.TB, operations string) scim.Patch {
	t.Helper()
	v, err := scim.Decode([]byte(`{"schemas":["` + scim.PatchMessage + `"],"Operations":[` +
		`` + operations + `]}`))
	fatal(t, err)
	p, err := scim.ParsePatch(v)
	fatal(t, err)
	return p
}

func TestPatchOfUsers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operations string
		want       func(*scim.User)
	}{
		"Entra deactivates":     {`{"op":"Replace","path":"active","value":"False"}`, func(u *scim.User) { u.Active = false }},
		"Entra, without a path": {`{"op":"Replace","value":{"active":"False"}}`, func(u *scim.User) { u.Active = false }},
		"Okta deactivates":      {`{"op":"replace","value":{"active":false}}`, func(u *scim.User) { u.Active = false }},
		"a name":                {`{"op":"Add","path":"name.givenName","value":"Ana"}`, func(u *scim.User) { u.Name.Given = "Ana" }},
		"paths as names": {`{"op":"Add","value":{"name.givenName":"Ana","emails[type eq \"work\"].value":"ana@example.com"}}`,
			func(u *scim.User) { u.Name.Given, u.Emails[0].Value = "Ana", "ana@example.com" }},
		"an object keeps other parts": {`{"op":"replace","path":"name","value":{"formatted":"M. L."}}`,
			func(u *scim.User) { u.Name.Formatted = "M. L." }},
		"null removes": {`{"op":"replace","path":"displayName","value":null}`, func(u *scim.User) { u.DisplayName = "" }},
		"remove":       {`{"op":"Remove","path":"externalId"}`, func(u *scim.User) { u.ExternalID = "" }},
		"the address of a type": {`{"op":"Replace","path":"emails[type eq \"work\"].value","value":"ana@example.com"}`,
			func(u *scim.User) { u.Emails[0].Value = "ana@example.com" }},
		"the address of a new type": {`{"op":"Replace","path":"emails[type eq \"other\"].value","value":"ana@example.com"}`,
			func(u *scim.User) { u.Emails = append(u.Emails, scim.Email{Value: "ana@example.com", Type: "other"}) }},
		"remove the address of a type": {`{"op":"remove","path":"emails[type eq \"home\"]"}`, func(u *scim.User) { u.Emails = u.Emails[:1] }},
		"remove what is not there":     {`{"op":"remove","path":"emails[type eq \"other\"]"}`, func(*scim.User) {}},
		"a new primary one": {`{"op":"add","path":"emails","value":[{"value":"n@example.com","primary":true}]}`, func(u *scim.User) {
			u.Emails[0].Primary = false
			u.Emails = append(u.Emails, scim.Email{Value: "n@example.com", Primary: true})
		}},
		"replace a list": {`{"op":"replace","path":"emails","value":[{"value":"n@example.com","type":"work"}]}`,
			func(u *scim.User) { u.Emails = []scim.Email{{Value: "n@example.com", Type: "work"}} }},
		"one that is there already": {`{"op":"add","path":"emails","value":{"value":"M@home.example","display":"Home"}}`,
			func(u *scim.User) { u.Emails[1] = scim.Email{Value: "M@home.example", Type: "home", Display: "Home"} }},
		"what is not kept":  {`{"op":"Add","path":"title","value":"CEO"},{"op":"Add","path":"addresses[type eq \"work\"].country","value":"US"},{"op":"Add","path":"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager","value":"x"},{"op":"Replace","path":"roles[primary eq \"True\"].value","value":"x"}`, func(*scim.User) {}},
		"with the schema":   {`{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:displayName","value":"Z"}`, func(u *scim.User) { u.DisplayName = "Z" }},
		"several, in order": {`{"op":"replace","path":"displayName","value":"A"},{"op":"replace","path":"displayName","value":"B"}`, func(u *scim.User) { u.DisplayName = "B" }},
		"the id in an object is no change": {`{"op":"replace","value":{"id":"other","displayName":"Z","schemas":[],"meta":{}}}`,
			func(u *scim.User) { u.DisplayName = "Z" }},
		"unicode": {`{"op":"replace","path":"displayName","value":"Ünï 名前 🎈 \u202e"}`,
			func(u *scim.User) { u.DisplayName = "Ünï 名前 🎈 \u202e" }},
	} {
		want := maria
		want.Emails = append([]scim.Email{}, maria.Emails...)
		c.want(&want)
		got, err := maria.Patched(patchOf(t, c.operations))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		repatched, err := got.Patched(patchOf(t, c.operations))
		if err != nil || !repatched.Same(got) {
			t.Errorf("%s, again: %v %+v", name, err, repatched)
		}
	}
}

func TestPatchIsRefused(t *testing.T) {
	t.Parallel()
	for operations, want := range map[string]scim.Type{
		`{"op":"replace","path":"active","value":0}`:                              scim.InvalidValue,
		`{"op":"replace","path":"active","value":"no"}`:                           scim.InvalidValue,
		`{"op":"replace","path":"nothing","value":1}`:                             scim.InvalidPath,
		`{"op":"replace","path":"name.nothing","value":"x"}`:                      scim.InvalidPath,
		`{"op":"replace","path":"emails[type eq \"work\"","value":"x"}`:           scim.InvalidPath,
		`{"op":"replace","path":"emails[nothing eq \"work\"].value","value":"x"}`: scim.InvalidPath,
		`{"op":"replace","path":"emails.value","value":"x"}`:                      scim.InvalidPath,
		`{"op":"replace","path":"userName[x]","value":"x"}`:                       scim.InvalidPath,
		`{"op":"replace","path":"userName.x.y z","value":"x"}`:                    scim.InvalidPath,
		`{"op":"replace","path":"urn:x:User:userName","value":"x"}`:               scim.InvalidPath,
		`{"op":"replace","value":{"nothing":1}}`:                                  scim.InvalidPath,
		`{"op":"replace","path":"id","value":"x"}`:                                scim.Mutability,
		`{"op":"replace","path":"meta.created","value":"x"}`:                      scim.Mutability,
		`{"op":"replace","path":"emails[value co \"nobody\"].type","value":"x"}`:  scim.NoTarget,
		`{"op":"remove"}`:                                                                scim.NoTarget,
		`{"op":"remove","path":"userName"}`:                                              scim.InvalidValue,
		`{"op":"replace","path":"userName","value":null}`:                                scim.InvalidValue,
		`{"op":"replace","path":"userName","value":["x"]}`:                               scim.InvalidValue,
		`{"op":"replace","path":"userName","value":"a\u0007b"}`:                          scim.InvalidValue,
		`{"op":"replace","path":"userName","value":"` + strings.Repeat("x", 256) + `"}`:  scim.InvalidValue,
		`{"op":"replace","path":"emails","value":[{"type":"work"}]}`:                     scim.InvalidValue,
		`{"op":"replace","path":"emails","value":[{"value":"nobody"}]}`:                  scim.InvalidValue,
		`{"op":"replace","path":"emails","value":5}`:                                     scim.InvalidValue,
		`{"op":"remove","path":"emails[type eq \"work\"].value"}`:                        scim.InvalidValue,
		`{"op":"replace","value":"x"}`:                                                   scim.InvalidValue,
		`{"op":"add","path":"emails","value":[` + many(11, `{"value":"a%d@b.c"}`) + `]}`: scim.InvalidValue,
	} {
		_, err := maria.Patched(patchOf(t, operations))
		if kind, _ := errors.AsType[scim.Type](err); kind != want {
			t.Errorf("%s: %v, want %s", operations, err, want)
		}
	}
	for body, want := range map[string]scim.Type{
		`{"schemas":["` + scim.PatchMessage + `"],"Operations":[]}`:                                scim.InvalidSyntax,
		`{"schemas":["` + scim.PatchMessage + `"]}`:                                                scim.InvalidSyntax,
		`{"Operations":[{"op":"remove","path":"title"}]}`:                                          scim.InvalidSyntax,
		`{"schemas":["urn:nothing"],"Operations":[{"op":"remove","path":"title"}]}`:                scim.InvalidSyntax,
		`{"schemas":["` + scim.PatchMessage + `"],"Operations":[5]}`:                               scim.InvalidSyntax,
		`{"schemas":["` + scim.PatchMessage + `"],"Operations":[{"op":"move","path":"title"}]}`:    scim.InvalidSyntax,
		`{"schemas":["` + scim.PatchMessage + `"],"Operations":[{"op":"add","path":"title"}]}`:     scim.InvalidValue,
		`{"schemas":["` + scim.PatchMessage + `"],"Operations":[{"op":"add","path":5,"value":1}]}`: scim.InvalidPath,
		`{"schemas":["` + scim.PatchMessage + `"],"Operations":[` + many(scim.MaxOperations+1,
			`{"op":"remove","path":"title%d"}`) + `]}`: scim.TooMany,
	} {
		v, err := scim.Decode([]byte(body))
		fatal(t, err)
		_, err = scim.ParsePatch(v)
		if kind, _ := errors.AsType[scim.Type](err); kind != want {
			t.Errorf("%.200s: %v, want %s", body, err, want)
		}
	}
}

func many(n int, form string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(form, i)
	}
	return strings.Join(all, ",")
}

func TestPatchOfGroups(t *testing.T) {
	t.Parallel()
	a, b, c := "00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b", "00000000-0000-7000-8000-00000000000c"
	ids := func(texts ...string) []scim.UserID {
		all := make([]scim.UserID, len(texts))
		for i, each := range texts {
			id, err := workspace.ParseUUID(each)
			fatal(t, err)
			all[i] = scim.UserID(id)
		}
		return all
	}
	g := scim.Group{ID: scim.GroupID(workspace.NewUUID()), DisplayName: "Sales", Members: ids(a, b)}
	for operations, want := range map[string][]scim.UserID{
		`{"op":"Add","path":"members","value":[{"value":"` + c + `"},{"value":"` + a + `"}]}`:    ids(a, b, c),
		`{"op":"Remove","path":"members[value eq \"` + a + `\"]"}`:                               ids(b),
		`{"op":"Remove","path":"members","value":[{"value":"` + b + `"}]}`:                       ids(a), // Entra
		`{"op":"Remove","path":"members"}`:                                                       ids(),
		`{"op":"replace","path":"members","value":[{"value":"` + c + `","display":"C"}]}`:        ids(c),
		`{"op":"replace","value":{"id":"x","displayName":"Sales","members":[]}}`:                 ids(),
		`{"op":"replace","value":{"displayName":"Sales"}}`:                                       ids(a, b),
		`{"op":"remove","path":"members[value eq \"` + c + `\"]"}`:                               ids(a, b),
		`{"op":"remove","path":"members[value eq \"` + a + `\" or value eq \"` + b + `\"]"}`:     ids(),
		`{"op":"add","path":"members","value":{"value":"` + strings.ToUpper(c) + `","$ref":""}}`: ids(a, b, c),
	} {
		got, err := g.Patched(patchOf(t, operations))
		if err != nil {
			t.Errorf("%s: %v", operations, err)
			continue
		}
		if diff := cmp.Diff(want, got.Members); diff != "" {
			t.Errorf("%s: %s", operations, diff)
		}
	}
	if _, err := g.Patched(patchOf(t, `{"op":"add","path":"members","value":[{"value":"nobody"}]}`)); err == nil {
		t.Error("a member without an id")
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("replace", `emails[type eq "work"].value`, `"x@y.z"`)
	f.Add("add", ``, `{"name.givenName":"x"}`)
	f.Fuzz(func(t *testing.T, op, path, value string) {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path)
		v, err := scim.Decode([]byte(`{"schemas":["` + scim.PatchMessage + `"],"Operations":[` +
			`{"op":"` + op + `","path":"` + quoted + `","value":` + value + `}]}`))
		if err != nil {
			return
		}
		if p, err := scim.ParsePatch(v); err == nil {
			if u, err := maria.Patched(p); err == nil && !workspace.ValidEmail(u.Address()) {
				t.Errorf("%+v", u)
			}
		}
	})
}
