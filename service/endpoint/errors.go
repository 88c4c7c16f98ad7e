package endpoint

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
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/search/catalog"
	"atlas/workspace/views"
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
	// advice says what to do about it, in Markdown; sample is a message. Both are for the page of
	// errors.
	advice, sample string
	// agent is the advice for agents, "" for none.
	agent string
}

// itemOnly is the status of codes that only items of a batch have.
const itemOnly = 0

// errorTable has one row for every code of package fault. Responses and the OpenAPI
// document use it, and tests compare the client and docs/ with it.
var errorTable = map[fault.Code]errorRow{
	fault.BadRequest: {
		status:  http.StatusBadRequest,
		meaning: "a cursor that is not this search's, an unknown `include`, or no `workspace_id` where it is needed",
		advice:  "Correct what the message names. A cursor goes back as it was answered, to the same search; leave it out to begin again.",
		agent:   "If search_after or cursor is meant: begin again without it, or send it as it was answered, with the same arguments.",
		sample:  "search_after is not a cursor of this search: send it as it was answered, or leave it out to begin at the first page",
	},
	fault.InvalidInput: {status: http.StatusBadRequest, meaning: "the body or a parameter is not valid; all problems are listed",
		item:   "the item is not valid; `issues` lists all problems",
		advice: "Correct each of `issues`: `path` leads to the value, `message` says what would be right.",
		agent:  "Correct the arguments that the issues name, and call again. describe_fields lists keys, kinds and values.",
		sample: "must be an object, such as {\"value\":\"permitted\"}, not a string"},
	fault.UserIdentityRequired: {status: http.StatusBadRequest, meaning: "an API key where a person is meant",
		advice: "Sign in, and send a person's access token in place of the API key.",
		agent:  "This needs a person's access token, not an API key. Do not try again.",
		sample: "this needs a user's access token: an API key belongs to no user"},
	fault.CannotSelfRemove: {status: http.StatusBadRequest, meaning: "members cannot remove themselves",
		advice: "Ask another owner or admin to remove you.",
		sample: "you cannot remove yourself: another owner or admin can"},
	fault.ViewTypeMismatch: {status: http.StatusBadRequest, meaning: "the View is Dynamic: its definition chooses its records",
		advice: "Add records to a Static View; change the definition of a Dynamic one.",
		agent:  "A Dynamic View finds its records by its definition: change that with the action update.",
		sample: "the records of a Dynamic View are chosen by its definition; only a Static View takes and loses records"},
	fault.ViewImmutableField: {status: http.StatusBadRequest, meaning: "a View's dataset or type would change",
		advice: "Create another View, and delete this one.",
		sample: "the dataset of a View cannot be changed; this one's is account"},
	fault.InvalidViewDefinition: {
		status:  http.StatusBadRequest,
		meaning: "the definition is outside the grammar; the message says what and where",
		advice:  "Correct what the message names. The grammar is in the reference under View definitions.",
		agent:   "Correct the definition as the message says, and call again.",
		sample:  "the definition of the View is not valid: fields.stage: must be an array of strings, such as [\"filed\"], not \"filed\"",
	},
	fault.Unauthorized: {status: http.StatusUnauthorized, meaning: "no token, or not a genuine one",
		advice: "Send `Authorization: Bearer` and an API key, which begins with `atlas_` and has 80 characters (an older one 86), or a fresh access token.",
		agent:  "The token is not valid. Ask the user for another; do not try again.",
		sample: "the API key is not valid: …"},
	fault.Forbidden: {
		status:  http.StatusForbidden,
		meaning: "the key is restricted, revoked, expired or without the scope; the user is no member; the plan is not Pro; the role is too low",
		advice:  "Use a key with the scope or a person with the role that the message names, in a workspace that has the plan.",
		agent:   "This caller may not do that. Do not try again; tell the user.",
		sample:  "this API key lacks the scope workspace:write",
	},
	fault.NotFound: {status: http.StatusNotFound, meaning: "there is no such thing",
		advice: "Check the address and the id. The message names the right path if one is near.",
		agent:  "There is nothing with this id. Search for it instead; do not guess ids.",
		sample: "no project has the id 00000000-0000-4000-8000-000000000000"},
	fault.ViewNotFound: {status: http.StatusNotFound, meaning: "the workspace has no such View",
		advice: "List the Views of the workspace with `GET /api/v1/workspace/views`.",
		agent:  "manage_view with the action list shows the Views and their ids.",
		sample: "the workspace has no View with this id"},
	fault.SkillNotFound: {status: http.StatusNotFound, meaning: "no Skill with this locator that the caller may see",
		advice: "List the Skills that you may see with `POST /api/v1/workspace/skills/list`.",
		agent:  "find_skills lists the locators.",
		sample: "there is no Skill with this locator"},
	fault.MethodNotAllowed: {status: http.StatusMethodNotAllowed, meaning: "the path takes other methods: see `Allow`",
		advice: "Use a method that the header `Allow` lists.",
		sample: "this route takes POST, not GET"},
	fault.AmbiguousMatch: {
		status:  http.StatusConflict,
		meaning: "several records have the domain or address of `match`: name one by its id",
		advice:  "Search for the record, and name it by its id.",
		agent:   "Name the record by its id.",
		sample:  "several accounts have this domain; use account_id",
	},
	fault.ProviderRequired: {status: http.StatusForbidden, meaning: "the workspace lets people in by its own provider only",
		advice: "Sign in at `/session/sign-in?workspace=` and the id of the workspace. API keys go on.",
		agent:  "An API key of the workspace goes on: its owner makes one.",
		sample: "this workspace lets people in by its own provider only: sign in at /session/sign-in?workspace=0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"},
	fault.LastOwner: {status: http.StatusConflict, meaning: "the only owner would be demoted or removed",
		advice: "Make somebody else an owner first.",
		sample: "a workspace needs an owner, and this is its only one"},
	fault.AlreadyMember: {status: http.StatusConflict, meaning: "the address, or the user, belongs to a member",
		advice: "Nothing is to be done: change the role if it is another.",
		sample: "this user is a member of the workspace already"},
	fault.AlreadyInvited: {status: http.StatusConflict, meaning: "the address has a pending invitation",
		advice: "Wait until the invitation is accepted, or revoke it and invite again.",
		sample: "this address has a pending invitation already"},
	fault.ViewNameConflict: {status: http.StatusConflict, meaning: "the workspace has a View of that dataset and name",
		advice: "Choose another name, or change the View that has this one.",
		agent:  "Choose another name, or change the View that has it.",
		sample: "the workspace has a View of this dataset with this name already: case and accents do not count"},
	fault.RevisionConflict: {
		status:  http.StatusConflict,
		meaning: "the View was changed since the revision that the change names, or the record of the book is not as the change expects",
		advice:  "Read the View again, apply your change to it, and send its revision. Of the book, `current` has what is there.",
		agent:   "Somebody changed it meanwhile. Get it, and decide again.",
		sample:  "the View has the revision 7, not 6",
	},
	fault.SkillConflict: {status: http.StatusConflict, meaning: "the locator is taken",
		advice: "Choose another locator.",
		sample: "there is a Skill with this locator already"},
	fault.LimitReached: {
		status:  http.StatusConflict,
		meaning: "the workspace has as much as it may have; the message says what, and how much",
		advice:  "Delete what is not needed any more, or ask the operator for a higher limit.",
		agent:   "The workspace has as much as it may have. Tell the user.",
		sample:  "the limit of 1000 Views is reached: delete some",
	},
	fault.WebhookDisabled: {
		status:  http.StatusConflict,
		meaning: "the webhook is disabled, so nothing is replayed to it: an upsert enables it",
		advice:  "Enable the webhook with an upsert, then replay.",
		sample:  "the webhook is disabled: an upsert enables it",
	},
	fault.APIKeyActive: {status: http.StatusConflict, meaning: "the API key is not revoked, so nothing that it did is undone",
		advice: "Revoke the key, then undo what it did.",
		sample: "revoke this API key first: what it does meanwhile would not be undone"},
	fault.IdempotencyInProgress: {
		status: http.StatusConflict, meaning: "the first request with this `Idempotency-Key` is still running",
		retry:  true,
		advice: "Repeat the request, with the same key, after `Retry-After`.",
		agent:  "The same call is under way. Wait a few seconds, and call again.",
		sample: "the first request with this Idempotency-Key is still running: repeat it shortly",
	},
	fault.IdempotencyConflict: {
		status:  http.StatusUnprocessableEntity,
		meaning: "the `Idempotency-Key` is that of another request of the same operation: with another id in the path, another query string or another body",
		advice:  "Use a new key for each request, and the same for its repetitions, which are equal byte for byte.",
		agent:   "The user's agreement was used for this call in another spelling: call without confirm to be asked again. Or the client used an Idempotency-Key twice.",
		sample:  "this Idempotency-Key is that of another request of this operation, with another id in the path, query string or body: use a new key for each request",
	},
	fault.CursorTooOld: {
		status:  http.StatusGone,
		meaning: "the feed of changes does not have everything since then anymore: take a new cursor with `{}`, then read all records again",
		advice:  "Take a new cursor with `{}`, then read everything again.",
		agent:   "Call without cursor and since for a new cursor, and read the records again.",
		sample:  "the feed of changes does not have everything since then anymore: ask for changes with {} to get a new cursor, then read all records again",
	},
	fault.PayloadTooLarge: {status: http.StatusRequestEntityTooLarge, meaning: fmt.Sprintf("a body of over %d bytes", MaxBody),
		advice: "Send less at once: split a batch.",
		agent:  "Send fewer items.",
		sample: fmt.Sprintf(TooLargeText, MaxBody)},
	fault.URITooLong: {
		status:  http.StatusRequestURITooLong,
		meaning: fmt.Sprintf("a path of over %d bytes or %d segments", MaxPath, MaxSegments),
		advice:  "Look at how the address is put together. What is searched for belongs in the query string or the body.",
		sample:  fmt.Sprintf(pathTooLongText, MaxPath, MaxSegments),
	},
	fault.UnsupportedMediaType: {status: http.StatusUnsupportedMediaType, meaning: "a body that is not `application/json`",
		advice: "Send `Content-Type: application/json`, in UTF-8, not compressed.",
		sample: "send the body with Content-Type: application/json, not \"text/plain\""},
	fault.RateLimited: {status: http.StatusTooManyRequests, meaning: "the credit ceiling is used up", retry: true,
		advice: "Wait until credits return, each 24 hours after it was spent: `X-Credits-Next-At` says when the first do.",
		agent:  "The credits of the workspace are used up for now. Stop, and tell the user. Nothing was charged.",
		sample: "the credits of the workspace are used up: 1000 of 1000 in 24 hours"},
	fault.KeyBudgetUsed: {status: http.StatusTooManyRequests, meaning: "the API key has used its budget of credits", retry: true,
		advice: "Wait until its credits return, each 24 hours after it was spent, or ask an operator for a higher `--daily-credits`.",
		agent:  "The credits of this key are used up for now. Stop, and tell the user. Nothing was charged.",
		sample: "the API key has used its budget of 1000 credits in 24 hours"},
	fault.TooManyRequests: {
		status:  http.StatusTooManyRequests,
		meaning: "the caller uses operations that cost nothing too often, or the API key sends more requests a second than it may; of what needs no key: an address, or all together, send too many",
		retry:   true,
		advice:  "Wait as long as `Retry-After` says, then go on more slowly.",
		agent:   "Wait as long as Retry-After says, and call again.",
		sample:  "too many requests that cost no credits: at most 20 a second, and 100 at once",
	},
	fault.Internal: {status: http.StatusInternalServerError, meaning: "a mistake of ours; the request id helps to find it",
		advice: "Report it with the `X-Request-Id` of the answer. Trying again seldom helps.",
		agent:  "This is a mistake of the service. Call again once; then tell the user the request id.",
		sample: InternalText},
	fault.Unavailable: {
		status:  http.StatusServiceUnavailable,
		meaning: "a backend is away or too slow, or too much is asked at once: try again",
		item:    "the service could not go on when other items were done; the first such item is done wholly or not at all, the ones after it were not tried",
		retry:   true,
		advice:  "Try again after the seconds of `Retry-After`. The clients do so by themselves.",
		agent:   "The service is busy or a part of it is away. Nothing was charged. Wait a few seconds, and call again.",
		sample:  "the service cannot answer right now; try again shortly",
	},
	fault.RecordNotFound: {status: itemOnly, meaning: "the dataset has no such record",
		advice: "Leave the item out, or correct its id.",
		sample: "no account has this id"},
	fault.RecordNotVisible: {status: itemOnly, meaning: "a contact that the workspace does not see",
		advice: "Put the contact into the book first: then the workspace sees it.",
		sample: "the workspace does not see this contact"},
	fault.ViewFull: {status: itemOnly, meaning: "the View holds as many records as it can",
		advice: "Remove records, or begin another Static View.",
		sample: fmt.Sprintf("a Static View holds at most %d records", views.MaxMembers)},
}

