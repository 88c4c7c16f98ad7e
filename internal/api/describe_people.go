package api

import (
	"math"

	"atlas/internal/api/openapi"
	"atlas/internal/fault"
	"atlas/workspace"
)

func aboutListMembers() about {
	return about{
		tag: tagPeople, summary: "List members, by role, then address", params: pageParams(defaultPeople),
		data: listOf("members", openapi.Ref("Member")), metadata: openapi.Ref("ListMetadata"),
	}
}

func aboutUpdateMember() about {
	return about{
		tag: tagPeople, summary: "Change a member's role",
		text: "Only an owner makes somebody an owner, or takes that from them.",
		body: openapi.Object(openapi.Required("role", openapi.Ref("Role"))), examples: []example{{"admin", "", []byte(`{"role":"admin"}`)}},
		data: openapi.Object(openapi.Required("member", openapi.Ref("Member"))), metadata: openapi.Ref("FreeMetadata"),
		codes: []fault.Code{fault.NotFound, fault.LastOwner},
	}
}

func aboutRemoveMember() about {
	return about{
		tag: tagPeople, summary: "Remove a member",
		text: "`deleted` is false when there was no such member.",
		data: openapi.Object(openapi.Required("deleted", openapi.Boolean())), metadata: openapi.Ref("FreeMetadata"),
		codes: []fault.Code{fault.CannotSelfRemove, fault.LastOwner},
	}
}

func aboutListInvitations() about {
	return about{
		tag: tagPeople, summary: "List open invitations, newest first", params: pageParams(defaultPeople),
		data: listOf("invitations", openapi.Ref("Invitation")), metadata: openapi.Ref("ListMetadata"),
	}
}

// address is what an invitation can be sent to: less than all that mail knows,
// and all that is in use.
func address() *openapi.Schema {
	const (
		atom  = `[A-Za-z0-9!#$%&'*+/=?^_{|}~-]+`
		label = `[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?`
	)
	return &openapi.Schema{
		Type: "string", Pattern: `^[` + spaces + `]*` + atom + `(\.` + atom + `)*@` + label + `(\.` + label + `)*[` + spaces + `]*$`,
		MinLength: 3, MaxLength: workspace.MaxEmail, Examples: []any{"grace@example.com"},
	}
}

func aboutCreateInvitation() about {
	return about{
		tag: tagPeople, summary: "Invite somebody",
		text: "`accept_url` is in this answer only. An expired invitation of the address is replaced.",
		body: openapi.Object(openapi.Required("email", address()), openapi.Required("role", invitedRole())),
		data: openapi.Object(
			openapi.Required("invitation", openapi.Ref("Invitation")),
			openapi.Required("accept_url", &openapi.Schema{Type: "string", Examples: []any{"https://app.example/join?token=…"}}),
			openapi.Required("letter", letterSchema()),
		),
		metadata: openapi.Ref("FreeMetadata"), codes: []fault.Code{fault.AlreadyInvited, fault.AlreadyMember, fault.LimitReached},
	}
}

// letterSchema is what becomes of an invitation's letter.
func letterSchema() *openapi.Schema {
	return openapi.Object(
		openapi.Required("status", openapi.OneOf(workspace.EmailDue, workspace.EmailDelayed, workspace.EmailWithheld, workspace.EmailNone).
			Described("`due`: it is sent now. `delayed`: it waits for its turn, at `due_at`. `withheld`: its turn would come after the invitation ends, so it is not sent. `none`: the service sends no mail.")),
		openapi.Required("due_at", openapi.Nullable(timeOut()).Described("When it is due; null where it is not sent.")),
		openapi.Required("paced_by", openapi.Nullable(openapi.OneOf(workspace.PacedByWorkspace, workspace.PacedByAddress)).
			Described("What holds it up: as many letters of the workspace in an hour, or to the address in a day, as there may be.")),
	).Described("The pace of letters delays or withholds them; the invitation stands, and `accept_url` works.")
}

func aboutRevokeInvitation() about {
	return about{
		tag: tagPeople, summary: "Revoke an invitation",
		data:     openapi.Object(openapi.Required("deleted", openapi.Const(true)), openapi.Required("id", idOut()), openapi.Required("email", plain("grace@example.com"))),
		metadata: openapi.Ref("FreeMetadata"), codes: []fault.Code{fault.NotFound},
	}
}

