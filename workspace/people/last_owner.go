package people

import (
	"atlas/workspace"
	"atlas/workspace/jobs"
)

// LastOwnerKind is the kind of the jobs that mail the last owner of a workspace that they
// remain the owner, although somebody asked for something else. Their lane is the workspace.
const LastOwnerKind jobs.Kind = "last_owner_retained"

// LastOwnerSource is who would have ended the role of the last owner.
type LastOwnerSource string

// Who asks.
const (
	// FromProvisioning: the identity provider, by SCIM, asked to end their membership.
	FromProvisioning LastOwnerSource = "provisioning"
	// FromProvider: the provider by which they signed in has another role for them, or none.
	FromProvider LastOwnerSource = "provider"
)

// LastOwnerNotice is the payload of a job of LastOwnerKind.
type LastOwnerNotice struct {
	User workspace.UserID `json:"user_id"`
	From LastOwnerSource  `json:"from"`
}

// LastOwnerLetter is what a notice needs to be written.
type LastOwnerLetter struct{ WorkspaceName, Email string }
