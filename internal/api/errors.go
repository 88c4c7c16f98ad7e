package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"atlas/internal/fault"
	"atlas/internal/schema"
)

// errorRow describes an error code (docs/api.md, "Errors").
type errorRow struct {
	// status is the HTTP status, or itemOnly if no call fails with the code.
	status int
	// meaning says when the API returns the code, in Markdown.
	meaning string
	// item is the meaning in an item of a batch, if it differs.
	item string
	// retry means that the response has Retry-After.
	retry bool
}

// itemOnly is the status of codes that only items of a batch have.
const itemOnly = 0

// errorTable has one row for every code of package fault. Responses and the OpenAPI
// document use it, and tests compare the client and docs/ with it.
var errorTable = map[fault.Code]errorRow{
	fault.BadRequest: {status: http.StatusBadRequest, meaning: "a cursor that is not this search's, an unknown `include`, or no `workspace_id` where it is needed"},
	fault.InvalidInput: {status: http.StatusBadRequest, meaning: "the body or a parameter is not valid; all problems are listed",
		item: "the item is not valid; `issues` lists all problems"},
	fault.UserIdentityRequired:  {status: http.StatusBadRequest, meaning: "an API key where a person is meant"},
	fault.CannotSelfRemove:      {status: http.StatusBadRequest, meaning: "nobody removes themself"},
	fault.ViewTypeMismatch:      {status: http.StatusBadRequest, meaning: "the View is Dynamic: its definition chooses its records"},
	fault.ViewImmutableField:    {status: http.StatusBadRequest, meaning: "a View's dataset or type would change"},
	fault.InvalidViewDefinition: {status: http.StatusBadRequest, meaning: "the definition is outside the grammar; the message says what and where"},
	fault.Unauthorized:          {status: http.StatusUnauthorized, meaning: "no token, or not a genuine one"},
	fault.Forbidden:             {status: http.StatusForbidden, meaning: "the key is restricted, revoked, expired or without the scope; no member; the plan is not Pro; a role that is too low"},
	fault.NotFound:              {status: http.StatusNotFound, meaning: "there is no such thing"},
	fault.ViewNotFound:          {status: http.StatusNotFound, meaning: "the workspace has no such View"},
	fault.SkillNotFound:         {status: http.StatusNotFound, meaning: "no Skill with this locator that the caller may see"},
	fault.MethodNotAllowed:      {status: http.StatusMethodNotAllowed, meaning: "the path takes other methods: see `Allow`"},
	fault.AmbiguousMatch:        {status: http.StatusConflict, meaning: "several records have the domain or address of `match`: name one by its id"},
	fault.LastOwner:             {status: http.StatusConflict, meaning: "the only owner would be demoted or removed"},
	fault.AlreadyMember:         {status: http.StatusConflict, meaning: "the address, or the user, belongs to a member"},
	fault.AlreadyInvited:        {status: http.StatusConflict, meaning: "the address has a pending invitation"},
	fault.ViewNameConflict:      {status: http.StatusConflict, meaning: "the workspace has a View of that dataset and name"},
	fault.RevisionConflict:      {status: http.StatusConflict, meaning: "the View was changed since the revision that the change names"},
	fault.SkillConflict:         {status: http.StatusConflict, meaning: "the locator is taken"},
	fault.LimitReached:          {status: http.StatusConflict, meaning: "the workspace has as much as it may have; the message says what, and how much"},
	fault.WebhookDisabled:       {status: http.StatusConflict, meaning: "the webhook is disabled, so nothing is replayed to it: an upsert enables it"},
	fault.IdempotencyInProgress: {status: http.StatusConflict, meaning: "the first request with this `Idempotency-Key` is still running: repeat it", retry: true},
	fault.IdempotencyConflict:   {status: http.StatusUnprocessableEntity, meaning: "the `Idempotency-Key` is that of a request with another path, query or body"},
	fault.CursorTooOld:          {status: http.StatusGone, meaning: "the feed of changes does not have everything since then anymore: take a new cursor with `{}`, then read all records again"},
	fault.PayloadTooLarge:       {status: http.StatusRequestEntityTooLarge, meaning: fmt.Sprintf("a body of over %d bytes", MaxBody)},
	fault.UnsupportedMediaType:  {status: http.StatusUnsupportedMediaType, meaning: "a body that is not `application/json`"},
	fault.RateLimited:           {status: http.StatusTooManyRequests, meaning: "the credit ceiling is used up", retry: true},
	fault.KeyBudgetUsed:         {status: http.StatusTooManyRequests, meaning: "the API key has used its budget of credits", retry: true},
	fault.TooManyRequests:       {status: http.StatusTooManyRequests, meaning: "the caller uses operations that cost nothing too often, or the API key sends more requests a second than it may", retry: true},
	fault.Internal:              {status: http.StatusInternalServerError, meaning: "a mistake of ours; the request id helps to find it"},
	fault.Unavailable: {status: http.StatusServiceUnavailable, meaning: "a backend is away or too slow, or too much is asked at once: try again",
		item: "the service could not go on when other items were done; the first such item is done wholly or not at all, the ones after it were not tried", retry: true},
	fault.RecordNotFound:   {status: itemOnly, meaning: "the dataset has no such record"},
	fault.RecordNotVisible: {status: itemOnly, meaning: "a contact that the workspace does not see"},
	fault.ViewFull:         {status: itemOnly, meaning: "the View holds as many records as it can"},
}

