package mail

import (
	"bytes"
	"mime"
	netmail "net/mail"
	"slices"
	"testing"

	"atlas/workspace"
)

// FuzzMessage checks that, for any name and address of a workspace, an e-mail has only the
// recipient and no headers from user input.
func FuzzMessage(f *testing.F) {
	for _, s := range [][3]string{
		{"Acme", "Anna", "a@b.example"}, {"=?utf-8?q?x=0D=0ABcc:_e@f.example?=", "<b@c.example>", `"a b"@c.example`},
		{"Łódź 🏗 \u2028 of a rather long name that has to be folded over lines of the header", "\"", "x@straße.example"}, {"a, b", "c;d", "a@[127.0.0.1]"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	own := []string{
		"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version",
		"Subject", "To", "User-Agent", "X-Mailer",
	}
	p := &Post{from: &netmail.Address{Name: "Atlas", Address: "no-reply@atlas.example"}}
	f.Fuzz(func(t *testing.T, name, by, email string) {
		if !workspace.ValidName(name) || !workspace.ValidEmail(email) {
			return
		}
		var text bytes.Buffer
		want := "You are invited to " + name + " on Atlas"
		m := p.message("1", email, want, by+" invites you to "+name, "")
		if _, err := m.WriteTo(&text); err != nil {
			return // such an address cannot be in a header
		}
		read, err := netmail.ReadMessage(&text)
		if err != nil {
			t.Fatalf("%q, %q, %q: %v", name, by, email, err)
		}
		for header, values := range read.Header {
			if !slices.Contains(own, header) || len(values) != 1 {
				t.Errorf("%q, %q, %q: header %s: %q", name, by, email, header, values)
			}
		}
		to, err := read.Header.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != email {
			t.Errorf("%q: to %v, %v", email, to, err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
		if err != nil || subject != want {
			t.Errorf("subject %q, want %q, %v", subject, want, err)
		}
	})
}