// AgentAdvice is the advice for agents, by code.
func AgentAdvice() map[string]string {
	advice := map[string]string{}
	for code, row := range errorTable {
		advice[string(code)] = row.agent
	}
	return advice
}

// errorBody is the body of an answer with an error.
type errorBody struct {
	// Success is only in validation errors, where it is false.
	Success *bool        `json:"success,omitzero"`
	Error   errorDetails `json:"error"`
}

type errorDetails struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	DocURL  string     `json:"doc_url"`
	// Name and Issues are those of validation errors.
	Name   string        `json:"name,omitzero"`
	Issues []fault.Issue `json:"issues,omitzero"`
	// MergedInto is the id of the record that the missing one was merged into.
	MergedInto string `json:"merged_into,omitzero"`
	// Current is the workspace's data on a record that is not as expected.
	Current jsontext.Value `json:"current,omitzero"`
}

// validationName is the name of errors with issues.
const validationName = "ValidationError"

// bodyOf is the body of the answer to an error.
func (a addresses) bodyOf(e *fault.Error, docURL string) errorBody {
	f := errorBody{Error: errorDetails{
		Code: e.Code, Message: a.in(e.Message), DocURL: docURL, MergedInto: e.MergedInto, Current: e.Current,
	}}
	if e.Code == fault.InvalidInput {
		f.Success, f.Error.Name, f.Error.Issues = new(bool), validationName, a.inIssues(e.Issues)
	}
	return f
}

