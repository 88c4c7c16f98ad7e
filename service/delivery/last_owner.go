package delivery

import (
	"context"
	"fmt"

	"atlas/workspace"
	"atlas/workspace/jobs"
	"atlas/workspace/people"
)

// LastOwnerLetters looks up the recipient. *postgres.System implements it.
type LastOwnerLetters interface {
	// LastOwnerLetter returns fault.NotFound if the user is no longer the only owner.
	LastOwnerLetter(ctx context.Context, in workspace.ID, n people.LastOwnerNotice) (people.LastOwnerLetter, error)
}

// LastOwnerHandler runs the jobs that mail the last owner of a workspace that they remain its
// owner.
func LastOwnerHandler(letters LastOwnerLetters, post Post) jobs.Handler {
	return noticeHandler(people.LastOwnerKind, post, func(ctx context.Context, in workspace.ID, n people.LastOwnerNotice) (letter, error) {
		l, err := letters.LastOwnerLetter(ctx, in, n)
		return letter{l.Email, "You are still the last owner of " + oneLine(l.WorkspaceName), lastOwnerText(l, n.From)}, err
	})
}

func lastOwnerText(l people.LastOwnerLetter, from people.LastOwnerSource) string {
	asked := "The OpenID provider of the workspace has another role for you than owner, or none"
	if from == people.FromProvisioning {
		asked = "The identity provider of the workspace asked, by SCIM, to end your membership"
	}
	return fmt.Sprintf(`Hello,

%s. You are the last owner of the workspace "%s", and a workspace needs one: nothing was changed.

If you are to stay its owner, set it right at the provider. If not, make somebody else an owner; the next time the provider says it, it is done.

Atlas writes to you about this at most once a day. Each time is in the audit log of the workspace.
`, asked, oneLine(l.WorkspaceName))
}
