package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"atlas/internal/fault"
)

// statuses is the one table from codes to HTTP (docs/api.md, "Errors"). Codes
// that only items of a batch have are not in it.
var statuses = map[fault.Code]int{
	fault.BadRequest:            http.StatusBadRequest,
	fault.InvalidInput:          http.StatusBadRequest,
	fault.UserIdentityRequired:  http.StatusBadRequest,
	fault.CannotSelfRemove:      http.StatusBadRequest,
	fault.ViewTypeMismatch:      http.StatusBadRequest,
	fault.ViewImmutableField:    http.StatusBadRequest,
	fault.InvalidViewDefinition: http.StatusBadRequest,
	fault.Unauthorized:          http.StatusUnauthorized,
	fault.Forbidden:             http.StatusForbidden,
	fault.NotFound:              http.StatusNotFound,
	fault.ViewNotFound:          http.StatusNotFound,
	fault.SkillNotFound:         http.StatusNotFound,
	fault.MethodNotAllowed:      http.StatusMethodNotAllowed,
	fault.AmbiguousMatch:        http.StatusConflict,
	fault.LastOwner:             http.StatusConflict,
	fault.AlreadyMember:         http.StatusConflict,
	fault.AlreadyInvited:        http.StatusConflict,
	fault.ViewNameConflict:      http.StatusConflict,
	fault.RevisionConflict:      http.StatusConflict,
	fault.SkillConflict:         http.StatusConflict,
	fault.PayloadTooLarge:       http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType:  http.StatusUnsupportedMediaType,
	fault.RateLimited:           http.StatusTooManyRequests,
	fault.Internal:              http.StatusInternalServerError,
	fault.Unavailable:           http.StatusServiceUnavailable,
}

// handlerError is the shape of all errors but validation's.
type handlerError struct {
	Error codeMessage `json:"error"`
}

type codeMessage struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
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

// internalText is the message of mistakes of ours.
const internalText = "something went wrong on our side; the request id helps us to find it"

// faultOf is the fault that an error is. What is none is a mistake of the
// program.
func faultOf(err error) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return fault.Wrap(err, fault.Internal, internalText)
}

// fail answers an error: its code's status and shape, and the log line where
// the fault is ours.
func (c *call) fail(err error) {
	e := faultOf(err)
	status := cmp.Or(statuses[e.Code], http.StatusInternalServerError)
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
	c.json(status, handlerError{codeMessage{e.Code, message}})
}

// logFailure logs an error that is ours, e of err.
func (c *call) logFailure(e *fault.Error, err error) {
	level := slog.LevelError
	_, shed := errors.AsType[fault.Shed](err)
	switch {
	case c.left() && (e.Code == fault.Unavailable || errors.Is(err, context.Canceled)):
		c.abandoned, level = true, slog.LevelInfo // which ended what was under way
	case shed:
		level = slog.LevelDebug // counted as such; a line each would add to the load
	}
	c.log().LogAttrs(c.Context(), level, "request failed", slog.String("error", err.Error()))
}