// docURL is where a code is explained: a path, or a full address if the service knows its
// own.
func (s *Core) docURL(code fault.Code) string { return s.PublicURL + ErrorsPath + "#" + string(code) }

var issueSchema = schema.Named("Issue", schema.Object(
	schema.Required("code", schema.OneOf(
		fault.InvalidType, fault.InvalidFormat, fault.InvalidUnion, fault.UnrecognizedKeys, fault.TooSmall, fault.TooBig, fault.Custom)),
	schema.Required("path", schema.Array(&schema.Schema{Type: "string"}, 0, 0).
		Described("Leads to the value; array positions are strings.").Example([]any{"filters", "stage", "value", "0"})),
	schema.Required(
		"message",
		schema.String("must be one of: pre_filing, filed, under_review, approved, permitted, under_construction, completed"),
	),
	schema.Optional("keys", schema.Array(&schema.Schema{Type: "string"}, 0, 0).
		Described("With `unrecognized_keys`: the keys that mean nothing there.").Example([]any{})),
))

// errorCodes are the codes of errorTable for which selects returns true, in order.
func errorCodes(selects func(fault.Code, errorRow) bool) *schema.Schema {
	var codes []fault.Code
	for code, row := range errorTable {
		if selects(code, row) {
			codes = append(codes, code)
		}
	}
	return schema.OneOf(slices.Sorted(slices.Values(codes))...)
}

