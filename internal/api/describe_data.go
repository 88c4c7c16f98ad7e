package api

import (
	"fmt"
	"math"

	"atlas/internal/api/openapi"
	"atlas/internal/credits"
	"atlas/internal/fault"
	"atlas/search/query"
	"atlas/workspace"
)

// metadataSchemas are the metadata of the kinds of answers.
func metadataSchemas() schemas {
	nothing := openapi.Required("credits", always(0))
	limit := openapi.Required("limit", openapi.Integer(1, maxLimit).Example(query.DefaultLimit))
	return schemas{
		named("FreeMetadata", openapi.Object(nothing)),
		named("GetMetadata", openapi.Object(openapi.Required("credits", always(1)))),
		named("PageMetadata", openapi.Object(
			openapi.Required("total", openapi.Integer(0, 1000).Described("Matches, counted up to 1,000.").Example(1)),
			openapi.Required("total_is_capped", openapi.Boolean().Described("There are more than 1,000.").Example(false)),
			limit,
			openapi.Required("offset", openapi.Integer(0, query.MaxOffset)),
			openapi.Required("search_after", openapi.Nullable(&openapi.Schema{Type: "string", Pattern: aCursor}).
				Described("The cursor of the next page; null on the last.").Example("AQEKBWFjY291bnRz")),
			openapi.Required("credits", openapi.Integer(0, query.MaxLimit).Described("1 for each record.").Example(1)),
		)),
		named("ListMetadata", openapi.Object(limit, openapi.Required("offset", openapi.Integer(0, maxOffset)), nothing)),
		named("BatchMetadata", openapi.Object(nothing,
			openapi.Required("succeeded", openapi.Integer(0, maxBatch).Example(1)),
			openapi.Required("failed", openapi.Integer(0, maxBatch)))),
		named("FieldMetadata", openapi.Object(
			openapi.Required("total", openapi.Count().Example(1)), nothing,
			openapi.Optional("not_found", openapi.Array(&openapi.Schema{Type: "string"}, 0, 0).
				Described("With `keys` only: those that no field has.").Example([]any{})))),
	}
}

// errorSchemas are the shapes of errors.
func errorSchemas() schemas {
	issueCodes := []fault.IssueCode{
		fault.InvalidType, fault.InvalidFormat, fault.InvalidUnion, fault.UnrecognizedKeys, fault.TooSmall, fault.TooBig, fault.Custom,
	}
	texts := openapi.Array(&openapi.Schema{Type: "string"}, 0, 0)
	return schemas{
		named("Issue", openapi.Object(
			openapi.Required("code", openapi.OneOf(issueCodes...)),
			openapi.Required("path", texts.Described("Leads to the value; array positions are strings.").Example([]any{"filters", "stage", "value", "0"})),
			openapi.Required("message", plain("must be one of: pre_filing, filed, under_review, approved, permitted, under_construction, completed")),
			openapi.Optional("keys", texts.Described("With `unrecognized_keys`: the keys that mean nothing there.").Example([]any{})),
		)),
		named("ValidationError", openapi.Object(
			openapi.Required("success", openapi.Const(false)),
			openapi.Required("error", openapi.Object(
				openapi.Required("issues", openapi.Array(openapi.Ref("Issue"), 1, fault.MaxIssues)),
				openapi.Required("name", openapi.Const("ValidationError")),
			)),
		)),
	}
}

const (
	tagData      = "Data"
	tagFields    = "Fields and usage"
	tagWorkspace = "Workspace"
	tagBook      = "Book"
	tagViews     = "Views"
	tagFavorites = "Favorites"
	tagPeople    = "Members and invitations"
	tagSignals   = "Signal subscriptions"
	tagSkills    = "Skills"
	tagService   = "Service"
)

