package api

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/release"
	"atlas/service/endpoint"
	"atlas/service/openapi"
)

// introduction is the description of the document.
const introduction = `Search over a global dataset of construction (accounts, contacts, projects, signals), and what a workspace keeps on top of it.

Every answer is ` + "`{ data, metadata }`" + `, or an error: ` + "`{ error: { code, message } }`" + `, and for what is wrong with the request's shape ` + "`{ success: false, error: { name, issues } }`" + `. Check the status first. A method that a path does not take is answered 405 ` + "`method_not_allowed`" + `, and ` + "`Allow`" + ` lists those it takes.

A record that a search, a match or a page of changes returns costs 1 credit, a get 1; everything else is free. Each operation says what it costs (` + "`x-credits`" + `), which scope it needs (` + "`x-scope`" + `), who may call it (` + "`x-caller`" + `) and whether a credit ceiling that is used up stops it (` + "`x-throttled`" + `).

Page through a search with ` + "`search_after`" + `: send ` + "`metadata.search_after`" + ` back with the same sort until it is null.

A record with more than 1,000 related ones of a kind is judged by its newest 1,000; its counts are of all.

Some rules cannot be said in a schema: the lower end of a range must not be above the upper one, all texts of a search may have 2,048 terms together, values of a View's definition must differ in more than case. What breaks them is answered with 400. Texts are trimmed before they are measured.

A member at the top of a body, or of an item of a batch, that may be left out may be ` + "`null`" + ` as well, which is the same, although the schemas do not say so. It is an error for ` + "`dry_run`, `max_credits`, `revision`, `replace`, `definition` and `tags`" + `, and within a filter, a relation, a group or a View's definition. Where a schema takes null, it means what is described there.`

// documentOf builds the OpenAPI document from the route table and the field catalog.
func documentOf(routes []endpoint.Route) openapi.Document {
	return endpoint.Document(
		openapi.Info{Title: "Atlas", Version: release.Version(), Description: introduction},
		documentTags(),
		routes,
	)
}

func documentTags() []openapi.Tag {
	return []openapi.Tag{
		{Name: tagData, Description: "The global dataset: accounts, contacts, projects and signals, read-only."},
		{Name: tagFields, Description: "What can be filtered by, and what was used."},
		{Name: tagWorkspace, Description: "The workspace itself."},
		{Name: tagBook, Description: "What a workspace keeps on global records: status, notes, tags, tiers."},
		{
			Name:        tagViews,
			Description: "Named, shared choices of records: Dynamic ones by a definition, Static ones by what was put into them.",
		},
		{Name: tagBoards, Description: "Pages of charts, pivots, maps and Views that a workspace shares."},
		{Name: tagFavorites, Description: "A user's own pointers to Views, in an order of their own."},
		{Name: tagAlerts, Description: "Which records began to match a user's Dynamic Views."},
		{Name: tagPeople, Description: "Who belongs to a workspace, and who is asked to."},
		{Name: tagWebhooks, Description: "Addresses that are notified of events, and the log of it."},
		{Name: tagKeys, Description: "Keys of the workspace: made, rotated and revoked by its owners and admins."},
		{Name: tagIdentity, Description: "By which OpenID provider the people of the workspace sign in, and its domains."},
		{Name: tagProvisioning, Description: "How the identity provider of a workspace says who is in it: tokens, people, groups."},
		{Name: tagAuditLog, Description: "What changed access to a workspace or left the house, and who was given how many records."},
		{Name: tagSignals, Description: "Which types of signals a workspace tracks."},
		{Name: tagSkills, Description: "Bundles of instructions, personal or the workspace's."},
		{Name: endpoint.TagService, Description: "The document and the state of the service; no token is needed."},
	}
}

// encoded returns the document as it is served. All its types can be marshalled.
func encoded(d openapi.Document) []byte {
	b, err := json.Marshal(d, jsontext.EscapeForHTML(false), json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return b
}
