package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/webhooks"
)

// Letters looks up the recipient and the subject of a notice. *postgres.System implements it.
type Letters interface {
	// DisabledLetter returns fault.NotFound if the webhook is gone or enabled again, or the user
	// is not an owner or admin.
	DisabledLetter(ctx context.Context, in workspace.ID, n webhooks.DisabledNotice) (webhooks.Letter, error)
}

// Post sends an e-mail of plain text. final means that a retry is useless. *mail.Post
// implements it.
type Post interface {
	Send(ctx context.Context, messageID, to, subject, text string) (final bool, err error)
}

// DisabledHandler runs the jobs that mail notices of disabled webhooks.
func DisabledHandler(letters Letters, post Post) jobs.Handler {
	return noticeHandler(webhooks.DisabledKind, post, func(ctx context.Context, in workspace.ID, n webhooks.DisabledNotice) (letter, error) {
		l, err := letters.DisabledLetter(ctx, in, n)
		return letter{l.Email, "A webhook of " + l.WorkspaceName + " was disabled", disabledText(l, n.Why)}, err
	})
}

// letter is the content of an e-mail.
type letter struct{ to, subject, text string }

// noticeHandler runs jobs that mail a notice of the payload N, unless write returns
// fault.NotFound: the notice is obsolete.
func noticeHandler[N any](kind jobs.Kind, post Post, write func(context.Context, workspace.ID, N) (letter, error)) jobs.Handler {
	return jobs.Handler{
		Kind: kind, Timeout: 2 * timeout, Slots: 4, LaneSlots: 2,
		Run: func(ctx context.Context, j jobs.Job) jobs.Result {
			var n N
			if err := json.Unmarshal(j.Payload, &n); err != nil {
				return jobs.Result{Err: errors.New("the payload is malformed"), Final: true}
			}
			m, err := write(ctx, j.Workspace, n)
			if fault.CodeOf(err) == fault.NotFound {
				return jobs.Result{}
			}
			if err != nil {
				return jobs.Result{Err: errors.New("what the notice is about could not be read")}
			}
			return posted(post.Send(ctx, j.ID.String(), m.to, m.subject, m.text))
		},
	}
}

// posted is the result of sending an e-mail. The job does not store the reply of the mail
// server, which may have the address.
func posted(final bool, err error) jobs.Result {
	if err == nil {
		return jobs.Result{}
	}
	return jobs.Result{Err: errors.New("the mail server did not take the e-mail"), Final: final}
}

// disabledText names only the host: the path of a webhook's URL may be its password.
func disabledText(l webhooks.Letter, why webhooks.Disabled) string {
	host := "an unknown host"
	if u, err := url.Parse(l.URL); err == nil {
		host = u.Host
	}
	reason := "nothing could be delivered for 24 hours"
	if why == webhooks.GoneReceiver {
		reason = "the receiver answered that it is gone (410)"
	}
	return fmt.Sprintf(`Hello,

Atlas disabled a webhook of the workspace "%s", because %s.

Receiver: %s

Once it works again, open the settings of webhooks and save the webhook, which enables it. What could not be delivered before it was disabled is in its log for 30 days and can be replayed. What happens until it is enabled is not: read the changes of the data and of the workspace instead.
`, l.WorkspaceName, reason, host)
}