func documentTags() []openapi.Tag {
	return []openapi.Tag{
		{Name: tagData, Description: "The global dataset: accounts, contacts, projects and signals, read-only."},
		{Name: tagFields, Description: "What can be filtered by, and what was used."},
		{Name: tagWorkspace, Description: "The workspace itself."},
		{Name: tagBook, Description: "What a workspace keeps on global records: status, notes, tags, tiers."},
		{Name: tagViews, Description: "Named, shared choices of records: Dynamic ones by a definition, Static ones by what was put into them."},
		{Name: tagFavorites, Description: "A user's own pointers to Views, in an order of their own."},
		{Name: tagPeople, Description: "Who belongs to a workspace, and who is asked to."},
		{Name: tagSignals, Description: "Which types of signals a workspace tracks."},
		{Name: tagSkills, Description: "Bundles of instructions, personal or the workspace's."},
		{Name: tagService, Description: "The document and the state of the service; no token is needed."},
	}
}

// searchExamples are requests of each dataset that show the grammar.
var searchExamples = map[query.Dataset][]example{
	query.Accounts: {{"builders", "Builders in Calgary with a project under review", []byte(`{"query":"builders","filters":{"account_type":{"value":["general_contractor","developer"]},"city":{"value":"calgary"}},"relations":{"has_project":{"stage":{"value":"under_review"}}},"sort":{"field":"projects_count","order":"desc"},"limit":10}`)}},
	query.Contacts: {{"managers", "Project managers of one firm", []byte(`{"filters":{"role":{"value":"project_manager"},"account_id":{"value":"` + sampleID + `"}},"relations":{"without_project":{"stage":{"value":"completed"}}}}`)}},
	query.Projects: {{"garages", "Garages that cost 10,000 or more", []byte(`{"query":"garage","filters":{"stage":{"value":["permitted","under_construction"]},"cost":{"value":[10000,null]},"filed_at":{"value":["2015-01-01","2019-12-31"]}},"relations":{"has_signal":{"signal_type":{"value":"permit_issued"}}},"sort":{"field":"cost","order":"desc"},"limit":10}`)}},
	query.Signals:  {{"issued", "Permits issued since a day", []byte(`{"filters":{"signal_type":{"value":"permit_issued"},"occurred_at":{"value":["2026-01-31",null]}},"limit":100}`)}},
}

func aboutSearch(d query.Dataset) about {
	return about{
		tag: tagData, summary: "Search " + string(d),
		body: openapi.Ref(requestName(d, query.Data)), bodyOptional: true, examples: searchExamples[d],
		data: openapi.Array(openapi.Ref(titles[d]), 0, query.MaxLimit), metadata: openapi.Ref("PageMetadata"),
	}
}

func aboutGet(d query.Dataset) about {
	var keys []string
	for _, inc := range query.Includes(d) {
		keys = append(keys, inc.Key)
	}
	return about{
		tag: tagData, summary: "Get one " + d.Singular(),
		params: []openapi.Parameter{{
			Name: "include", In: "query", Style: "form", Explode: new(bool),
			Description: fmt.Sprintf("Related records to embed, at most %d of each.", query.MaxIncluded),
			Schema:      openapi.Array(openapi.OneOf(keys...), 0, 0), Example: keys,
		}},
		data: openapi.Ref(titles[d] + "WithRelated"), metadata: openapi.Ref("GetMetadata"),
		codes: []fault.Code{fault.NotFound},
	}
}

func aboutSearchFields() about {
	return about{
		tag: tagFields, summary: "Find out what can be filtered by",
		text:         "An empty body answers every descriptor. With `keys`, `kind` and `query` do not count.",
		bodyOptional: true,
		body: openapi.Object(
			openapi.Optional("dataset", openapi.Ref("DescriptorDataset")),
			openapi.Optional("kind", openapi.OneOf(query.Kinds...)),
			openapi.Optional("keys", openapi.Array(&openapi.Schema{Type: "string", Pattern: anyText}, 0, query.MaxKeys).Described("Exact keys.")),
			openapi.Optional("query", free(query.MaxQuery).Described("A part of key or description, in any case.")),
		),
		examples: []example{
			{"keys", "Two fields of projects", []byte(`{"dataset":"projects","keys":["stage","cost"]}`)},
			{"kind", "All enumerations of signals", []byte(`{"dataset":"signals","kind":"enum"}`)},
		},
		data: openapi.Array(openapi.Ref("Descriptor"), 0, 0), metadata: openapi.Ref("FieldMetadata"),
	}
}

