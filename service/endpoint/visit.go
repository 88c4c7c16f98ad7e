package endpoint

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
)

// maxVisitBody is the maximum length of the body of a visit, in bytes.
const maxVisitBody = 4 << 10

// Visit is a row of a request that uses backends.
func Visit(row Stranger, run func(ctx *gin.Context) error, fail func(ctx *gin.Context, err error)) Stranger {
	row.works, row.fail = true, fail
	row.Handle = func(ctx *gin.Context) {
		if err := run(ctx); err != nil {
			fail(ctx, err)
		}
	}
	return row
}

// ReceiveVisit receives the body, within the time limit of lookAt.
func (c *Call) ReceiveVisit() error {
	r := c.Gin.Request
	tooLarge := fault.New(fault.PayloadTooLarge, "the body of this request has at most %d bytes", maxVisitBody)
	if r.ContentLength > maxVisitBody {
		return tooLarge
	}
	var err error
	c.RawBody, err = io.ReadAll(http.MaxBytesReader(c.Gin.Writer, r.Body, maxVisitBody))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return tooLarge
	case err != nil:
		return fault.Validation(fault.Issue{Code: fault.Custom, Message: "the body did not arrive to its end in time"})
	}
	// Otherwise the time limit of the body would end the request.
	_ = http.NewResponseController(c.Gin.Writer).SetReadDeadline(time.Time{})
	return nil
}

// TakesVisit receives the body, and checks it by the rule.
func TakesVisit[T any](by rule.Rule[T]) func(c *Call) error {
	return func(c *Call) error {
		if err := c.ReceiveVisit(); err != nil {
			return err
		}
		_, err := ReadVisit(c.Gin, by)
		return err
	}
}

// ReadVisit reads the body of a visit.
func ReadVisit[T any](ctx *gin.Context, by rule.Rule[T]) (in T, err error) {
	body, issues := input.Decode(CallOf(ctx).RawBody)
	if err := input.Issues(issues).Err(); err != nil {
		return in, err
	}
	return by.Parse(body)
}