var messageSchema = schema.String("What is wrong, in a sentence.")

var mergedIntoSchema = schema.UUID().Described("The record that this one became, if it is not found because it became another.")

// currentSchema is the schema of Current of fault.Error.
var currentSchema = func() *schema.Schema {
	var members []schema.Property
	for _, f := range catalog.OverlayFields(catalog.Accounts) { // which all datasets have
		if f.Written || f.Name == "updated_at" || f.Name == "updated_by" {
			members = append(members, schema.Optional(f.Name, f.Schema()))
		}
	}
	return schema.Named("CurrentValues", schema.Nullable(schema.Object(members...)).Described(
		"With `revision_conflict` of the book: what the workspace says of the record now, when it was changed and by which user. "+
			"Null if it is not in the book. `icp_tier` is there for accounts."))
}()

var docURLSchema = schema.String(ErrorsPath + "#not_found").
	Described("Where the code is explained: a path of this service, or an address if the service knows its own.")

// anyError is errorBody in one form for code generators: validation errors have more members.
var anyError = func() *schema.Schema {
	detail := schema.Object(
		schema.Required("code", schema.Named("ErrorCode", errorCodes(func(code fault.Code, row errorRow) bool {
			return code != fault.MethodNotAllowed && code != fault.URITooLong && row.status != itemOnly
		}))),
		schema.Required("message", messageSchema),
		schema.Required("doc_url", docURLSchema),
		schema.Optional("merged_into", mergedIntoSchema),
		schema.Optional("current", currentSchema),
		schema.Optional("name", schema.Const(validationName).Described("Only with `invalid_input`.")),
		schema.Optional(
			"issues",
			schema.Array(issueSchema, 1, fault.MaxIssues).Described("All problems of the request's shape; only with `invalid_input`."),
		),
	)
	return schema.Named("Error", schema.Object(
		schema.Optional("success", schema.Only(false).Described("Only with `invalid_input`: always `false`.")),
		schema.Required("error", schema.Named("ErrorDetail", detail)),
	).When(
		schema.Is("code", string(fault.InvalidInput)).At("error"),
		schema.Requires("success").And(schema.Requires("name", "issues").At("error")), schema.Never().At("success"),
	).
		Titled("ErrorResponse").
		Described("`code` and `message`; if the request's shape is wrong, also `name` and `issues`, and `success`."))
}()

