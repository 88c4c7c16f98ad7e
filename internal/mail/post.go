package mail

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// smtpTimeout bounds the connection to a mail server, and then the sending.
const smtpTimeout = 10 * time.Second

// Post sends e-mails.
type Post struct {
	server server
	from   *netmail.Address
}

// NewPost returns a Post for an enabled configuration.
func NewPost(c Config) (*Post, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	server, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(c.From)
	return &Post{server, from}, err
}

// Send sends an e-mail of plain text to one address. messageID is the same in each attempt,
// so that a mailbox can recognize duplicates. final means that the server refuses this
// e-mail permanently.
func (p *Post) Send(ctx context.Context, messageID, to, subject, text string) (refused bool, err error) {
	return p.SendList(ctx, messageID, to, subject, text, "")
}

// SendList is Send with an unsubscribe address (RFC 8058), "" for none.
func (p *Post) SendList(ctx context.Context, messageID, to, subject, text, unsubscribe string) (refused bool, err error) {
	err = p.server.send(ctx, p.message(messageID, to, subject, text, unsubscribe))
	return err != nil && final(err), err
}

// message writes an e-mail. All its parts are user input: they go into encoded headers and
// plain text only.
func (p *Post) message(messageID, to, subject, text, unsubscribe string) *gomail.Msg {
	m := gomail.NewMsg()
	if unsubscribe != "" {
		m.SetGenHeader("List-Unsubscribe", "<"+unsubscribe+">")
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	m.FromMailAddress(p.from)
	m.ToMailAddress(&netmail.Address{Address: to})
	_, domain, _ := strings.Cut(p.from.Address, "@")
	m.SetMessageIDWithValue(messageID + "@" + domain)
	m.SetDate()
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.Subject(subject)
	m.SetBodyString(gomail.TypeTextPlain, text)
	return m
}

// final reports whether a retry is useless: the server permanently rejects this mailbox or
// e-mail. A rejected login or sender is retried, because an operator can fix it.
func final(err error) bool {
	refusal, ok := errors.AsType[*gomail.SendError](err)
	if !ok || refusal.IsTemp() || refusal.ErrorCode() < 500 {
		return false
	}
	switch refusal.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPDataClose, gomail.ErrNoUnencoded:
		return true
	}
	return false
}

// send delivers to the mail server. Its acceptance is final, whatever happens to the
// connection afterwards.
func (s server) send(ctx context.Context, m *gomail.Msg) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return fmt.Errorf("greeting the mail server: %w", err)
	}
	err = client.SendWithSMTPClient(session, m)
	if m.IsDelivered() {
		err = nil
	}
	// Errors after the acceptance do not matter.
	_ = client.CloseWithSMTPClient(session)
	return err
}
