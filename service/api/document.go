package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/release"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/service/api/openapi"
)

// documentPath is the OpenAPI document's path, below Version.
const documentPath = "/openapi.json"

// introduction is the description of the document.
const introduction = `Search over a global dataset of construction (accounts, contacts, projects, signals), and what a workspace keeps on top of it.

Every answer is ` + "`{ data, metadata }`" + `, or an error: ` + "`{ error: { code, message } }`" + `, and for what is wrong with the request's shape ` + "`{ success: false, error: { name, issues } }`" + `. Check the status first. A method that a path does not take is answered 405 ` + "`method_not_allowed`" + `, and ` + "`Allow`" + ` lists those it takes.

A record that a search, a match or a page of changes returns costs 1 credit, a get 1; everything else is free. Each operation says what it costs (` + "`x-credits`" + `), which scope it needs (` + "`x-scope`" + `), who may call it (` + "`x-caller`" + `) and whether a credit ceiling that is used up stops it (` + "`x-throttled`" + `).

Page through a search with ` + "`search_after`" + `: send ` + "`metadata.search_after`" + ` back with the same sort until it is null.

A record with more than 1,000 related ones of a kind is judged by its newest 1,000; its counts are of all.

Some rules cannot be said in a schema: the lower end of a range must not be above the upper one, all texts of a search may have 2,048 terms together, values of a View's definition must differ in more than case. What breaks them is answered with 400. Texts are trimmed before they are measured.

A member at the top of a body, or of an item of a batch, that may be left out may be ` + "`null`" + ` as well, which is the same, although the schemas do not say so. It is an error for ` + "`dry_run`, `max_credits`, `revision`, `replace`, `definition` and `tags`" + `, and within a filter, a relation, a group or a View's definition. Where a schema takes null, it means what is described there.`

// Document builds the OpenAPI document from the route table and the field catalog.
func (s *Server) Document() openapi.Document {
	d := openapi.Document{
		OpenAPI:    openapi.Version,
		Info:       openapi.Info{Title: "Atlas", Version: release.Version(), Description: introduction},
		Servers:    []openapi.Server{{URL: Version}},
		Tags:       documentTags(),
		Components: sharedComponents(),
	}
	for _, r := range s.Routes() {
		path := templated(r.Path)
		operation := schema.Member[*openapi.Operation]{Name: strings.ToLower(r.Method), Value: r.operation()}
		i := slices.IndexFunc(d.Paths, func(m schema.Member[openapi.PathItem]) bool { return m.Name == path })
		if i < 0 {
			i = len(d.Paths)
			d.Paths = append(d.Paths, schema.Member[openapi.PathItem]{Name: path})
		}
		d.Paths[i].Value.Operations = append(d.Paths[i].Value.Operations, operation)
	}
	d.Paths = append(d.Paths, servicePaths()...)
	d.CollectSchemas()
	d.ShareResponses()
	return d
}

