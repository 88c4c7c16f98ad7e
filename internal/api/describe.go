package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/api/openapi"
	"atlas/internal/fault"
	"atlas/search/query"
)

// about is what the OpenAPI document says of a route beside the columns of the
// route table.
type about struct {
	tag, summary string
	// text is more than the summary, in Markdown.
	text   string
	params []openapi.Parameter
	// body is nil for a route without one; an absent body reads as {}, which is
	// fine where bodyOptional is set.
	body         *openapi.Schema
	bodyOptional bool
	// depends is what stored thing decides which of the body's shapes fits.
	depends  string
	examples []example
	// batch is what each item must be to succeed, batchOf the body's member that
	// holds them.
	batch   *openapi.Schema
	batchOf string
	// data and metadata are those of a successful answer.
	data, metadata *openapi.Schema
	// codes are the errors that the route has beside those of its columns.
	codes []fault.Code
}

// example is a request body that is shown.
type example struct {
	name, summary string
	body          jsontext.Value
}

// codes lists what a route can fail with.
func (r Route) codes() []fault.Code {
	codes := []fault.Code{fault.InvalidInput, fault.Unauthorized, fault.Forbidden, fault.Internal, fault.Unavailable}
	if r.Caller != Newcomers {
		codes = append(codes, fault.BadRequest) // which workspace is not clear
	}
	if r.Caller != Anyone && r.Caller != Admins {
		codes = append(codes, fault.UserIdentityRequired)
	}
	if r.Throttling != Never {
		codes = append(codes, fault.RateLimited)
	}
	if r.about.body != nil {
		codes = append(codes, fault.PayloadTooLarge, fault.UnsupportedMediaType)
	}
	for _, code := range r.about.codes {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return codes
}

// operation is the route as the document shows it. c makes the examples.
func (r Route) operation(c openapi.Components) *openapi.Operation {
	throttled := r.Throttling != Never
	scope := string(r.Scope)
	if r.Caller == Newcomers {
		scope = "" // scopes are of a workspace
	}
	o := &openapi.Operation{
		ID: r.Operation, Tags: []string{r.about.tag}, Summary: r.about.summary, Description: r.description(),
		Security: r.security(), Scope: scope, Caller: callers[r.Caller].name, Credits: r.credits(), Throttled: &throttled, Depends: r.about.depends,
		Parameters: r.parameters(),
	}
	if r.about.body != nil {
		o.RequestBody = &openapi.RequestBody{Required: !r.about.bodyOptional, Content: openapi.JSON(r.bodyType(c))}
	}
	if r.about.batch != nil {
		o.Batch = &openapi.Batch{Member: r.about.batchOf, Item: r.about.batch}
	}
	answer := openapi.Object(openapi.Required("data", r.about.data), openapi.Required("metadata", r.about.metadata))
	success := openapi.Response{Description: "Success.", Headers: r.headers(true), Content: openapi.JSON(openapi.MediaType{Schema: answer, Example: c.Sample(answer)}), Links: linksOf(r.Operation)}
	o.Responses = openapi.Map[openapi.Response]{{Name: "200", Value: success}}
	o.Responses = append(o.Responses, r.failures()...)
	return o
}

func (r Route) bodyType(c openapi.Components) openapi.MediaType {
	m := openapi.MediaType{Schema: r.about.body}
	if len(r.about.examples) == 0 {
		m.Example = c.Sample(r.about.body)
	}
	for _, e := range r.about.examples {
		m.Examples = append(m.Examples, openapi.Member[openapi.Example]{Name: e.name, Value: openapi.Example{Summary: e.summary, Value: e.body}})
	}
	return m
}

// callers name who may call, and say it in a sentence.
var callers = map[Caller]struct{ name, text string }{
	Anyone:            {"anyone", ""},
	Admins:            {"admins", "Owners, admins and API keys only."},
	Users:             {"users", "Users only: an API key gets `user_identity_required`."},
	UsersForFavorites: {"anyone", "`favorite_only=true` is for users only: an API key gets `user_identity_required`."},
	Newcomers:         {"users", "Users only, in no workspace; `workspace_id` is not used."},
}

func (r Route) description() string {
	parts := []string{r.about.text, callers[r.Caller].text}
	if r.Caller != Newcomers {
		parts = append(parts, "Scope `"+string(r.Scope)+"`.")
	}
	switch c := r.credits(); {
	case c.Amount == 0 && r.Throttling == Never:
		parts = append(parts, "Costs nothing, and is never throttled.")
	case c.Amount == 0:
		parts = append(parts, "Costs nothing.")
	default:
		parts = append(parts, fmt.Sprintf("Costs %d credit for each %s.", c.Amount, c.Per))
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

func (r Route) security() []map[string][]string {
	scopes := []string{string(r.Scope)}
	switch r.Caller {
	case Newcomers:
		return []map[string][]string{{byUser: {}}}
	case Users:
		return []map[string][]string{{byUser: scopes}}
	}
	return []map[string][]string{{byKey: scopes}, {byUser: scopes}}
}

// parameters are those of the path, the route's own and those of all routes.
func (r Route) parameters() []openapi.Parameter {
	own := slices.Clone(r.about.params)
	for name := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(name, ":"); ok && !slices.ContainsFunc(own, func(p openapi.Parameter) bool { return p.Name == name }) {
			own = slices.Insert(own, 0, openapi.Parameter{Name: name, In: "path", Required: true, Schema: idIn(), Description: pathTexts[name]})
		}
	}
	in := "WorkspaceId"
	if r.WorkspaceRequired {
		in = "WorkspaceIdOfUser"
		if r.Caller == Users {
			in = "RequiredWorkspaceId"
		}
	}
	return append(own, openapi.ParameterRef(in), openapi.ParameterRef("RequestId"))
}

// pathTexts describe ids in paths.
var pathTexts = map[string]string{
	"id": "The id.", "viewId": "The View.", "recordId": "The record.", "userId": "The member.",
}

// headers are those of an answer.
func (r Route) headers(success bool) openapi.Map[openapi.Header] {
	h := openapi.Map[openapi.Header]{{Name: RequestIDHeader, Value: openapi.HeaderRef("RequestId")}}
	if r.Throttling != Metered {
		return h
	}
	for _, name := range []string{headerCharged, headerUsed, headerRemaining, headerCeiling} {
		if success {
			h = append(h, openapi.Member[openapi.Header]{Name: name, Value: openapi.HeaderRef(strings.ReplaceAll(name, "-", ""))})
			continue
		}
		// Of a request that failed before the ledger was asked, nothing is known.
		h = append(h, openapi.Member[openapi.Header]{Name: name, Value: openapi.HeaderRef(strings.ReplaceAll(name, "-", "") + "IfKnown")})
	}
	return h
}

// failures are the answers to what goes wrong, by status.
func (r Route) failures() openapi.Map[openapi.Response] {
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
	var all openapi.Map[openapi.Response]
	for _, status := range order {
		all = append(all, openapi.Member[openapi.Response]{Name: strconv.Itoa(status), Value: failure(byStatus[status], r.headers(false))})
	}
	return all
}

// failure is an answer with one of the codes, which have one status.
func failure(codes []fault.Code, headers openapi.Map[openapi.Header]) openapi.Response {
	var shapes []*openapi.Schema
	var named []fault.Code
	var shown openapi.Map[openapi.Example]
	texts := make([]string, len(codes))
	for i, code := range codes {
		name := string(code)
		if code == fault.InvalidInput {
			shapes, name = append(shapes, openapi.Ref("ValidationError")), "validation"
		} else {
			named = append(named, code)
		}
		texts[i] = "- `" + name + "`: " + errorTable[code].meaning
		shown = append(shown, openapi.Member[openapi.Example]{Name: name, Value: openapi.Example{Value: failureExample(code)}})
	}
	if len(named) > 0 {
		shapes = append(shapes, errorSchema(named))
	}
	s := shapes[0]
	if len(shapes) > 1 {
		s = &openapi.Schema{OneOf: shapes}
	}
	if slices.ContainsFunc(codes, func(c fault.Code) bool { return errorTable[c].retry }) {
		headers = append(slices.Clip(headers), openapi.Member[openapi.Header]{Name: "Retry-After", Value: openapi.HeaderRef("RetryAfter")})
	}
	return openapi.Response{Description: strings.Join(texts, "\n"), Headers: headers, Content: openapi.JSON(openapi.MediaType{Schema: s, Examples: shown})}
}

// failureExample is an answer with a code, in the shape that fail gives it.
func failureExample(code fault.Code) any {
	if code == fault.InvalidInput {
		return validationError{Error: validationIssues{Name: "ValidationError", Issues: []fault.Issue{
			{Code: fault.TooBig, Path: []string{"limit"}, Message: fmt.Sprintf("must be at most %d", query.MaxLimit)},
		}}}
	}
	return handlerError{codeMessage{code, strings.ReplaceAll(errorTable[code].meaning, "`", "")}}
}

// errorSchema is the shape of errors with one of the codes.
func errorSchema(codes []fault.Code) *openapi.Schema {
	return openapi.Object(openapi.Required("error", openapi.Object(
		openapi.Required("code", openapi.OneOf(codes...)),
		openapi.Required("message", plain("What is wrong, in a sentence.")),
	)))
}

// itemCodes are the codes of failed items, in order.
func itemCodes(codes []fault.Code) []fault.Code {
	return slices.SortedFunc(slices.Values(codes), func(a, b fault.Code) int { return cmp.Compare(a, b) })
}

// itemMeanings say when an item of a batch has each of its codes.
func itemMeanings(codes []fault.Code) string {
	texts := make([]string, len(codes))
	for i, code := range codes {
		row := errorTable[code]
		texts[i] = "- `" + string(code) + "`: " + cmp.Or(row.item, row.meaning)
	}
	return strings.Join(texts, "\n")
}

// batchCodes are the codes that items of a batch can fail with: those of the
// route, and those of any batch.
func batchCodes(own ...fault.Code) []fault.Code {
	return append([]fault.Code{fault.InvalidInput, fault.Internal, fault.Unavailable}, own...)
}

// batchResults are the outcomes of a batch's items. data is nil where a good
// item has none; the id is missing where an item was too broken to read it.
func batchResults(idKey string, data *openapi.Schema, codes ...fault.Code) *openapi.Schema {
	index := openapi.Required("index", openapi.Integer(0, maxBatch-1))
	good := []openapi.Property{index, openapi.Required(idKey, idOut()), openapi.Required("status", openapi.Const("ok"))}
	if data != nil {
		good = append(good, openapi.Required("data", data))
	}
	shapes := []*openapi.Schema{openapi.Object(good...)}
	if len(codes) > 0 {
		shapes = append(shapes, openapi.Object(index, openapi.Optional(idKey, idOut()),
			openapi.Required("status", openapi.OneOf(itemCodes(codes)...)),
			openapi.Required("error", openapi.Object(
				openapi.Required("code", openapi.OneOf(itemCodes(codes)...).Described(itemMeanings(itemCodes(codes)))),
				openapi.Required("message", plain("What is wrong, in a sentence.")),
				openapi.Optional("issues", openapi.Array(openapi.Ref("Issue"), 1, fault.MaxIssues).Described("With `invalid_input`.")),
			))))
	}
	return openapi.Array(&openapi.Schema{OneOf: shapes}, 1, maxBatch)
}

// batchBody is a body of 1..100 items. An item of another shape fails alone, so
// the body may hold anything there.
func batchBody(member string, item *openapi.Schema) *openapi.Schema {
	either := &openapi.Schema{AnyOf: []*openapi.Schema{item, {Description: "Anything else fails alone, as `invalid_input`."}}}
	return openapi.Object(openapi.Required(member, openapi.Array(either, 1, maxBatch)))
}

// inBatch makes a batch of a route's description.
func (a about) inBatch(member string, item *openapi.Schema) about {
	a.batchOf, a.batch = member, item
	a.body, a.metadata = batchBody(member, item), openapi.Ref("BatchMetadata")
	a.text = strings.TrimSpace(a.text + "\n\n1 to 100 items, which apply one after the other; one that fails stops none of the others. Answers 200 with one result for each, in their order. A 503 means that no item is known to be done; once one is, an outage makes the rest `unavailable`.")
	return a
}

func resultsData(results *openapi.Schema) *openapi.Schema {
	return openapi.Object(openapi.Required("results", results))
}
