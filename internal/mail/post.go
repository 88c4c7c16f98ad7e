package mail

import (
	"context"
	"fmt"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// Post sends e-mails that others compose, one at a time.
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

// Send sends an e-mail of plain text to one address. messageID is the same in each
// attempt, so that a mailbox can recognize doubles. final says that the server refuses
// this e-mail for good.
func (p *Post) Send(ctx context.Context, messageID, to, subject, text string) (refused bool, err error) {
	return p.SendList(ctx, messageID, to, subject, text, "")
}

// SendList is Send with an address to which a request ends such e-mails (RFC 8058), ""
// for none.
func (p *Post) SendList(ctx context.Context, messageID, to, subject, text, unsubscribe string) (refused bool, err error) {
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
	err = p.server.send(ctx, m)
	return err != nil && final(err), err
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
