package mail

import (
	"fmt"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"atlas/workspace/people"
)

// compose writes the e-mail of an invitation. Names are user input: they go
// into encoded headers and plain text only.
func compose(from *netmail.Address, e people.InvitationEmail, link string) *gomail.Msg {
	m := gomail.NewMsg()
	m.FromMailAddress(from)
	m.ToMailAddress(&netmail.Address{Address: e.Email})
	_, domain, _ := strings.Cut(from.Address, "@")
	// Equal in each attempt, so that a mailbox can recognize duplicates.
	m.SetMessageIDWithValue(e.Invitation.String() + "@" + domain)
	m.SetDate()
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.Subject(fmt.Sprintf("You are invited to %s on Atlas", e.WorkspaceName))
	who := "You are invited"
	if e.InvitedBy != "" {
		who = e.InvitedBy + " invites you"
	}
	as := "a member"
	if e.Role == people.Admin {
		as = "an admin"
	}
	m.SetBodyString(gomail.TypeTextPlain, fmt.Sprintf(`Hello,

%s to join the workspace "%s" on Atlas, as %s.

To accept, open this link and sign in with the address %s:

%s

The link works once, until %s. If you did not expect this letter, there is nothing you need to do.
`, who, e.WorkspaceName, as, e.Email, link, e.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC")))
	return m
}
