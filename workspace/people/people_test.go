package people_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/people"
)

// invitationStore has only the last invitation.
type invitationStore struct {
	people.InvitationStore
	record people.InvitationRecord
}

func (k *invitationStore) InsertInvitation(
	_ context.Context, _ workspace.ID, _ people.Actor, r people.InvitationRecord, _ workspace.Limits,
	guard people.Guard,
) (people.EmailSchedule, error) {
	k.record = r
	return r.ScheduleEmail(people.EarlierEmails{}), guard(people.LockedMembers{Actor: people.Owner})
}

func links(t *testing.T, base string, keys ...string) *people.InvitationLinks {
	t.Helper()
	var raw [][]byte
	for _, k := range keys {
		raw = append(raw, []byte(k))
	}
	l, err := people.NewInvitationLinks(base, raw...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A base that ends in # has the token where servers do not see it.
func TestLinkWithFragment(t *testing.T) {
	t.Parallel()
	store := &invitationStore{}
	s := people.Invitations{Store: store, Links: links(t, "https://atlas.example/invitations#", "the key of today.....")}
	made, err := s.Create(t.Context(), workspace.NewID(), people.KeyActor, "ann@example.com", people.MemberRole)
	if err != nil {
		t.Fatal(err)
	}
	rest, found := strings.CutPrefix(made.Link, "https://atlas.example/invitations#token=")
	if _, _, ok := workspace.ParseSecretText(rest); !found || !ok {
		t.Error(made.Link)
	}
}

func TestLinksAreReproducible(t *testing.T) {
	t.Parallel()
	const base = "https://app.example/join?lang=en"
	oldKey, newKey := "the key of yesterday", "the key of today....."
	store := &invitationStore{}
	s := people.Invitations{Store: store, Links: links(t, base, oldKey)}
	made, err := s.Create(t.Context(), workspace.NewID(), people.KeyActor, "ann@example.com", people.MemberRole)
	if err != nil {
		t.Fatal(err)
	}
	link := made.Link
	u, err := url.Parse(link)
	if err != nil || u.Host != "app.example" || u.Query().Get("lang") != "en" || len(u.Query().Get("token")) != 80 {
		t.Errorf("%s: %v", link, err)
	}
	r := store.record
	for name, l := range map[string]*people.InvitationLinks{
		"the same key": links(t, base, oldKey), "after a rotation": links(t, base, newKey, oldKey),
	} {
		if repeated, err := l.URL(r.ID, r.Seed, r.Hash); err != nil || repeated != link {
			t.Errorf("%s: %s, %v", name, repeated, err)
		}
	}
	if repeated, err := links(t, base, newKey).URL(r.ID, r.Seed, r.Hash); err == nil {
		t.Errorf("without its key the link is %s", repeated)
	}
	other := r.Seed
	_, _ = rand.Read(other[:])
	if repeated, err := links(t, base, oldKey).URL(r.ID, other, r.Hash); err == nil {
		t.Errorf("with another seed the link is %s", repeated)
	}
	if r.SendEmail {
		t.Error("without mail an e-mail is due")
	}
}

func TestBadLinks(t *testing.T) {
	t.Parallel()
	good := []byte("a key of the servers")
	for _, base := range []string{
		"", "app.example/join", "ftp://app.example", "https://", "https://u:p@app.example", "https://app.example/#x",
		"::",
	} {
		if _, err := people.NewInvitationLinks(base, good); err == nil {
			t.Errorf("%q was accepted", base)
		}
	}
	for name, keys := range map[string][][]byte{"no key": nil, "a short one": {good, []byte("short")}} {
		if _, err := people.NewInvitationLinks("https://app.example", keys...); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzAccept(f *testing.F) {
	f.Add(strings.Repeat("0", 80))
	f.Fuzz(func(t *testing.T, token string) {
		s := people.Invitations{Acceptances: nobody{}}
		if _, _, err := s.Accept(t.Context(), token, people.Invitee{}); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%q: %v", token, err)
		}
	})
}

// nobody is a store without invitations.
type nobody struct{}

func (nobody) PreviewInvitation(context.Context, people.Acceptance) (people.InvitationPreview, error) {
	panic("no invitation is looked for")
}

func (nobody) AcceptInvitation(context.Context, people.Acceptance) (workspace.ID, people.Member, error) {
	return workspace.ID{}, people.Member{}, fault.New(fault.NotFound, "none")
}

func TestInvitationAnswers(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("x", 3600))
	i := people.Invitation{Email: "a@b.example", Role: people.Admin, CreatedAt: at, ExpiresAt: at.Add(people.InvitationTTL)}
	rest := `"expires_at":"2026-02-10T03:05:06.000Z","created_at":"2026-02-03T03:05:06.000Z"}`
	head := `{"id":"` + i.ID.String() + `","email":"a@b.example","role":"admin",`
	for want, value := range map[string]func() people.Invitation{
		head + `"status":"Pending","sent_at":null,` + rest: func() people.Invitation { return i },
		head + `"status":"Expired","sent_at":"2026-02-03T03:05:06.000Z",` + rest: func() people.Invitation {
			i := i
			i.Expired, i.SentAt = true, &at
			return i
		},
	} {
		got, err := json.Marshal(value())
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestMemberLimits(t *testing.T) {
	t.Parallel()
	member := people.Member{ID: workspace.NewUserID(), Email: "a@b.example", Name: "A", Role: people.Owner}
	changedMember := func(change func(*people.Member)) error { m := member; change(&m); return m.Validate() }
	for name, c := range map[string]struct {
		err  error
		want string // code and field of the issue
	}{
		"a good member":  {member.Validate(), ""},
		"no user":        {changedMember(func(m *people.Member) { m.ID = workspace.UserID{} }), "invalid_format user"},
		"no role":        {changedMember(func(m *people.Member) { m.Role = "" }), "invalid_union role"},
		"no address":     {changedMember(func(m *people.Member) { m.Email = "a" }), "invalid_format email"},
		"a display name": {changedMember(func(m *people.Member) { m.Email = "A <a@b.example>" }), "invalid_format email"},
		"a long address": {changedMember(func(m *people.Member) { m.Email = strings.Repeat("a", 320) + "@b.example" }), "too_big email"},
	} {
		got := ""
		if e, ok := errors.AsType[*fault.Error](c.err); ok && len(e.Issues) == 1 {
			got = string(e.Issues[0].Code) + " " + strings.Join(e.Issues[0].Path, ".")
		}
		if got != c.want || (c.err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
}

func TestMemberJSON(t *testing.T) {
	t.Parallel()
	id, user := workspace.NewID(), workspace.NewUserID()
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("x", 3600))
	role := people.Admin
	for want, value := range map[string]any{
		`{"id":"` + id.String() + `","name":"N","plan":"pro","role":"admin","member_count":3,"created_at":"2026-02-03T03:05:06.000Z"}`: people.Summary{
			ID: id, Name: "N", Plan: workspace.Pro, Role: &role, MemberCount: 3, CreatedAt: at},
		`{"id":"` + id.String() + `","name":"N","plan":"pro","role":null,"member_count":0,"created_at":"2026-02-03T03:05:06.000Z"}`: people.Summary{
			ID: id, Name: "N", Plan: workspace.Pro, CreatedAt: at},
		`{"id":"` + user.String() + `","email":"a@b.example","name":"A","role":"member","joined_at":"2026-02-03T03:05:06.000Z"}`: people.Member{
			ID: user, Email: "a@b.example", Name: "A", Role: people.MemberRole, JoinedAt: at},
	} {
		got, err := json.Marshal(value)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
