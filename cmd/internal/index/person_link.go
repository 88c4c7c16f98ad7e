package index

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/indexer/eraser"
	"atlas/indexer/removal"
)

type personLink struct {
	suppressConfig

	Contact uuid.UUID `arg:"" help:"Id of the contact."`
	By      string    `placeholder:"TEXT" help:"Who asked for it; default: who runs the command."`
}

// Help is shown below the options.
func (personLink) Help() string {
	return `The letter goes to the e-mail address of the contact and nowhere else. A server that has --suppression-key, --smtp-url and --public-url sends it. The link erases this contact alone, works once, and ends after seven days; another one for the contact ends it. Nothing is erased before somebody presses the button of its page.`
}

// madeLink is the printed part of a link. It has no token: whoever has the token can erase.
type madeLink struct {
	ID      uuid.UUID `json:"id"`
	Contact uuid.UUID `json:"contact_id"`
	Expires time.Time `json:"expires_at"`
}

// Run creates a link, and queues its letter.
func (c *personLink) Run(ctx context.Context, s *cli.Streams) error {
	if len([]rune(c.By)) > 200 {
		return cli.ConfigError{"--by has at most 200 characters"}
	}
	return c.with(ctx, s, func(e *eraser.Eraser, w writer) error {
		links := removal.Links{Store: w.System, Eraser: e, Now: e.Now}
		link, err := links.Make(ctx, c.Contact, who(c.By))
		if err != nil {
			return err
		}
		if c.JSON {
			return cli.PrintJSON(s.Out, madeLink{link.ID, link.Contact, link.Expires})
		}
		_, err = fmt.Fprintf(s.Out, "queued: a letter to the address of the contact, with a link that works until %s\n", link.Expires.Format(time.RFC3339))
		return err
	})
}
