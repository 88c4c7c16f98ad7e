package endpoint

import (
	"maps"
	"slices"
	"strings"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/service/openapi"
)

// DocumentPath is the OpenAPI document's path, below Version.
const DocumentPath = "/openapi.json"

// TagService is the tag of operations of the service itself.
const TagService = "Service"

// Document is the OpenAPI document of routes and of the addresses of every server.
func Document(info openapi.Info, tags []openapi.Tag, routes []Route) openapi.Document {
	d := openapi.Document{
		OpenAPI: openapi.Version, Info: info, Servers: []openapi.Server{{URL: Version}}, Tags: tags,
		Components: sharedComponents(),
	}
	for _, r := range routes {
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
		id.Examples = nil // only one of the caller's workspaces would work
		return openapi.Parameter{Name: "workspace_id", In: "query", Required: required, Schema: id, Description: text}
	}
	return schema.Map[openapi.Parameter]{
		{
			Name: "WorkspaceId",
			Value: in(
				false,
				"The workspace. By default a key's first one; a user's by the token's claim `workspace_id`, or their only one.",
			),
		},
		{Name: "WorkspaceIdOfUser", Value: in(false, "The workspace. A user must give it; a key's is its first one by default.")},
		{Name: "RequiredWorkspaceId", Value: in(true, "The workspace.")},
		{Name: "RequestId", Value: openapi.Parameter{
			Name: RequestIDHeader, In: "header", Schema: &schema.Schema{Type: "string"},
			Description: "An id to find the request by, 1 to 128 printable ASCII characters; another one is replaced.",
		}},
		{Name: short(HeaderIdempotencyKey), Value: openapi.Parameter{
			Name: HeaderIdempotencyKey, In: "header", Schema: schema.Printable(maxIdempotencyKey),
			Description: "The same in a request and its repetitions, and in no other request of the caller, such as a random UUID. Within 24 hours a repetition gets the first answer again; it costs nothing and does nothing.",
		}},
	}
}

func sharedHeaders() schema.Map[openapi.Header] {
	h := schema.Map[openapi.Header]{
		{Name: "RequestId", Value: openapi.Header{
			Required: true, Description: "The request's id: the caller's own, or a new UUID.",
			Schema: schema.Printable(128),
		}},
		{Name: "RetryAfter", Value: openapi.Header{
			Required: true, Description: "In how many seconds to try again.", Schema: schema.Integer(1, 86_400),
		}},
		{
			Name:  "RetryAfterIfKnown",
			Value: openapi.Header{Description: "In how many seconds to try again.", Schema: schema.Integer(1, 86_400)},
		},
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
			ID: operation, Tags: []string{TagService}, Summary: summary, Security: []map[string][]string{},
			Parameters: []openapi.Parameter{openapi.ParameterRef("RequestId")},
			Responses:  append(schema.Map[openapi.Response]{{Name: "200", Value: ok}}, more...),
		}}}
	}
	states := schema.Optional(
		"backends",
		schema.ByKey(schema.OneOf("ok", "unavailable")).Example(map[string]any{"postgres": "ok", "redis": "ok"}),
	)
	filling := schema.Optional("filling", schema.Array(schema.OneOf(catalog.Held...), 1, len(catalog.Held)).
		Described("Datasets whose records of workspaces are being put back after their search index was lost. Searches of a book or a View answer 503 until that workspace's are there."),
	)
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
		{Name: DocumentPath, Value: openapi.PathItem{Operations: get(
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
