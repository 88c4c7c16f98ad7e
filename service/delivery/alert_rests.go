package delivery

import (
	"fmt"
	"strings"

	"atlas/workspace/alerts"
)

func restSubject(l alerts.Letter) string {
	if len(l.Rests) == 1 {
		return fmt.Sprintf("The alert on \"%s\" rests", oneLine(l.Rests[0].Name))
	}
	return fmt.Sprintf("%d of your alerts rest", len(l.Rests))
}

// whyItRests explains why a View rests, and what to do.
func whyItRests(v alerts.LetterRest) string {
	if v.Rest.Reason == alerts.DefinitionRefused {
		return "its conditions cannot be compared with what changes. Change the conditions of the View, and its alert goes on."
	}
	return fmt.Sprintf("more than 100,000 of the %s match. Narrow the View by more conditions, and its alert goes on. "+
		"It also goes on within an hour after fewer match.", v.Dataset)
}

// restText is the e-mail about resting alerts.
func (a AlertMails) restText(l alerts.Letter, unsubscribe string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Hello,\n\nalerts of yours in the workspace \"%s\" rest: they report nothing until what is said here is done.\n", oneLine(l.WorkspaceName))
	for _, v := range l.Rests {
		fmt.Fprintf(&b, "\n- %s, since %s: %s\n", oneLine(v.Name), v.Rest.Since.UTC().Format("2006-01-02 15:04 UTC"), whyItRests(v))
		if page, err := a.address("views/"+v.ID.String(), nil); err == nil {
			fmt.Fprintf(&b, "  %s\n", page)
		}
	}
	fmt.Fprintf(&b, "\nYou get this once for each rest, because you have alerts on these Views. "+
		"To get no e-mails of the signals and alerts of this workspace anymore:\n%s\n", unsubscribe)
	return b.String()
}
