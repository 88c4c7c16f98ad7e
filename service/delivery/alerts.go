package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/alerts"
	"atlas/workspace/jobs"
)

// AlertLetters reads the content of e-mails about alerts. *postgres.System implements it.
type AlertLetters interface {
	// LetterOf returns fault.NotFound if the user gets no e-mails.
	LetterOf(ctx context.Context, in workspace.ID, p alerts.MailPayload) (alerts.Letter, error)
}

// AlertMails sends e-mails about the entries of alerts.
type AlertMails struct {
	ListMail
	Alerts AlertLetters
}

// Handler runs the jobs that send them.
func (a AlertMails) Handler() jobs.Handler { return a.handler(alerts.MailKind, a.send) }

func (a AlertMails) send(ctx context.Context, j jobs.Job) jobs.Result {
	var p alerts.MailPayload
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return jobs.Result{Err: errors.New("the payload is malformed"), Final: true}
	}
	l, err := a.Alerts.LetterOf(ctx, j.Workspace, p)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return jobs.Result{} // they left, or unsubscribed
	case err != nil:
		return jobs.Result{Err: errors.New("the alerts could not be read")}
	case len(l.Rests) > 0:
		return a.ListMail.send(ctx, j, p.User, l.Email, restSubject(l), func(unsubscribe string) string { return a.restText(l, unsubscribe) })
	case len(l.Views) == 0:
		return jobs.Result{} // seen, or switched off
	}
	return a.ListMail.send(ctx, j, p.User, l.Email, alertSubject(l), func(unsubscribe string) string { return a.text(l, unsubscribe) })
}

// oneLine is a name without line breaks.
func oneLine(name string) string { return strings.Join(strings.Fields(name), " ") }

func newRecords(n int) string {
	if n == 1 {
		return "1 new record"
	}
	return fmt.Sprintf("%d new records", n)
}

func alertSubject(l alerts.Letter) string {
	count := 0
	for _, v := range l.Views {
		count += v.Count
	}
	if len(l.Views) == 1 {
		return fmt.Sprintf("%s in \"%s\"", newRecords(count), oneLine(l.Views[0].Name))
	}
	return fmt.Sprintf("%s in %d of your Views", newRecords(count), len(l.Views))
}

// text has names and numbers, no values of records.
func (a AlertMails) text(l alerts.Letter, unsubscribe string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Hello,\n\nrecords began to match Views of the workspace \"%s\":\n", oneLine(l.WorkspaceName))
	for _, v := range l.Views {
		fmt.Fprintf(&b, "\n- %s: %d of the %s\n", oneLine(v.Name), v.Count, v.Dataset)
		if page, err := a.address("views/"+v.ID.String(), nil); err == nil {
			fmt.Fprintf(&b, "  %s\n", page)
		}
	}
	fmt.Fprintf(
		&b,
		"\nYou get this because you have alerts on these Views, by e-mail. On the page of a View the bell ends its alert. "+
			"To get no e-mails of the signals and alerts of this workspace anymore:\n%s\n",
		unsubscribe,
	)
	return b.String()
}