func aboutGetField() about {
	return about{
		tag: tagFields, summary: "Get the descriptor of one field",
		params: []openapi.Parameter{
			{Name: "dataset", In: "path", Required: true, Schema: openapi.Ref("DescriptorDataset"), Example: "projects"},
			{Name: "key", In: "path", Required: true, Schema: &openapi.Schema{Type: "string", MinLength: 1}, Example: "stage"},
		},
		data: openapi.Ref("Descriptor"), metadata: openapi.Ref("FreeMetadata"), codes: []fault.Code{fault.NotFound},
	}
}

// sampleUsed is what examples say was used of a ceiling.
const sampleUsed = 1250

func aboutGetUsage() about {
	return about{
		tag: tagFields, summary: "See what was used, by operation",
		data: openapi.Object(
			openapi.Required("used_credits", openapi.Count().Example(sampleUsed)),
			openapi.Required("ceiling", openapi.Integer(1, workspace.MaxCeiling).Example(workspace.DefaultCeiling)),
			openapi.Required("remaining", openapi.Count().Example(workspace.DefaultCeiling-sampleUsed)),
			openapi.Required("window_hours", always(credits.Hours)),
			openapi.Required("by_tool", openapi.ByKey(openapi.Count()).Described("Credits by operation id; they add up to `used_credits`.").
				Example(map[string]any{"search_projects": sampleUsed})),
		),
		metadata: openapi.Ref("FreeMetadata"),
	}
}

func aboutGetWorkspace() about {
	return about{
		tag: tagWorkspace, summary: "Get the workspace",
		data: openapi.Object(
			openapi.Required("id", idOut()),
			openapi.Required("name", plain("Acme")),
			openapi.Required("plan", openapi.Const(string(workspace.Pro))),
			openapi.Required("role", openapi.Nullable(openapi.Ref("Role")).Described("The user's; null for an API key.")),
			openapi.Required("member_count", openapi.Count().Example(4)),
			openapi.Required("created_at", timeOut()),
		),
		metadata: openapi.Ref("FreeMetadata"),
	}
}

func aboutGetCredits() about {
	return about{
		tag: tagWorkspace, summary: "See the credits of the last 24 hours",
		data: openapi.Object(
			openapi.Required("plan", openapi.Const(string(workspace.Pro))),
			openapi.Required("remaining", openapi.Count().Described("The ceiling without what was used; not below 0.").Example(workspace.DefaultCeiling-sampleUsed)),
			openapi.Required("ceiling", openapi.Integer(1, workspace.MaxCeiling).Example(workspace.DefaultCeiling)),
			openapi.Required("used", openapi.Count().Example(sampleUsed)),
			openapi.Required("window_hours", always(credits.Hours)),
		),
		metadata: openapi.Ref("FreeMetadata"),
	}
}

// pageParams are limit and offset of a list.
func pageParams(limit int) []openapi.Parameter {
	return []openapi.Parameter{
		{Name: "limit", In: "query", Schema: openapi.Integer(1, maxLimit).Defaulting(limit)},
		{Name: "offset", In: "query", Schema: openapi.Integer(0, math.MaxInt32).Defaulting(0)},
	}
}

// listOf is the data of a list.
func listOf(name string, element *openapi.Schema) *openapi.Schema {
	return openapi.Object(openapi.Required(name, openapi.Array(element, 0, maxLimit)))
}

// deletedData is the data of a deletion.
func deletedData() *openapi.Schema {
	return openapi.Object(openapi.Required("deleted", openapi.Const(true)))
}
