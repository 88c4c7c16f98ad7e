// Package digest has the types and rules of e-mails of signals: when a workspace's next one
// is due, and unsubscribe links (docs/api.md, "Signal subscriptions").
//
// It neither stores (workspace/postgres) nor sends (service/delivery).
package digest

import (
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/subscriptions"
)

// Kind is the kind of the job that sends a digest to a member.
const Kind jobs.Kind = "signals.digest"

const (
	// Bundle is the minimum time between an instant digest and the next one.
	Bundle = 5 * time.Minute
	// hour of the day, and weekday, of daily and weekly digests.
	hour    = 8
	weekday = time.Monday
)

// Digests are those of a workspace with one frequency.
type Digests struct {
	Workspace workspace.ID
	Frequency subscriptions.Frequency
	// TimeZone is that of the workspace.
	TimeZone string
	// Types are the signal types that are mailed.
	Types []string
	// Began means that earlier digests had the signals that arrived up to Through. If not, this
	// is the beginning: signals up to Through are not mailed; for the zero time all are.
	Through time.Time
	Began   bool
	NextAt  time.Time
}

// Next is when the digest after one at a time is due: 5 minutes later, or at 8 o'clock in the
// time zone, on the next day or the next Monday. An unknown zone is UTC.
func Next(f subscriptions.Frequency, zone string, at time.Time) time.Time {
	if f == subscriptions.Instant {
		return at.Add(Bundle)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		location = time.UTC
	}
	local := at.In(location)
	for days := 0; ; days++ {
		next := time.Date(local.Year(), local.Month(), local.Day()+days, hour, 0, 0, 0, location)
		if next.After(at) && (f == subscriptions.Daily || next.Weekday() == weekday) {
			return next.UTC()
		}
	}
}

// Payload is that of the job that sends a digest.
type Payload struct {
	User      workspace.UserID        `json:"user_id"`
	Frequency subscriptions.Frequency `json:"frequency"`
	// The digest has the signals that arrived later than After and not later than UpTo.
	After time.Time `json:"after"`
	UpTo  time.Time `json:"up_to"`
}

// Recipient is who gets a digest, and of which signals.
type Recipient struct {
	WorkspaceName, Email string
	// Types are the signal types that are mailed with the frequency at present.
	Types []string
}

// Cursors signs links. *search.Cursors implements it.
type Cursors interface {
	Seal(purpose string, data []byte) string
	Open(purpose, sealed string) (data []byte, ok bool)
}

// Links makes and reads the tokens of unsubscribe links.
type Links struct{ Cursors Cursors }

const purpose = "end e-mails of signals"

// Token returns the token of a user in a workspace.
func (l Links) Token(in workspace.ID, user workspace.UserID) string {
	return l.Cursors.Seal(purpose, append(in[:], user[:]...))
}

// Read returns whose token it is: fault.NotFound for an invalid one.
func (l Links) Read(token string) (in workspace.ID, user workspace.UserID, err error) {
	data, ok := l.Cursors.Open(purpose, token)
	if !ok || len(data) != 32 {
		return in, user, fault.New(fault.NotFound, "this link is not one of an e-mail, or not complete")
	}
	return workspace.ID(data[:16]), workspace.UserID(uuid.UUID(data[16:])), nil
}
