package endpoint

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/service/openapi"
)

// drawsTokens reports whether calls of the route draw on the token bucket of their caller:
// for a metered route, the free ones do.
func (r Route) drawsTokens() bool {
	return r.Throttling == Limited || r.Throttling == Metered
}

// mayBeFree reports whether some calls of a metered route are free.
func (r Route) mayBeFree() bool { return r.Doc.DryRun != nil || r.Doc.Free != "" }

// codes lists the codes that a route can fail with.
func (r Route) codes() []fault.Code {
	codes := []fault.Code{fault.InvalidInput, fault.Unauthorized, fault.Forbidden, fault.Internal, fault.Unavailable}
	if r.Caller != Newcomers {
		codes = append(codes, fault.BadRequest, fault.ProviderRequired) // the workspace is ambiguous, or requires another way of signing in
	}
	if r.Caller != Anyone && r.Caller != Admins {
		codes = append(codes, fault.UserIdentityRequired)
	}
	byKey := r.Caller != Users && r.Caller != AdminUsers && r.Caller != Newcomers
	if r.Throttling != Never {
		codes = append(codes, fault.RateLimited)
		if byKey {
			codes = append(codes, fault.KeyBudgetUsed)
		}
	}
	if r.drawsTokens() || r.Paced || byKey {
		codes = append(codes, fault.TooManyRequests)
	}
	if r.Body != nil {
		codes = append(codes, fault.PayloadTooLarge, fault.UnsupportedMediaType)
	}
	if r.takesKey() {
		codes = append(codes, fault.IdempotencyInProgress, fault.IdempotencyConflict)
	}
	for _, code := range r.Doc.Codes {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

// operation is the route as the document shows it.
func (r Route) operation() *openapi.Operation {
	throttled := r.Throttling != Never
	scope := string(r.Scope)
	if r.Caller == Newcomers {
		scope = "" // scopes belong to a workspace
	}
	o := &openapi.Operation{
		ID: r.Operation, Tags: []string{r.Doc.Tag}, Summary: r.Doc.Summary, Description: r.description(),
		Security: r.security(), Scope: scope, Caller: callers[r.Caller].name, Credits: r.credits(), Throttled: &throttled, Depends: r.Doc.Depends,
		Parameters: r.parameters(),
	}
	if r.Body != nil {
		o.RequestBody = &openapi.RequestBody{
			Required: !r.BodyOptional,
			Content:  openapi.JSON(r.bodyType(r.Body.Part(schema.Identifier(r.Operation) + "Request"))),
		}
	}
	metadata := cmp.Or(r.Doc.Metadata, freeMetadata)
	if r.Secret {
		metadata = secretMetadataSchema
	}
	if r.Item != nil {
		o.Batch = &openapi.Batch{Member: r.Items, Item: r.Item}
		metadata = cmp.Or(r.Doc.Metadata, BatchMetadataSchema)
	}
	name := schema.Identifier(r.Operation)
	answer := schema.Named(
		name+"ResponseBody",
		schema.Object(schema.Required("data", r.Doc.Data.Part(name+"Data")), schema.Required("metadata", metadata)),
	)
	example := answer.Sample()
	if r.Doc.DryRun != nil {
		answer = schema.Named(name+"Answer", &schema.Schema{OneOf: []*schema.Schema{answer, r.Doc.DryRun}})
	}
	success := openapi.Response{
		Description: "Success.", Headers: r.headers(true),
		Content: openapi.JSON(openapi.MediaType{Schema: answer, Example: example}), Links: r.Doc.Links,
	}
	o.Responses = schema.Map[openapi.Response]{{Name: "200", Value: success}}
	if r.Conditional {
		o.Parameters = append(o.Parameters, ifNoneMatchParam)
		o.Responses = append(o.Responses, schema.Member[openapi.Response]{Name: "304", Value: r.notModifiedResponse()})
	}
	o.Responses = append(o.Responses, r.failures()...)
	return o
}

func (r Route) bodyType(s *schema.Schema) openapi.MediaType {
	m := openapi.MediaType{Schema: s}
	if len(r.Doc.Examples) == 0 {
		m.Example = r.Body.Sample()
	}
	for _, e := range r.Doc.Examples {
		m.Examples = append(
			m.Examples,
			schema.Member[openapi.Example]{Name: e.Name, Value: openapi.Example{Summary: e.Summary, Value: e.Body}},
		)
	}
	return m
}

// callers are the names of Caller in x-caller, and a sentence for the description.
var callers = map[Caller]struct{ name, text string }{
	Anyone:            {"anyone", ""},
	Admins:            {"admins", "Owners, admins and API keys only."},
	AdminUsers:        {"users", "Owners and admins only: an API key gets `user_identity_required`."},
	Users:             {"users", "Users only: an API key gets `user_identity_required`."},
	UsersForFavorites: {"anyone", "`favorite_only=true` is for users only: an API key gets `user_identity_required`."},
	Newcomers:         {"users", "Users only, in no workspace; `workspace_id` is not used."},
}

func (r Route) description() string {
	parts := []string{r.Doc.Text}
	if r.Item != nil {
		parts = append(parts, batchText)
	}
	parts = append(parts, callers[r.Caller].text)
	if r.Caller != Newcomers {
		parts = append(parts, "Scope "+scopesText(r.scopes())+".")
	}
	switch c := r.credits(); {
	case c.Amount == 0 && r.Throttling == Never:
		parts = append(parts, "Costs nothing, and is never throttled.")
	case r.Throttling == Limited:
		parts = append(parts, "Costs nothing. Draws on the caller's limit for free operations.")
	case c.Amount == 0:
		parts = append(parts, "Costs nothing.")
	default:
		parts = append(parts, fmt.Sprintf("Costs %d credit for each %s.", c.Amount, c.Per))
		if r.mayBeFree() {
			parts = append(
				parts,
				cmp.Or(r.Doc.Free, "With `dry_run` it")+" costs nothing and draws on the caller's limit for free operations.",
			)
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n\n")
}

// credits is what the route costs: searches by record, gets by call.
func (r Route) credits() *openapi.Credits {
	switch {
	case r.Throttling != Metered:
		return &openapi.Credits{Amount: 0, Per: "call"}
	case r.Method == http.MethodGet:
		return &openapi.Credits{Amount: 1, Per: "call that answers a record"}
	}
	return &openapi.Credits{Amount: 1, Per: "record returned"}
}

// Names of the security schemes.
const (
	byKey  = "apiKey"
	byUser = "accessToken"
)

// scopes are those that the route needs.
func (r Route) scopes() []string {
	if r.Also == "" {
		return []string{string(r.Scope)}
	}
	return []string{string(r.Scope), string(r.Also)}
}

func scopesText(scopes []string) string { return "`" + strings.Join(scopes, "` and `") + "`" }

func (r Route) security() []map[string][]string {
	scopes := r.scopes()
	switch r.Caller {
	case Newcomers:
		return []map[string][]string{{byUser: {}}}
	case Users, AdminUsers:
		return []map[string][]string{{byUser: scopes}}
	}
	return []map[string][]string{{byKey: scopes}, {byUser: scopes}}
}

// parameters are the ids of the path, the route's own and those of every route.
func (r Route) parameters() []openapi.Parameter {
	own := slices.Clone(r.Doc.Params)
	for _, name := range r.pathIDs() {
		own = slices.Insert(own, 0, openapi.Parameter{
			Name: name, In: "path", Required: true, Schema: schema.AnyUUID(), Description: pathTexts[name],
		})
	}
	in := "WorkspaceId"
	if r.WorkspaceRequired {
		in = "WorkspaceIdOfUser"
		if r.Caller == Users || r.Caller == AdminUsers {
			in = "RequiredWorkspaceId"
		}
	}
	if r.takesKey() {
		own = append(own, openapi.ParameterRef(short(HeaderIdempotencyKey)))
	}
	return append(own, openapi.ParameterRef(in), openapi.ParameterRef("RequestId"))
}

// pathTexts describe ids in paths.
var pathTexts = map[string]string{
	"id": "The id.", "viewId": "The View.", "recordId": "The record.", "userId": "The member.",
}

// headers are those of an answer.
func (r Route) headers(success bool) schema.Map[openapi.Header] {
	h := schema.Map[openapi.Header]{{Name: RequestIDHeader, Value: openapi.HeaderRef("RequestId")}}
	if r.drawsTokens() {
		for _, name := range []string{headerLimit, headerTokens, headerTokenReset} {
			h = append(h, schema.Member[openapi.Header]{Name: name, Value: openapi.HeaderRef(short(name))})
		}
	}
	if r.Conditional && success {
		h = append(h, schema.Member[openapi.Header]{Name: "ETag", Value: etagHeader})
	}
	if r.takesKey() && success {
		h = append(h, schema.Member[openapi.Header]{Name: headerReplayed, Value: openapi.HeaderRef(short(headerReplayed))})
	}
	if r.Throttling != Metered {
		return h
	}
	for _, name := range []string{headerCharged, headerUsed, headerRemaining, headerCeiling} {
		if success && (!r.mayBeFree() || name == headerCharged) {
			h = append(h, schema.Member[openapi.Header]{Name: name, Value: openapi.HeaderRef(short(name))})
			continue
		}
		// They are not known if the request failed before it reached the ledger, and in a dry run
		// without the ledger.
		h = append(h, schema.Member[openapi.Header]{Name: name, Value: openapi.HeaderRef(short(name) + "IfKnown")})
	}
	return append(h, schema.Member[openapi.Header]{
		Name: headerKeyRemaining, Value: openapi.HeaderRef(strings.ReplaceAll(headerKeyRemaining, "-", "")),
	})
}

// failures are the error answers, by status.
func (r Route) failures() schema.Map[openapi.Response] {
	byStatus := map[int][]fault.Code{}
	for _, code := range r.codes() {
		status := errorTable[code].status
		byStatus[status] = append(byStatus[status], code)
	}
	var order []int
	for status := range byStatus {
		order = append(order, status)
	}
	slices.Sort(order)
	var all schema.Map[openapi.Response]
	for _, status := range order {
		all = append(all, schema.Member[openapi.Response]{Name: strconv.Itoa(status), Value: failure(byStatus[status], r.headers(false))})
	}
	return all
}

// failure is an answer with one of the codes, which have one status.
func failure(codes []fault.Code, headers schema.Map[openapi.Header]) openapi.Response {
	var shown schema.Map[openapi.Example]
	texts, names := make([]string, len(codes)), make([]string, len(codes))
	for i, code := range codes {
		name := string(code)
		if code == fault.InvalidInput {
			name = "validation"
		}
		names[i] = schema.Identifier(name)
		texts[i] = "- `" + name + "`: " + errorTable[code].meaning
		shown = append(shown, schema.Member[openapi.Example]{Name: name, Value: openapi.Example{Value: failureExample(code)}})
	}
	name := strings.Join(names, "Or")
	for _, h := range headers {
		switch h.Name {
		case headerCharged:
			name += "WithCredits"
		case headerLimit:
			name += "WithLimit"
		}
	}
	if slices.Contains(codes, fault.RateLimited) {
		headers = append(
			slices.Clip(headers),
			schema.Member[openapi.Header]{Name: headerNextAt, Value: openapi.HeaderRef(short(headerNextAt))},
		)
	}
	retried := func(c fault.Code) bool { return errorTable[c].retry }
	if slices.ContainsFunc(codes, retried) {
		ref := "RetryAfter"
		if slices.ContainsFunc(codes, func(c fault.Code) bool { return !retried(c) }) {
			ref += "IfKnown"
		}
		headers = append(slices.Clip(headers), schema.Member[openapi.Header]{Name: "Retry-After", Value: openapi.HeaderRef(ref)})
	}
	return openapi.Response{
		Name: name, Description: strings.Join(texts, "\n"), Headers: headers,
		Content: openapi.JSON(openapi.MediaType{Schema: errorSchema(codes), Examples: shown}),
	}
}

// failureExample is an answer with a code.
func failureExample(code fault.Code) any {
	e := fault.New(code, "%s", errorTable[code].sample)
	if code == fault.InvalidInput {
		e = fault.Validation(fault.Issue{Code: fault.InvalidType, Path: []string{"filters", "stage"}, Message: e.Message})
	}
	return addresses(nil).bodyOf(e, ErrorsPath+"#"+string(code))
}

// short is the name of the component of a header.
func short(header string) string { return strings.ReplaceAll(header, "-", "") }

// ifNoneMatchParam and etagHeader describe what revalidates reads and writes.
var (
	ifNoneMatchParam = openapi.Parameter{
		Name: headerIfNoneMatch, In: "header", Schema: &schema.Schema{Type: "string"},
		Description: "ETags of answers that the client has. `*` matches nothing.",
	}
	etagHeader = openapi.Header{
		Required: true, Description: "Of this answer in this workspace, weak.", Schema: &schema.Schema{Type: "string"},
	}
)

// notModifiedResponse describes a 304.
func (r Route) notModifiedResponse() openapi.Response {
	text := "The client has the answer."
	if r.Throttling == Metered {
		text += " It costs nothing."
	}
	return openapi.Response{Description: text, Headers: r.headers(true)}
}
