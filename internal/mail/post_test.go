package mail_test

import (
	netmail "net/mail"
	"strings"
	"testing"

	"atlas/internal/mail"
)

// An e-mail that can be ended has the headers of RFC 8058, others have not.
func TestListHeaders(t *testing.T) {
	t.Parallel()
	p := startSMTP(t, behaviour{})
	post, err := mail.NewPost(mail.Config{URL: plain(p), From: "Atlas <no-reply@atlas.example>"})
	fatal(t, err)
	// Longer than a line of a header may be.
	address := "https://atlas.example/unsubscribe?token=" + strings.Repeat("Ab9_-", 40)
	for _, unsubscribe := range []string{address, ""} {
		_, err := post.SendList(t.Context(), "1", "ann@example.com", "Signals", "Hello", unsubscribe)
		fatal(t, err)
		p.next(t, "rcpt")
		m, err := netmail.ReadMessage(strings.NewReader(p.next(t, "email").Data))
		fatal(t, err)
		list, one := "", ""
		if unsubscribe != "" {
			list, one = "<"+address+">", "List-Unsubscribe=One-Click"
		}
		if got := m.Header.Get("List-Unsubscribe"); got != list || m.Header.Get("List-Unsubscribe-Post") != one || m.Header.Get("To") != "<ann@example.com>" {
			t.Errorf("%v", m.Header)
		}
	}
}
