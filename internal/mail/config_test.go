package mail_test

import (
	"strings"
	"testing"

	"atlas/internal/mail"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"smtp://mail.example", "smtp://mail.example:2525", "smtp://u:p@mail.example?tls=starttls", "smtps://u:p@mail.example",
		"smtp://mail.example?tls=none", "smtp://u:p@127.0.0.1:25?tls=none", "smtp://u:p@localhost?tls=none", "smtp://[::1]:25/",
	} {
		if err := (mail.Config{URL: url, From: from}).Validate(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"mail.example", "http://mail.example", "smtp://", "smtp://mail.example/x", "smtp://mail.example#x", "smtp://mail.example?tls=maybe",
		"smtps://mail.example?tls=none", "smtp://u:hidden@mail.example?tls=none", "smtp://mail.example?x=1",
		"smtp://u:hidden@mail.example:99999", "smtp://u:hidden@mail.example:x",
	} {
		err := mail.Config{URL: url, From: from}.Validate()
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, c := range map[string]mail.Config{
		"no sender": {URL: "smtp://mail.example"}, "a bad one": {URL: "smtp://mail.example", From: "x"}, "a sender alone": {From: from},
	} {
		if c.Validate() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := (mail.Config{}).Validate(); err != nil || (mail.Config{}).Enabled() {
		t.Errorf("nothing configured: %v", err)
	}
}