// templated returns a path of the route table in OpenAPI's syntax.
func templated(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

const tagService = "Service"

func documentTags() []openapi.Tag {
	return []openapi.Tag{
		{Name: tagData, Description: "The global dataset: accounts, contacts, projects and signals, read-only."},
		{Name: tagFields, Description: "What can be filtered by, and what was used."},
		{Name: tagWorkspace, Description: "The workspace itself."},
		{Name: tagBook, Description: "What a workspace keeps on global records: status, notes, tags, tiers."},
		{Name: tagViews, Description: "Named, shared choices of records: Dynamic ones by a definition, Static ones by what was put into them."},
		{Name: tagBoards, Description: "Pages of charts, pivots, maps and Views that a workspace shares."},
		{Name: tagFavorites, Description: "A user's own pointers to Views, in an order of their own."},
		{Name: tagAlerts, Description: "Which records began to match a user's Dynamic Views."},
		{Name: tagPeople, Description: "Who belongs to a workspace, and who is asked to."},
		{Name: tagWebhooks, Description: "Addresses that are told of what happens, and the log of it."},
		{Name: tagKeys, Description: "Keys of the workspace: made, rotated and revoked by its owners and admins."},
		{Name: tagIdentity, Description: "By which OpenID provider the people of the workspace sign in, and its domains."},
		{Name: tagProvisioning, Description: "How the identity provider of a workspace says who is in it: tokens, people, groups."},
		{Name: tagAuditLog, Description: "What changed access to a workspace or left the house, and who was given how many records."},
		{Name: tagSignals, Description: "Which types of signals a workspace tracks."},
		{Name: tagSkills, Description: "Bundles of instructions, personal or the workspace's."},
		{Name: tagService, Description: "The document and the state of the service; no token is needed."},
	}
}

func sharedComponents() openapi.Components {
	var c openapi.Components
	c.Parameters = sharedParameters()
	c.Headers = sharedHeaders()
	c.SecuritySchemes = schema.Map[openapi.SecurityScheme]{
		{Name: byKey, Value: openapi.SecurityScheme{ // #nosec G101 -- a description of the scheme
			Type: "http", Scheme: "bearer", BearerFormat: "atlas_k1_<key id><secret><checksum>",
			Description: "An API key. It is granted workspaces, the first of which is its default, and scopes: data:read, workspace:read, workspace:write, workspace:admin. Without workspace:admin it changes people of the role member only. It may be limited to networks.",
		}},
		{Name: byUser, Value: openapi.SecurityScheme{
			Type: "http", Scheme: "bearer", BearerFormat: "JWT",
			Description: "A user's access token. It has all scopes, or those that it names.",
		}},
	}
	return c
}

func sharedParameters() schema.Map[openapi.Parameter] {
	in := func(required bool, text string) openapi.Parameter {
		id := schema.AnyUUID()
		id.Examples = nil // only a workspace of the caller would work
		return openapi.Parameter{Name: "workspace_id", In: "query", Required: required, Schema: id, Description: text}
	}
	return schema.Map[openapi.Parameter]{
		{Name: "WorkspaceId", Value: in(false, "The workspace. By default a key's first one; a user's by the token's claim `workspace_id`, or their only one.")},
		{Name: "WorkspaceIdOfUser", Value: in(false, "The workspace. A user must give it; a key's is its first one by default.")},
		{Name: "RequiredWorkspaceId", Value: in(true, "The workspace.")},
		{Name: "RequestId", Value: openapi.Parameter{
			Name: RequestIDHeader, In: "header", Schema: &schema.Schema{Type: "string"},
			Description: "An id to find the request by, 1 to 128 printable ASCII characters; another one is replaced.",
		}},
		{Name: short(headerIdempotencyKey), Value: openapi.Parameter{
			Name: headerIdempotencyKey, In: "header", Schema: schema.Printable(maxIdempotencyKey),
			Description: "The same in a request and its repetitions, and in no other request of the caller, such as a random UUID. Within 24 hours a repetition gets the first answer again; it costs nothing and does nothing.",
		}},
	}
}

// short is the name of the component of a header.
func short(header string) string { return strings.ReplaceAll(header, "-", "") }

func sharedHeaders() schema.Map[openapi.Header] {
	h := schema.Map[openapi.Header]{
		{Name: "RequestId", Value: openapi.Header{
			Required: true, Description: "The request's id: the caller's own, or a new UUID.",
			Schema: schema.Printable(128),
		}},
		{Name: "RetryAfter", Value: openapi.Header{
			Required: true, Description: "In how many seconds to try again.", Schema: schema.Integer(1, 86_400),
		}},
		{Name: "RetryAfterIfKnown", Value: openapi.Header{Description: "In how many seconds to try again.", Schema: schema.Integer(1, 86_400)}},
	}
	h = append(h, schema.Member[openapi.Header]{Name: short(headerReplayed), Value: openapi.Header{
		Description: "The answer to a repetition; missing otherwise.", Schema: schema.OneOf("true"),
	}})
	texts := map[string]string{
		headerCharged:   "What this request cost.",
		headerUsed:      "What the workspace used in the last 24 hours.",
		headerRemaining: "What is left of the ceiling.",
		headerCeiling:   "The ceiling of 24 hours.",
	}
	for _, tokens := range []struct{ name, text string }{
		{headerLimit, "How many free calls a caller may make at once."},
		{headerTokens, "How many of them are left."},
		{headerTokenReset, "In how many seconds all of them are there again."},
	} {
		h = append(h, schema.Member[openapi.Header]{Name: short(tokens.name), Value: openapi.Header{
			Description: tokens.text, Schema: schema.Count(),
		}})
	}
	h = append(h, schema.Member[openapi.Header]{Name: short(headerNextAt), Value: openapi.Header{
		Description: "With `rate_limited`: when credits return.", Schema: schema.Time(),
	}}, schema.Member[openapi.Header]{Name: strings.ReplaceAll(headerKeyRemaining, "-", ""), Value: openapi.Header{
		Description: "What is left of the API key's budget in this workspace, if it has one.", Schema: schema.Count(),
	}})
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		header := openapi.Header{Required: true, Description: texts[name], Schema: schema.Count()}
		optional := header
		optional.Required = false
		h = append(
			h, schema.Member[openapi.Header]{Name: short(name), Value: header},
			schema.Member[openapi.Header]{Name: short(name) + "IfKnown", Value: optional},
		)
	}
	return h
}