func aboutAcceptInvitation() about {
	return about{
		tag: tagPeople, summary: "Accept an invitation",
		text:  "With the token of `accept_url`, and an access token whose `email` is the invited address.",
		body:  openapi.Object(openapi.Required("token", text(maxToken).Example(sampleID+"_4mvYqT1lZb0cW8n5Rk2JxH7dPfUe9aGsLoQwE3tVi6M"))),
		data:  openapi.Object(openapi.Required("workspace_id", idOut()), openapi.Required("member", openapi.Ref("Member"))),
		codes: []fault.Code{fault.NotFound, fault.AlreadyMember}, metadata: openapi.Ref("FreeMetadata"),
	}
}

func aboutListSubscriptions() about {
	return about{
		tag: tagSignals, summary: "List signal subscriptions, by type", params: pageParams(defaultPeople),
		data: listOf("subscriptions", openapi.Ref("SignalSubscription")), metadata: openapi.Ref("ListMetadata"),
	}
}

func aboutUpsertSubscription() about {
	return about{
		tag: tagSignals, summary: "Subscribe to a type of signal, or change how",
		body: openapi.Ref("SignalSubscriptionUpsert"),
		data: openapi.Object(openapi.Required("subscription", openapi.Ref("SignalSubscription"))), metadata: openapi.Ref("FreeMetadata"),
	}
}

func aboutDeleteSubscription() about {
	return about{
		tag: tagSignals, summary: "End a signal subscription", text: "One that is gone is fine.",
		data: deletedData(), metadata: openapi.Ref("FreeMetadata"),
	}
}

// skillPage are limit and offset as members of a body.
func skillPage(own ...openapi.Property) *openapi.Schema {
	return openapi.Object(append(own,
		openapi.Optional("limit", openapi.Integer(1, maxLimit).Defaulting(defaultSkills)),
		openapi.Optional("offset", openapi.Integer(0, math.MaxInt32).Defaulting(0)))...)
}

// personal is the error of a key that asks for what is a person's.
const personal = fault.UserIdentityRequired

func aboutFindSkills() about {
	return about{
		tag: tagSkills, summary: "Find published Skills, and one's own personal ones",
		body: skillPage(
			openapi.Optional("query", text(maxSkillQuery).Described("Every word must occur in the name or the description.").Example("visit")),
			openapi.Optional("scope", skillScopes()),
		), bodyOptional: true,
		data: listOf("skills", openapi.Ref("ListedSkill")), metadata: openapi.Ref("ListMetadata"), codes: []fault.Code{personal},
	}
}

func aboutListSkills() about {
	return about{
		tag: tagSkills, summary: "List all Skills that the caller may see",
		body: skillPage(openapi.Optional("scope", skillScopes()), openapi.Optional("status", skillStatuses())), bodyOptional: true,
		data: listOf("skills", openapi.Ref("ListedSkill")), metadata: openapi.Ref("ListMetadata"), codes: []fault.Code{personal},
	}
}

func aboutGetSkill() about {
	in := func(scope workspace.SkillScope) *openapi.Schema {
		return &openapi.Schema{Type: "string", Pattern: `^` + string(scope) + `/` + slug[1:], MaxLength: len(scope) + 1 + workspace.MaxName}
	}
	locator := &openapi.Schema{AnyOf: []*openapi.Schema{in(workspace.WorkspaceSkill), in(workspace.PersonalSkill)}, Examples: []any{"workspace/site-visits"}}
	return about{
		tag: tagSkills, summary: "Get one Skill, with its content",
		body: openapi.Object(openapi.Required("locator", locator)),
		data: openapi.Object(openapi.Required("skill", openapi.Ref("Skill"))), metadata: openapi.Ref("FreeMetadata"),
		codes: []fault.Code{personal, fault.SkillNotFound},
	}
}

func aboutCreateSkill() about {
	return about{
		tag: tagSkills, summary: "Create a Skill, as a draft",
		body: openapi.Ref("SkillCreate"),
		data: openapi.Object(openapi.Required("skill", openapi.Ref("Skill"))), metadata: openapi.Ref("FreeMetadata"),
		codes: []fault.Code{personal, fault.SkillConflict, fault.LimitReached},
	}
}
