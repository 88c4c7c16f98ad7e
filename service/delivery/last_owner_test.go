package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"atlas/internal/mail"
	"atlas/internal/mail/mailtest"
	"atlas/service/delivery"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
)

// The last owner's e-mail says who asked, and what to do; a user who is no longer the owner
// gets none.
func TestLastOwnerIsMailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := mailtest.Start(t, mailtest.Behaviour{})
	post, err := mail.NewPost(mail.Config{URL: s.URL(), From: "Atlas <no-reply@atlas.example>"})
	fatal(t, err)
	member := func(email string, role people.Role) people.Member {
		t.Helper()
		m, err := w.directory.AddMember(t.Context(), w.in, people.Member{Email: email, Name: "N", Role: role})
		fatal(t, err)
		return m
	}
	owner, other := member("owner@firm.example", people.Owner), member("member@firm.example", people.MemberRole)
	w.run(t, delivery.LastOwnerHandler(w.system, post))
	letter := func(m people.Member, from people.LastOwnerSource) {
		t.Helper()
		payload, err := json.Marshal(people.LastOwnerNotice{User: m.ID, From: from})
		fatal(t, err)
		err = w.system.AddJobs(t.Context(), []jobs.New{{
			ID: jobs.NewID(), Workspace: w.in, Kind: people.LastOwnerKind, Lane: uuid.UUID(w.in), Payload: payload, RunAt: w.now(),
		}}, w.now())
		fatal(t, err)
	}
	letter(other, people.FromProvider)
	for from, want := range map[people.LastOwnerSource]string{
		people.FromProvisioning: "asked, by SCIM, to end your membership", people.FromProvider: "has another role for you than owner",
	} {
		letter(owner, from)
		s.Next(t, "rcpt")
		email := s.Next(t, "email")
		subject, _, body := read(t, email)
		if email.To != "owner@firm.example" || subject != "You are still the last owner of One" || !strings.Contains(body, want) ||
			!strings.Contains(body, "make somebody else an owner") {
			t.Errorf("%s: to %s, %s\n%s", from, email.To, subject, body)
		}
	}
	s.Quiet(t)
}
