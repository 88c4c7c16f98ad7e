package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/workspace/jobs"
)

// ErasureKind is the kind of the job that mails a link to erase a contact.
const ErasureKind jobs.Kind = "erasure.link"

// ErasureLetters looks up the e-mail of a link. *removal.Links implements it.
type ErasureLetters interface {
	// Letter returns fault.NotFound for a link that must not be mailed anymore.
	Letter(ctx context.Context, id uuid.UUID) (to, token string, expires time.Time, err error)
}

// Erasures mails links to erase contacts.
type Erasures struct {
	Letters ErasureLetters
	Post    Post
	// PublicURL is where browsers reach this service.
	PublicURL string
	// Log gets the reasons why the mail server refused an e-mail. Links are never logged.
	Log *slog.Logger
}

// Handler runs the jobs that mail them. They are retried for two days.
func (e Erasures) Handler() jobs.Handler {
	pauses := append(jobs.Pauses(), 12*time.Hour, 12*time.Hour)
	return jobs.Handler{Kind: ErasureKind, Timeout: 2 * timeout, Slots: 2, LaneSlots: 2, Pauses: pauses, Run: e.send}
}

func (e Erasures) send(ctx context.Context, j jobs.Job) jobs.Result {
	to, token, expires, err := e.Letters.Letter(ctx, uuid.UUID(j.ID))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return jobs.Result{} // used or expired, or the contact is gone or has another address
	case err != nil:
		return jobs.Result{Err: errors.New("the contact could not be read")}
	}
	u, err := url.Parse(e.PublicURL)
	if err != nil {
		return jobs.Result{Err: errors.New("the public URL is malformed"), Final: true}
	}
	u = u.JoinPath("erasure")
	u.RawQuery = url.Values{"token": {token}}.Encode()
	refused, err := e.Post.Send(ctx, j.ID.String(), to, "Erase your entry in Atlas", erasureText(u.String(), expires))
	switch {
	case refused:
		e.Log.Error("the mail server refuses the letter of a link to erase for good", "link", j.ID.String(), "error", err)
	case err != nil:
		e.Log.Warn("the letter of a link to erase was not mailed; it is tried again", "link", j.ID.String(), "error", err)
	}
	return posted(refused, err)
}

// ErasureRequestKind is the kind of the job that looks up the address of a request for a
// link.
const ErasureRequestKind jobs.Kind = "erasure.request"

// ErasureRequests looks up addresses. *removal.Requests implements it.
type ErasureRequests interface {
	Answer(ctx context.Context, id uuid.UUID) error
}

// RequestHandler runs the jobs that look up addresses.
func RequestHandler(r ErasureRequests, log *slog.Logger) jobs.Handler {
	return jobs.Handler{
		Kind: ErasureRequestKind, Timeout: time.Minute, Slots: 1, LaneSlots: 1, Pauses: jobs.Pauses(),
		Run: func(ctx context.Context, j jobs.Job) jobs.Result {
			err := r.Answer(ctx, uuid.UUID(j.ID))
			if err == nil {
				return jobs.Result{}
			}
			log.Warn("an address that a link to erase was asked for was not looked up; it is tried again",
				"request", j.ID.String(), "code", string(fault.CodeOf(err))) // the error may have the address
			return jobs.Result{Err: errors.New("the address could not be looked up")}
		},
	}
}

// erasureText has nothing of the contact: a mailbox can have several readers.
func erasureText(link string, expires time.Time) string {
	return fmt.Sprintf(`Hello,

Atlas has an entry about a person with this e-mail address. To have it erased and kept out of later data, open this page and press its button:

%s

The link works once, until %s. Whoever has it can erase the entry: do not pass it on. If you want to keep the entry, or did not expect this letter, there is nothing you need to do.
`, link, expires.UTC().Format("2 January 2006, 15:04 UTC"))
}
