// Package fault has the one error type that crosses package borders: a code that a
// client can branch on, a sentence that a client can act on, and the cause, which
// only the log shows. Stores and backend clients convert driver errors to it; only
// service/endpoint converts its codes to HTTP statuses (docs/api.md, "Errors").
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is the machine-readable reason of an error, as answered in
// `error.code`.
type Code string

// The codes of docs/api.md, "Errors". Each has a row in the errorTable of
// service/endpoint and a constant in package client.
const (
	BadRequest            Code = "bad_request"
	InvalidInput          Code = "invalid_input" // answered in the validation shape
	Unauthorized          Code = "unauthorized"
	Forbidden             Code = "forbidden"
	NotFound              Code = "not_found"
	CursorTooOld          Code = "cursor_too_old"
	MethodNotAllowed      Code = "method_not_allowed"
	PayloadTooLarge       Code = "payload_too_large"
	URITooLong            Code = "uri_too_long"
	UnsupportedMediaType  Code = "unsupported_media_type"
	RateLimited           Code = "rate_limited"
	KeyBudgetUsed         Code = "key_budget_used"
	TooManyRequests       Code = "too_many_requests"
	Unavailable           Code = "unavailable"
	Internal              Code = "internal"
	UserIdentityRequired  Code = "user_identity_required"
	CannotSelfRemove      Code = "cannot_self_remove"
	LastOwner             Code = "last_owner"
	ProviderRequired      Code = "provider_required"
	AlreadyMember         Code = "already_member"
	AlreadyInvited        Code = "already_invited"
	AmbiguousMatch        Code = "ambiguous_match"
	ViewNotFound          Code = "view_not_found"
	ViewTypeMismatch      Code = "view_type_mismatch"
	ViewNameConflict      Code = "view_name_conflict"
	ViewImmutableField    Code = "view_immutable_field"
	InvalidViewDefinition Code = "invalid_view_definition"
	RevisionConflict      Code = "revision_conflict"
	SkillNotFound         Code = "skill_not_found"
	SkillConflict         Code = "skill_conflict"
	LimitReached          Code = "limit_reached"
	WebhookDisabled       Code = "webhook_disabled"
	APIKeyActive          Code = "api_key_active"
	IdempotencyConflict   Code = "idempotency_conflict"
	IdempotencyInProgress Code = "idempotency_in_progress"
	RecordNotFound        Code = "record_not_found"
	RecordNotVisible      Code = "record_not_visible"
	ViewFull              Code = "view_full"
)

// IssueCode is the kind of one validation problem.
type IssueCode string

// The issue codes of docs/api.md, "Validation errors".
const (
	InvalidType      IssueCode = "invalid_type"
	InvalidFormat    IssueCode = "invalid_format"
	InvalidUnion     IssueCode = "invalid_union"
	UnrecognizedKeys IssueCode = "unrecognized_keys"
	TooSmall         IssueCode = "too_small"
	TooBig           IssueCode = "too_big"
	Custom           IssueCode = "custom"
)

// MaxIssues is how many issues one validation error lists; further ones are
// dropped, so that a hostile body cannot make a huge answer.
const MaxIssues = 50

// Issue is one problem of a request, with the path to the value it is about:
// object keys and array positions, all as strings.
type Issue struct {
	Code    IssueCode `json:"code"`
	Path    []string  `json:"path"`
	Message string    `json:"message"`
	Keys    []string  `json:"keys,omitempty"`
}

// Error is an error with a code. Message is for the client and never carries
// a backend's text; the cause is for the log.
type Error struct {
	Code    Code
	Message string
	// Issues lists the problems of an InvalidInput error.
	Issues []Issue
	// RetryAfter is the time after which a retry makes sense; zero means unknown.
	RetryAfter time.Duration
	// MergedInto is the id of the record into which the missing record was merged; "" if it
	// was not.
	MergedInto string
	// Current, of a RevisionConflict of the book, is the present overlay of the record, as
	// JSON: null if it is not in the book. Nil: it is not known.
	Current []byte
	cause   error
}

// New returns an error with a code and a message for the client.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is New with a cause, which is visible to errors.Is and errors.As but not to clients.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Validation returns an InvalidInput error with at most MaxIssues issues.
func Validation(issues ...Issue) *Error {
	if len(issues) > MaxIssues {
		issues = issues[:MaxIssues]
	}
	for i := range issues {
		if issues[i].Path == nil {
			issues[i].Path = []string{}
		}
	}
	return &Error{Code: InvalidInput, Message: summary(issues), Issues: issues}
}

// Because is the error with a cause.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// maxSummary is how long a summary of several issues may be, in bytes.
const maxSummary = 400

// summary has the first issues, and says how many more there are. Unknown names come first:
// a missing member is often there under another name.
func summary(issues []Issue) string {
	if len(issues) == 0 {
		return "the request is not valid"
	}
	unknown, others := []Issue{}, []Issue{}
	for _, issue := range issues {
		if issue.Code == UnrecognizedKeys {
			unknown = append(unknown, issue)
		} else {
			others = append(others, issue)
		}
	}
	text := ""
	for i, issue := range append(unknown, others...) {
		this := issue.Message
		if at := strings.Join(issue.Path, "."); at != "" {
			this = fmt.Sprintf("%.100s: %s", at, this)
		}
		switch more := len(issues) - i; {
		case i == 0:
			text = this
		case len(text)+len(this) <= maxSummary:
			text += "; " + this
		case more == 1:
			return text + " (and 1 more problem)"
		default:
			return text + fmt.Sprintf(" (and %d more problems)", more)
		}
	}
	return text
}

// BackendUnavailable returns an Unavailable error for a backend that is down or
// too slow. Its Retry-After is one second.
func BackendUnavailable(cause error, backend string) *Error {
	e := Wrap(cause, Unavailable, "the service cannot answer right now; try again shortly")
	e.RetryAfter = time.Second
	if cause == nil {
		e.cause = errors.New(backend + " is away")
	} else {
		e.cause = fmt.Errorf("%s: %w", backend, cause)
	}
	return e
}

// KeyConflict is the error of a request whose Idempotency-Key is that of another request.
func KeyConflict() *Error {
	return New(IdempotencyConflict, "this Idempotency-Key is that of another request of this operation, with another id in the path, query string or body: use a new key for each request")
}

// KeyInProgress is the error of a repetition while the first request is still running.
func KeyInProgress(retryAfter time.Duration) *Error {
	e := New(IdempotencyInProgress, "the first request with this Idempotency-Key is still running: repeat it shortly")
	e.RetryAfter = retryAfter
	return e
}

// Shed is the cause of an error of a request that was refused at once because of a limit on
// concurrent work. Each is counted where it is refused; none is a defect.
type Shed string

func (s Shed) Error() string { return string(s) }

// Error is the code and the cause, then the sentence for the client.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Reason()
	if e.cause != nil {
		s += " (" + e.Message + ")"
	}
	return s
}

// Reason is what the log shows first: the cause, or the sentence for the client if there is
// none.
func (e *Error) Reason() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of the first *Error in err's chain, Internal for any
// other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