// handlerError is the shape of all errors except validation errors.
type handlerError struct {
	Error codeMessage `json:"error"`
}

type codeMessage struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	// MergedInto is what a record became that is not found.
	MergedInto string `json:"merged_into,omitzero"`
}

// validationError is the shape of an InvalidInput error.
type validationError struct {
	Success bool             `json:"success"`
	Error   validationIssues `json:"error"`
}

type validationIssues struct {
	Issues []fault.Issue `json:"issues"`
	Name   string        `json:"name"`
}

var issueSchema = schema.Named("Issue", schema.Object(
	schema.Required("code", schema.OneOf(
		fault.InvalidType, fault.InvalidFormat, fault.InvalidUnion, fault.UnrecognizedKeys, fault.TooSmall, fault.TooBig, fault.Custom)),
	schema.Required("path", schema.Array(&schema.Schema{Type: "string"}, 0, 0).
		Described("Leads to the value; array positions are strings.").Example([]any{"filters", "stage", "value", "0"})),
	schema.Required("message", schema.String("must be one of: pre_filing, filed, under_review, approved, permitted, under_construction, completed")),
	schema.Optional("keys", schema.Array(&schema.Schema{Type: "string"}, 0, 0).
		Described("With `unrecognized_keys`: the keys that mean nothing there.").Example([]any{})),
))

// errorCodes are the codes of the errors that errorTable has and that keep says, in
// order.
func errorCodes(keep func(fault.Code, errorRow) bool) *schema.Schema {
	var codes []fault.Code
	for code, row := range errorTable {
		if keep(code, row) {
			codes = append(codes, code)
		}
	}
	return schema.OneOf(slices.Sorted(slices.Values(codes))...)
}

var messageSchema = schema.String("What is wrong, in a sentence.")

var mergedIntoSchema = schema.UUID().Described("The record that this one became, if it is not found because it became another.")

// anyError is handlerError and validationError in one form, because code generators
// cannot tell alternatives apart by which members they have.
var anyError = func() *schema.Schema {
	detail := schema.Object(
		schema.Optional("code", schema.Named("ErrorCode", errorCodes(func(code fault.Code, row errorRow) bool {
			return code != fault.InvalidInput && code != fault.MethodNotAllowed && row.status != itemOnly
		}))),
		schema.Optional("message", messageSchema),
		schema.Optional("merged_into", mergedIntoSchema),
		schema.Optional("name", schema.Const("ValidationError")),
		schema.Optional("issues", schema.Array(issueSchema, 1, fault.MaxIssues).Described("All problems of the request's shape.")),
	)
	detail.MinProperties, detail.MaxProperties = 2, 3
	return schema.Named("Error", schema.Object(
		schema.Optional("success", schema.Const(false).Described("Only with a validation error.")),
		schema.Required("error", schema.Named("ErrorDetail", detail)),
	).When(schema.Requires("success"), schema.Requires("name", "issues").At("error"), schema.Requires("code", "message").At("error")).
		Titled("ErrorResponse").Described("`code` and `message`; or, if the request's shape is wrong, `name` and `issues`, with `success`."))
}()

// errorSchema is the schema of errors with one of the codes.
func errorSchema(codes []fault.Code) *schema.Schema {
	named := slices.DeleteFunc(slices.Clone(codes), func(code fault.Code) bool { return code == fault.InvalidInput })
	code := (&schema.Schema{Enum: schema.OneOf(named...).Enum}).At("code").At("error")
	switch len(named) {
	case 0:
		return anyError.Narrowed(schema.Requires("success"))
	case len(codes):
		return anyError.Narrowed(code.And(schema.Never().At("success")))
	}
	return anyError.Narrowed(code)
}

// internalText is the message of internal errors.
const internalText = "something went wrong on our side; the request id helps us to find it"

// faultOf returns the first fault in err's chain. Any other error is internal.
func faultOf(err error) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return fault.Wrap(err, fault.Internal, internalText)
}

// fail answers an error with the status and shape of its code, and logs server
// errors.
func (c *call) fail(err error) {
	e := faultOf(err)
	status := cmp.Or(errorTable[e.Code].status, http.StatusInternalServerError)
	c.code = e.Code
	if status >= http.StatusInternalServerError {
		c.logFailure(e, err)
	}
	if e.RetryAfter > 0 {
		c.gin.Header("Retry-After", strconv.Itoa(int(math.Ceil(float64(e.RetryAfter)/float64(time.Second)))))
	}
	if e.Code == fault.InvalidInput {
		c.json(status, validationError{Error: validationIssues{Issues: e.Issues, Name: "ValidationError"}})
		return
	}
	message := e.Message
	if status == http.StatusInternalServerError {
		message = internalText
	}
	c.json(status, handlerError{codeMessage{e.Code, message, e.MergedInto}})
}

// logFailure logs a server error; e is the fault in err.
func (c *call) logFailure(e *fault.Error, err error) {
	level := slog.LevelError
	_, shed := errors.AsType[fault.Shed](err)
	switch {
	case c.left() && (e.Code == fault.Unavailable || errors.Is(err, context.Canceled)):
		c.abandoned, level = true, slog.LevelInfo // the disconnect cancelled work in progress
	case shed:
		level = slog.LevelDebug // a metric counts these; a line for each would add to the load
	}
	c.log().LogAttrs(c.Context(), level, "request failed", slog.String("error", err.Error()))
}
