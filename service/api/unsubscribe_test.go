package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"atlas/search"
	"atlas/service/api"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/digest"
	"atlas/workspace/people"
)

// Opening the link of an e-mail changes nothing; a POST by a mail program or by the button
// ends the e-mails of one member in one workspace.
func TestUnsubscribing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "<b>Bold & Co</b>", workspace.Pro, 1000)
	other := w.workspace(t, "Other", workspace.Pro, 1000)
	ann := w.member(t, in, "ann-"+uuid.NewString()+"@example.com", people.MemberRole)
	if m := w.member(t, other, ann.Email, people.MemberRole); m.ID != ann.ID {
		t.Fatalf("%s is another user than %s", m.ID, ann.ID)
	}
	bob := w.member(t, in, "bob-"+uuid.NewString()+"@example.com", people.MemberRole)
	cursors, err := search.NewCursors([]byte("a key that signs cursors"))
	fatal(t, err)
	links := digest.Links{Cursors: cursors}
	server := httptest.NewServer((&api.Server{Core: endpoint.Core{Log: w.server.Log}, Unsubscribe: w.system, MailLinks: links}).Handler())
	t.Cleanup(server.Close)
	ask := func(method, token, form string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(
			t.Context(), method, server.URL+"/unsubscribe?token="+url.QueryEscape(token), strings.NewReader(form),
		)
		fatal(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if strings.HasPrefix(form, "--") {
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		}
		res, err := http.DefaultClient.Do(r)
		fatal(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") ||
			!strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", method, res.Header)
		}
		return res.StatusCode, string(text)
	}
	check := func(what string, in workspace.ID, user workspace.UserID, want bool) {
		t.Helper()
		if _, got, err := w.system.WantsMail(t.Context(), in, user); err != nil || got != want {
			t.Errorf("%s: wants mail %v, %v", what, got, err)
		}
	}
	token := links.Token(in, ann.ID)
	for range 2 {
		if status, page := ask("GET", token, ""); status != 200 || !strings.Contains(page, "Unsubscribe</button>") ||
			strings.Contains(page, "<b>Bold") || !strings.Contains(page, "Bold &amp; Co") {
			t.Errorf("%d %s", status, page)
		}
		check("opened", in, ann.ID, true)
	}
	multipart := "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n"
	for _, form := range []string{multipart, "List-Unsubscribe=One-Click", ""} {
		if status, page := ask("POST", token, form); status != 200 || !strings.Contains(page, "You are unsubscribed") {
			t.Errorf("%d %s", status, page)
		}
		check("unsubscribed", in, ann.ID, false)
	}
	check("another member", in, bob.ID, true)
	check("another workspace", other, ann.ID, true)
	if status, page := ask("POST", token, "again=1"); status != 200 || !strings.Contains(page, "Unsubscribe</button>") {
		t.Errorf("%d %s", status, page)
	}
	check("again", in, ann.ID, true)
	for _, bad := range []string{"", "x", token[:len(token)-2]} {
		for _, method := range []string{"GET", "POST"} {
			if status, page := ask(method, bad, ""); status != 404 || !strings.Contains(page, "leads nowhere") {
				t.Errorf("%s %q: %d %s", method, bad, status, page)
			}
		}
	}
	check("after bad links", in, ann.ID, true)
	// No page says that an e-mail is ended when it is not.
	account := workspace.NewUserID()
	if claimed, err := w.system.ClaimUser(t.Context(), account, ann.Email); err != nil || !claimed {
		t.Fatalf("not claimed: %v", err)
	}
	if status, page := ask("POST", token, "List-Unsubscribe=One-Click"); status != 404 || !strings.Contains(page, "leads nowhere") {
		t.Errorf("the link of an id from before: %d %s", status, page)
	}
	if status, _ := ask("POST", links.Token(in, account), ""); status != 200 {
		t.Errorf("the link of the account: %d", status)
	}
	check("the account", in, account, false)
}
