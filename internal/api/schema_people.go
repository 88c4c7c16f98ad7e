package api

import (
	"math"

	"atlas/internal/api/openapi"
	"atlas/search/query"
	"atlas/workspace"
)

// peopleSchemas are members, invitations, subscriptions and Skills.
func peopleSchemas() schemas {
	skill := func(content openapi.Property) *openapi.Schema {
		return openapi.Object(
			openapi.Required("id", idOut()),
			openapi.Required("locator", plain("workspace/site-visits").Described("`personal/<slug>` or `workspace/<slug>`.")),
			openapi.Required("scope", skillScopes()),
			openapi.Required("status", skillStatuses()),
			openapi.Required("name", plain("Site visits")),
			openapi.Required("description", plain("How to write up a visit to a site.")),
			content,
			openapi.Required("created_by", openapi.Nullable(idOut()).Described("Null for an API key.")),
			openapi.Required("revision", openapi.Integer(1, math.MaxInt32)),
			openapi.Required("created_at", timeOut()),
			openapi.Required("updated_at", timeOut()),
		)
	}
	content := plain("Note who was there, what stands, and what comes next.")
	whole := skill(openapi.Required("content", content))
	listed := skill(openapi.Optional("content", content))
	listed.Properties = without(listed.Properties, "content")
	return schemas{
		named("Member", openapi.Object(
			openapi.Required("id", idOut()),
			openapi.Required("email", plain("ada@example.com")),
			openapi.Required("name", plain("Ada Example")),
			openapi.Required("role", openapi.Ref("Role")),
			openapi.Required("joined_at", timeOut()),
		)),
		named("Invitation", openapi.Object(
			openapi.Required("id", idOut()),
			openapi.Required("email", plain("grace@example.com")),
			openapi.Required("role", invitedRole()),
			openapi.Required("status", openapi.OneOf("Pending", "Expired")),
			openapi.Required("sent_at", openapi.Nullable(timeOut()).Described("When the letter was first tried; null: never.")),
			openapi.Required("expires_at", timeOut()),
			openapi.Required("created_at", timeOut()),
		)),
		named("SignalSubscription", openapi.Object(
			openapi.Required("id", idOut()),
			openapi.Required("signal_type", openapi.Ref("SignalType")),
			openapi.Required("delivery", openapi.Object(
				openapi.Required("channels", openapi.Array(openapi.OneOf(workspace.Channels()...), 1, len(workspace.Channels()))),
				openapi.Required("frequency", openapi.OneOf(workspace.Frequencies()...)),
			)),
			openapi.Required("queue_started_at", timeOut()),
			openapi.Required("created_at", timeOut()),
			openapi.Required("updated_at", timeOut()),
		)),
		named("SignalSubscriptionUpsert", openapi.Object(
			openapi.Required("signal_type", openapi.Ref("SignalType")),
			openapi.Optional("delivery", openapi.Object(
				openapi.Optional("channels", openapi.Array(openapi.OneOf(workspace.Channels()...), 1, maxChannels)),
				openapi.Optional("frequency", openapi.OneOf(workspace.Frequencies()...)),
			).Described("What is left out stays; of a new subscription it is in_app, instant.")),
		)),
		named("Skill", whole),
		named("ListedSkill", listed.Described("A Skill without its content.")),
		named("SkillCreate", skillCreate()),
	}
}

func without(properties schemas, name string) schemas {
	var kept schemas
	for _, p := range properties {
		if p.Name != name {
			kept = append(kept, p)
		}
	}
	return kept
}

func skillCreate() *openapi.Schema {
	return openapi.Object(
		openapi.Required("scope", skillScopes()),
		openapi.Required("name", line(workspace.MaxName).Example("Site visits")),
		openapi.Optional("slug", &openapi.Schema{Type: "string", Pattern: slug, MinLength: 1, MaxLength: workspace.MaxName, Examples: []any{"site-visits"},
			Description: "By default made of the name, which then needs a letter or digit."}),
		openapi.Required("description", paragraph(workspace.MaxSkillDescription).Example("How to write up a visit to a site.")),
		openapi.Required("content", text(workspace.MaxSkillContent).Described("Kept as it is sent.").Example("Note who was there, what stands, and what comes next.")),
	)
}

// paragraph is a line that may have line breaks and tabs in it.
func paragraph(most int) *openapi.Schema {
	const inner = `\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f`
	return &openapi.Schema{Type: "string", MinLength: 1, MaxLength: most,
		Pattern: `^[` + spaces + `]*[^` + controls + spaces + `]([^` + inner + `]*[^` + controls + spaces + `])?[` + spaces + `]*$`}
}

func skillScopes() *openapi.Schema {
	return openapi.OneOf(workspace.WorkspaceSkill, workspace.PersonalSkill)
}

func skillStatuses() *openapi.Schema {
	return openapi.OneOf(workspace.DraftSkill, workspace.PublishedSkill)
}

func invitedRole() *openapi.Schema { return openapi.OneOf(workspace.MemberRole, workspace.Admin) }

// fieldSchemas are the descriptors of fields.
func fieldSchemas() schemas {
	base := func(kind *openapi.Schema, more ...openapi.Property) *openapi.Schema {
		return openapi.Object(append([]openapi.Property{
			openapi.Required("dataset", openapi.Ref("DescriptorDataset")),
			openapi.Required("key", plain("stage")),
			openapi.Required("kind", kind),
			openapi.Required("description", plain("How far the project is")),
		}, more...)...)
	}
	var plainKinds []query.Kind
	for _, k := range query.Kinds {
		if k != query.Enum && k != query.Related {
			plainKinds = append(plainKinds, k)
		}
	}
	value := openapi.Object(openapi.Required("value", plain("filed")), openapi.Required("label", plain("Filed")),
		openapi.Required("description", plain("A permit application was filed")))
	direct := []*openapi.Schema{openapi.Ref("EnumDescriptor"), openapi.Ref("PlainDescriptor")}
	return schemas{
		named("DescriptorDataset", openapi.OneOf(query.DescriptorDatasets()...)),
		named("EnumDescriptor", base(openapi.Const(string(query.Enum)), openapi.Required("values", openapi.Array(value, 0, 0).
			Described("Of a dynamic enum the most frequent ones, with how many records have each; `tags`, each workspace's own, list none.")))),
		named("PlainDescriptor", base(openapi.OneOf(plainKinds...))),
		named("RelationDescriptor", base(openapi.Const(string(query.Related)),
			openapi.Required("sub_fields", openapi.Array(&openapi.Schema{OneOf: direct}, 1, 0).Described("What the related records can be filtered by.")))),
		named("Descriptor", &openapi.Schema{OneOf: append(direct, openapi.Ref("RelationDescriptor"))}),
	}
}
