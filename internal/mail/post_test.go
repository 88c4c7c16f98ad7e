package mail_test

import (
	netmail "net/mail"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atlas/internal/mail"
	"atlas/internal/mail/mailtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const from = "Atlas <no-reply@atlas.example>"

// send sends an e-mail by a server with that URL.
func send(t *testing.T, url string) (final bool, err error) {
	t.Helper()
	post, err := mail.NewPost(mail.Config{URL: url, From: from})
	if err != nil {
		t.Fatal(err)
	}
	return post.Send(t.Context(), "1", "ann@example.com", "Signals", "Hello")
}

// An e-mail that can be ended has the headers of RFC 8058, others have not.
func TestListHeaders(t *testing.T) {
	t.Parallel()
	s := mailtest.Start(t, mailtest.Behaviour{})
	post, err := mail.NewPost(mail.Config{URL: s.URL(), From: from})
	if err != nil {
		t.Fatal(err)
	}
	// Longer than a line of a header may be.
	address := "https://atlas.example/unsubscribe?token=" + strings.Repeat("Ab9_-", 40)
	for _, unsubscribe := range []string{address, ""} {
		if _, err := post.SendList(t.Context(), "1", "ann@example.com", "Signals", "Hello", unsubscribe); err != nil {
			t.Fatal(err)
		}
		s.Next(t, "rcpt")
		m, err := netmail.ReadMessage(strings.NewReader(s.Next(t, "email").Data))
		if err != nil {
			t.Fatal(err)
		}
		list, one := "", ""
		if unsubscribe != "" {
			list, one = "<"+address+">", "List-Unsubscribe=One-Click"
		}
		if got := m.Header.Get("List-Unsubscribe"); got != list || m.Header.Get("List-Unsubscribe-Post") != one ||
			m.Header.Get("To") != "<ann@example.com>" {
			t.Errorf("%v", m.Header)
		}
	}
}

// A mailbox that is refused for good is final. What comes later, or an operator can fix, is
// not.
func TestRefusals(t *testing.T) {
	t.Parallel()
	login := mailtest.Start(t, mailtest.Behaviour{Password: "s3cret/@:"})
	for name, c := range map[string]struct {
		url   string
		final bool
		says  string
	}{
		"no mailbox":  {mailtest.Start(t, mailtest.Behaviour{Reject: true}).URL(), true, "no such mailbox"},
		"later":       {mailtest.Start(t, mailtest.Behaviour{Greylist: 1}).URL(), false, "come back later"},
		"no answer":   {mailtest.Start(t, mailtest.Behaviour{Hang: 1}).URL(), false, "timeout"},
		"no login":    {login.URL(), false, ""},
		"wrong login": {"smtp://atlas:wrong@" + login.Address + "?tls=none", false, ""},
		"no TLS":      {"smtp://" + login.Address, false, "STARTTLS"},
		"nobody":      {"smtp://127.0.0.1:1?tls=none", false, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			final, err := send(t, c.url)
			if err == nil || final != c.final || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "wrong@") {
				t.Errorf("final %t: %v", final, err)
			}
		})
	}
	if final, err := send(t, "smtp://atlas:s3cret%2F%40%3A@"+login.Address+"?tls=none"); err != nil || final {
		t.Errorf("the right login: %t, %v", final, err)
	}
}