// errorSchema is the schema of errors with one of the codes.
func errorSchema(codes []fault.Code) *schema.Schema {
	return anyError.Narrowed((&schema.Schema{Enum: schema.OneOf(codes...).Enum}).At("code").At("error"))
}

// InternalText is the message of internal errors.
const InternalText = "something went wrong on our side; the request id helps us to find it"

// FaultOf returns the first fault in err's chain. Any other error is internal.
func FaultOf(err error) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return fault.Wrap(err, fault.Internal, InternalText)
}

// StatusOf is the HTTP status of a code.
func StatusOf(code fault.Code) int {
	return cmp.Or(errorTable[code].status, http.StatusInternalServerError)
}

// Fail answers an error with the status and shape of its code, and logs server
// errors.
func (c *Call) Fail(err error) {
	if c.server.Fails != nil && c.server.Fails(c, err) {
		return
	}
	e := FaultOf(err)
	status := StatusOf(e.Code)
	c.Code = e.Code
	if status >= http.StatusInternalServerError {
		c.LogFailure(e, err)
	}
	if e.RetryAfter > 0 {
		c.Gin.Header("Retry-After", strconv.Itoa(int(math.Ceil(float64(e.RetryAfter)/float64(time.Second)))))
	}
	if status == http.StatusInternalServerError {
		e = fault.New(e.Code, InternalText)
	}
	c.JSON(status, c.server.addresses.bodyOf(e, c.server.docURL(e.Code)))
}

// LogFailure logs a server error; e is the fault in err.
func (c *Call) LogFailure(e *fault.Error, err error) {
	level := slog.LevelError
	_, shed := errors.AsType[fault.Shed](err)
	switch {
	case c.Left() && (e.Code == fault.Unavailable || errors.Is(err, context.Canceled)):
		c.abandoned, level = true, slog.LevelInfo // the disconnect cancelled work in progress
	case shed:
		level = slog.LevelDebug // a metric counts these; a line for each would add to the load
	}
	c.Log().LogAttrs(c.Context(), level, "request failed",
		slog.String("error", strings.Replace(err.Error(), e.Error(), e.Reason(), 1)),
		slog.String("code", string(e.Code)), slog.String("message", e.Message))
}
