package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/book"
)

// Each limit over HTTP: 409 limit_reached with the limit; in a batch, the error of the
// item.
func TestBoundsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newViewWorld(t)
	const most = 2
	bounds := workspace.Limits{OpenInvitations: most, Views: most, PersonalSkills: most, WorkspaceSkills: most, BookAdditions: most}
	w.server.Views.Views.Limits, w.server.People.Skills.Limits, w.server.People.Invitations.Limits = bounds, bounds, bounds
	w.server.Book.(*book.Book).Limits = bounds
	account := func(n int, status string) string {
		return fmt.Sprintf(`{"account_id":%q,"workspace_status":%q}`, searchtest.ID("a", n), status)
	}
	batches := func(name, path, body string, want ...string) {
		t.Helper()
		short, all := w.results(t, w.member, path, body)
		if diff := cmp.Diff(want, short); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for i, status := range short {
			if status == "limit_reached" && !strings.Contains(all.Results[i].Error.Message, "limit of 2 ") {
				t.Errorf("%s: %+v", name, all.Results[i].Error)
			}
		}
	}
	batches("Views", "/workspace/views/upsert/batch", `{"inputs":[`+viewBody("account", "static", "A")+`,`+
		viewBody("account", "static", "a")+`,`+
		viewBody("contact", "static", "B")+`,`+viewBody("account", "static", "C")+`]}`, "ok", "view_name_conflict", "ok", "limit_reached")
	batches(
		"a book", "/workspace/accounts/upsert/batch",
		`{"inputs":[`+account(1, "x")+`,`+account(2, "x")+`,`+account(3, "x")+`,`+account(1, "y")+`]}`,
		"ok", "ok", "limit_reached", "ok",
	)
	if a := w.call(t, w.key, "POST", "/workspace/accounts/upsert", account(2, "z")); a.status != 200 {
		t.Errorf("a record that is in the book: %d %s", a.status, a.text)
	}
	if a := w.call(t, w.key, "POST", "/workspace/accounts/search", `{}`); a.status != 200 || !strings.Contains(a.text, `"total":2,`) {
		t.Errorf("the book: %d %s", a.status, a.text)
	}
	for name, c := range map[string]struct{ token, path, body string }{
		"a View":          {w.key, "/workspace/views/upsert", viewBody("account", "static", "%d")},
		"an account":      {w.key, "/workspace/accounts/upsert", account(3, "%d")},
		"a contact":       {w.key, "/workspace/contacts/upsert", fmt.Sprintf(`{"contact_id":%q,"notes":"%%d"}`, searchtest.ID("c", 1))},
		"a Skill":         {w.key, "/workspace/skills/create", `{"scope":"workspace","name":"S%d","description":"d","content":"c"}`},
		"a Skill of mine": {w.member, "/workspace/skills/create", `{"scope":"personal","name":"S%d","description":"d","content":"c"}`},
		"an invitation":   {w.key, "/workspace/invitations", `{"email":"n%d@example.com","role":"member"}`},
	} {
		var last answer
		for n := range most + 1 {
			last = w.call(t, c.token, "POST", c.path, fmt.Sprintf(c.body, n))
		}
		if last.status != 409 || last.code() != "limit_reached" || !strings.Contains(last.text, "limit of 2 ") {
			t.Errorf("%s: %d %s", name, last.status, last.text)
		}
	}
}

// The answer to an invitation has the schedule of its e-mail.
func TestInvitationEmailOverHTTP(t *testing.T) {
	t.Parallel()
	s := newStaff(t)
	invite := func(address string) (email struct {
		Status  string
		DueAt   *string `json:"due_at"`
		PacedBy *string `json:"paced_by"`
	}) {
		t.Helper()
		var data struct{ Letter any }
		data.Letter = &email
		s.want(
			address, s.call(t, s.key, "POST", "/workspace/invitations", `{"email":"`+address+`","role":"member"}`), 200,
			"",
		).into(t, &data, nil)
		return email
	}
	if l := invite("a@example.com"); l.Status != "none" || l.DueAt != nil || l.PacedBy != nil {
		t.Errorf("without mail: %+v", l)
	}
	s.server.People.Invitations.Emails = true
	s.server.People.Invitations.Limits = workspace.Limits{EmailsHourly: 1}
	if l := invite("b@example.com"); l.Status != "due" || l.DueAt == nil || l.PacedBy != nil {
		t.Errorf("the first: %+v", l)
	}
	if l := invite("c@example.com"); l.Status != "delayed" || l.DueAt == nil || l.PacedBy == nil || *l.PacedBy != "workspace" {
		t.Errorf("the second: %+v", l)
	}
}