// servicePaths are the routes that need no token and are not in the table. The
// health routes are outside Version.
func servicePaths() schema.Map[openapi.PathItem] {
	id := schema.Map[openapi.Header]{{Name: RequestIDHeader, Value: openapi.HeaderRef("RequestId")}}
	get := func(operation, summary string, body *schema.Schema, more ...schema.Member[openapi.Response]) schema.Map[*openapi.Operation] {
		ok := openapi.Response{
			Description: "Success.", Headers: id,
			Content: openapi.JSON(openapi.MediaType{Schema: body, Example: body.Sample()}),
		}
		return schema.Map[*openapi.Operation]{{Name: "get", Value: &openapi.Operation{
			ID: operation, Tags: []string{tagService}, Summary: summary, Security: []map[string][]string{},
			Parameters: []openapi.Parameter{openapi.ParameterRef("RequestId")},
			Responses:  append(schema.Map[openapi.Response]{{Name: "200", Value: ok}}, more...),
		}}}
	}
	states := schema.Optional(
		"backends",
		schema.ByKey(schema.OneOf("ok", "unavailable")).Example(map[string]any{"postgres": "ok", "redis": "ok"}),
	)
	filling := schema.Optional("filling", schema.Array(schema.OneOf(catalog.Held...), 1, len(catalog.Held)).
		Described("Datasets whose records of workspaces are being put back after their search index was lost. Searches of a book or a View answer 503 until that workspace's are there."))
	readiness := schema.Named("Readiness", schema.Object(
		schema.Required("status", schema.OneOf("ok", "unavailable", "stopping")), states, filling,
	).
		When(schema.OneOf("ok", "unavailable").At("status"), schema.Requires("backends"),
			schema.Never().At("backends").And(schema.Never().At("filling"))))
	ready, unready := readiness.Narrowed(schema.Const("ok").At("status")), readiness.Narrowed(
		schema.OneOf("unavailable", "stopping").At("status"),
	)
	away := openapi.Response{
		Description: "A backend does not serve, or the server is about to stop.",
		Headers:     append(slices.Clip(id), schema.Member[openapi.Header]{Name: "Retry-After", Value: openapi.HeaderRef("RetryAfter")}),
		Content: openapi.JSON(openapi.MediaType{Schema: unready, Examples: schema.Map[openapi.Example]{
			{Name: "unavailable", Value: openapi.Example{Value: health{
				Status: "unavailable", Backends: map[string]string{"postgres": "ok", "redis": "unavailable"},
			}}},
			{Name: "stopping", Value: openapi.Example{Value: health{Status: "stopping"}}},
		}}),
	}
	root := []openapi.Server{{URL: "/"}}
	failed := schema.Member[openapi.Response]{Name: "500", Value: failure([]fault.Code{fault.Internal}, id)}
	often := schema.Member[openapi.Response]{Name: "429", Value: failure([]fault.Code{fault.TooManyRequests}, id)}
	document := &schema.Schema{Type: "object", Required: []string{"openapi", "info", "paths"}, Properties: schema.Map[*schema.Schema]{
		{Name: "openapi", Value: &schema.Schema{Type: "string"}}, {Name: "info", Value: &schema.Schema{Type: "object"}},
		{Name: "paths", Value: &schema.Schema{Type: "object"}},
	}, Examples: []any{map[string]any{
		"openapi": openapi.Version, "info": map[string]any{"title": "Atlas", "version": "1.0.0"}, "paths": map[string]any{},
	}}}
	return schema.Map[openapi.PathItem]{
		{Name: documentPath, Value: openapi.PathItem{Operations: get(
			"get_openapi", "Get this document", schema.Named("OpenAPIDocument", document), often, failed,
		)}},
		{Name: "/health/live", Value: openapi.PathItem{Servers: root,
			Operations: get(
				"get_liveness", "See whether the process answers",
				schema.Named("Liveness", schema.Object(schema.Required("status", schema.Const("ok")))), often, failed,
			)}},
		{Name: "/health/ready", Value: openapi.PathItem{Servers: root,
			Operations: get(
				"get_readiness", "See whether every backend serves", ready, often,
				schema.Member[openapi.Response]{Name: "503", Value: away}, failed,
			)}},
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
