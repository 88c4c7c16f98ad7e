package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code is the machine-readable reason of an error. It is an error itself, for
// comparison:
//
//	if errors.Is(err, client.ErrViewNotFound) { … }
//
// Unknown codes compare too: errors.Is(err, client.Code("new_one")).
type Code string

func (c Code) Error() string { return string(c) }

// The codes of docs/api.md, "Errors".
const (
	ErrBadRequest            Code = "bad_request"
	ErrInvalidInput          Code = "invalid_input" // validation: see Error.Issues
	ErrUnauthorized          Code = "unauthorized"
	ErrForbidden             Code = "forbidden"
	ErrNotFound              Code = "not_found"
	ErrCursorTooOld          Code = "cursor_too_old"
	ErrMethodNotAllowed      Code = "method_not_allowed"
	ErrPayloadTooLarge       Code = "payload_too_large"
	ErrURITooLong            Code = "uri_too_long"
	ErrUnsupportedMediaType  Code = "unsupported_media_type"
	ErrRateLimited           Code = "rate_limited"    // see OutOfCreditsError
	ErrKeyBudgetUsed         Code = "key_budget_used" // see Error.RetryAfter
	ErrTooManyRequests       Code = "too_many_requests"
	ErrUnavailable           Code = "unavailable"
	ErrInternal              Code = "internal"
	ErrUserIdentityRequired  Code = "user_identity_required"
	ErrCannotSelfRemove      Code = "cannot_self_remove"
	ErrLastOwner             Code = "last_owner"
	ErrProviderRequired      Code = "provider_required"
	ErrAlreadyMember         Code = "already_member"
	ErrAlreadyInvited        Code = "already_invited"
	ErrAmbiguousMatch        Code = "ambiguous_match"
	ErrViewNotFound          Code = "view_not_found"
	ErrViewTypeMismatch      Code = "view_type_mismatch"
	ErrViewNameConflict      Code = "view_name_conflict"
	ErrViewImmutableField    Code = "view_immutable_field"
	ErrInvalidViewDefinition Code = "invalid_view_definition"
	ErrRevisionConflict      Code = "revision_conflict"
	ErrSkillNotFound         Code = "skill_not_found"
	ErrSkillConflict         Code = "skill_conflict"
	ErrLimitReached          Code = "limit_reached" // the message says which limit
	ErrWebhookDisabled       Code = "webhook_disabled"
	ErrAPIKeyActive          Code = "api_key_active"
	ErrIdempotencyConflict   Code = "idempotency_conflict"
	ErrIdempotencyInProgress Code = "idempotency_in_progress"
	ErrRecordNotFound        Code = "record_not_found"   // of an item of a batch
	ErrRecordNotVisible      Code = "record_not_visible" // of an item of a batch
	ErrViewFull              Code = "view_full"          // of an item of a batch
)

// Issue is one problem of a request, with the path to the value.
type Issue struct {
	Code    string   `json:"code"`
	Path    []string `json:"path"`
	Message string   `json:"message"`
	Keys    []string `json:"keys"`
}

// Error is an error response of the service, or the error of an item of a
// batch. Other errors are failures of the connection.
type Error struct {
	// Method and Path of the request, and Status of the response. All are empty
	// in an item of a batch.
	Method, Path string
	Status       int
	// Code is empty when the response is not the service's, for instance a
	// proxy's.
	Code    Code
	Message string
	// DocURL is where the code is explained: a path of the service, or an address.
	DocURL string
	// Issues are the problems of an invalid request. Message has the first.
	Issues []Issue
	// RequestID identifies the request in the logs of the service.
	RequestID string
	// RetryAfter is the wait that the service requests; 0: none.
	RetryAfter time.Duration
	// MergedInto is the id of the record into which the missing record was merged; "" if it
	// was not.
	MergedInto string
	// Current is the present overlay of a record of the book that is not as expected
	// (ErrRevisionConflict); nil if it is not in the book.
	Current *Annotations
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("atlas: ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "%s %s: %d", e.Method, e.Path, e.Status)
		if e.Code != "" {
			b.WriteByte(' ')
		}
	}
	b.WriteString(string(e.Code))
	if e.Message != "" && len(e.Issues) == 0 {
		b.WriteString(": " + e.Message)
	}
	separator := ": "
	for _, issue := range e.Issues {
		at := strings.Join(issue.Path, ".")
		if at == "" {
			at = "the body"
		}
		b.WriteString(separator + at + " " + issue.Message)
		separator = "; "
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Is compares the code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code != "" && code == e.Code
}

// OutOfCreditsError reports that the credit ceiling is reached. It is also an
// *Error, for errors.As, and ErrRateLimited, for errors.Is.
type OutOfCreditsError struct {
	Err *Error
	// Window is the state of the credits. Its Ceiling is 0 for operations that
	// are not metered.
	Window Window
	// NextAt is when the first credits return; zero if the service did not say.
	NextAt time.Time
	// Back is when all credits have returned at the latest. Each returns 24
	// hours after it was spent.
	Back time.Time
}

func (e *OutOfCreditsError) Error() string {
	s := e.Err.Error()
	if e.Window.Ceiling > 0 {
		s += fmt.Sprintf(" (%d of %d credits are used)", e.Window.Used, e.Window.Ceiling)
	}
	if !e.Back.IsZero() {
		s += fmt.Sprintf("; all are back by %s", e.Back.UTC().Format(time.RFC3339))
	}
	return s
}

// Unwrap returns the *Error.
func (e *OutOfCreditsError) Unwrap() error { return e.Err }

// errorOf decodes a response without success.
func errorOf(r request, res *http.Response, body []byte) error {
	e := &Error{
		Method: r.method, Path: r.path, Status: res.StatusCode, RequestID: res.Header.Get("X-Request-Id"),
		RetryAfter: retryAfter(res.Header),
	}
	var shape struct {
		Error *struct {
			Code       Code
			Message    string
			DocURL     string `json:"doc_url"`
			Issues     []Issue
			MergedInto string `json:"merged_into"`
			Current    *Annotations
		}
	}
	switch err := json.Unmarshal(body, &shape); {
	case err != nil || shape.Error == nil:
		e.Message = http.StatusText(res.StatusCode)
	default:
		given := shape.Error
		e.Code, e.Message, e.DocURL, e.Issues = given.Code, given.Message, given.DocURL, given.Issues
		e.MergedInto, e.Current = given.MergedInto, given.Current
		if e.Code == "" && e.Issues != nil { // a service from before validation errors had codes
			e.Code, e.Message = ErrInvalidInput, "the request is not valid"
		}
	}
	if e.Code != ErrRateLimited {
		return e
	}
	out := &OutOfCreditsError{Err: e, Window: windowOf(res.Header)}
	if e.RetryAfter > 0 {
		out.Back = time.Now().Add(e.RetryAfter)
	}
	if at, err := time.Parse(time.RFC3339, res.Header.Get("X-Credits-Next-At")); err == nil {
		out.NextAt = at
	}
	return out
}

// retryAfter parses the header: seconds or a date.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
