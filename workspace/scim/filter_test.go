package scim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/scim"
)

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var maria = scim.User{
	ID: scim.UserID(workspace.NewUUID()), UserName: "Maria@Example.com", ExternalID: "00uA", Active: true, DisplayName: "María López",
	Name: scim.Name{Family: "López", Given: "María"}, Version: 3, Created: time.Date(2026, 2, 14, 9, 30, 0, 0, time.UTC),
	Modified: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	Emails:   []scim.Email{{Value: "maria@example.com", Type: "work", Primary: true}, {Value: "m@home.example", Type: "home"}},
}

func TestFilterTakes(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]bool{
		`userName eq "maria@example.com"`:                            true,
		`USERNAME Eq "MARIA@EXAMPLE.COM"`:                            true,
		`userName ne "maria@example.com"`:                            false,
		`userName eq "maria"`:                                        false,
		`userName co "@EXAMPLE."`:                                    true,
		`userName sw "mar"`:                                          true,
		`userName ew ".com"`:                                         true,
		`externalId eq "00uA"`:                                       true,
		`externalId eq "00ua"`:                                       false, // exact
		`externalId pr`:                                              true,
		`not (externalId pr)`:                                        false,
		`displayName eq "MARÍA LÓPEZ"`:                               true,
		`displayName eq "mari\u0301a lópez"`:                         true, // another way to write the same
		`active eq true`:                                             true,
		`active eq "True"`:                                           true, // Entra
		`active ne true`:                                             false,
		`name.familyName eq "lópez"`:                                 true,
		`name.formatted pr`:                                          false,
		`name.formatted eq null`:                                     true,
		`name.familyName ne null`:                                    true,
		`name pr`:                                                    true,
		`emails pr`:                                                  true,
		`emails eq "M@HOME.example"`:                                 true,
		`emails.value eq "m@home.example"`:                           true,
		`emails.type eq "home"`:                                      true,
		`emails[type eq "work"]`:                                     true,
		`emails[type eq "work"].value eq "maria@example.com"`:        true, // Entra
		`emails[type eq "home"].value eq "maria@example.com"`:        false,
		`emails[type eq "work" and value co "@example"]`:             true,
		`emails[type eq "home" and value co "@example.com"]`:         false,
		`emails[not (type eq "work") and primary eq true]`:           false,
		`urn:ietf:params:scim:schemas:core:2.0:User:userName sw "m"`: true,
		`urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "Sales"`: false, // not stored
		`title pr`:      false,
		`title eq null`: true,
		`addresses[type eq "work"].country eq "US"`:        false,
		`meta.lastModified gt "2026-02-14T09:30:00Z"`:      true,
		`meta.created ge "2026-02-14T10:30:00+01:00"`:      true,
		`meta.created lt "2026-02-14T09:30:00Z"`:           false,
		`userName eq "x" or active eq true`:                true,
		`userName eq "x" and active eq true or title pr`:   false,
		`userName eq "x" and (active eq true or title pr)`: false,
		`active eq true and not (userName eq "x")`:         true,
		`( ( userName pr ) )`:                              true,
		`id eq "` + maria.ID.String() + `"`:                true,
	} {
		f, err := scim.UserFilter(filter, true)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := len(f.Users([]scim.User{maria})) == 1; got != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{
		"", " ", "userName", "userName eq", `userName eq maria`, `userName eq "maria`, `userName eq 5`, `userName is "x"`,
		`userName eq "x" and`,
		`userName eq "x" userName eq "y"`, `nothing eq "x"`, `name.nothing eq "x"`, `name eq "x"`, `userName.value eq "x"`, `active gt true`,
		`active eq "yes"`, `active eq 1`, `meta.created gt "yesterday"`, `userName gt null`, `userName[type eq "x"]`, `emails[type eq "work"`,
		`emails[nothing eq "x"]`, `emails[emails[type eq "x"]]`, `emails[type eq "work"].nothing eq "x"`, `(userName pr`, `userName pr)`,
		`not userName pr`, `urn:nothing:User:userName pr`, `userName eq "\x"`, "userName eq \"\x00\"", `userName eq "x" && active eq true`,
		`[]`, `]`, `"userName" eq "x"`, `or`, `and and and`, `userName eq "` + strings.Repeat("x", 64<<10) + `"`,
		strings.Repeat("(", 1000) + "userName pr" + strings.Repeat(")", 1000), strings.Repeat("not (",
			21) + "userName pr" + strings.Repeat(")", 21),
		strings.Repeat("userName pr or ", 100) + "userName pr",
	} {
		_, err := scim.UserFilter(filter, true)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Unwrap() != error(scim.InvalidFilter) || len(e.Message) > 300 {
			t.Errorf("%.60q: %v", filter, err)
		}
	}
}

// The lookup of a filter includes all its matches.
func TestLookup(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]scim.Lookup{
		`userName eq "Maria@Example.com"`:                     {Name: "maria@example.com"},
		`active eq true and userName eq "X"`:                  {Name: "x"},
		`externalId eq "00uA"`:                                {ExternalID: "00uA"},
		`emails[type eq "work"].value eq "maria@Example.com"`: {Address: "maria@example.com"},
		`emails.value eq "A@b.c"`:                             {Address: "a@b.c"},
		`id eq "nothing"`:                                     {Nobody: true},
		`userName eq "x" or active eq true`:                   {},
		`not (userName eq "x")`:                               {},
		`userName ne "x"`:                                     {},
		`userName eq ""`:                                      {},
		`emails.type eq "x"`:                                  {},
		`emails[type eq "x"]`:                                 {},
		`displayName eq "x"`:                                  {},
	} {
		f, err := scim.UserFilter(filter, true)
		fatal(t, err)
		if got := f.Lookup(); got != want {
			t.Errorf("%s: %+v", filter, got)
		}
	}
	f, err := scim.GroupFilter(`displayName eq "Sales"`, true)
	fatal(t, err)
	if got := f.Lookup(); got != (scim.Lookup{Name: "sales"}) {
		t.Errorf("a group: %+v", got)
	}
}

func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`userName eq "x"`, `emails[type eq "work"].value sw "a" or not (active eq true)`, `((`, `a[b]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := scim.UserFilter(text, true)
		if err == nil {
			filter.Users([]scim.User{maria, {UserName: text}})
			filter.Lookup()
		}
	})
}
