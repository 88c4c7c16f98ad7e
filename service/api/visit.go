package api

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

// visit is a row of a request that uses backends.
func visit(row stranger, run func(ctx *gin.Context) error, fail func(ctx *gin.Context, err error)) stranger {
	row.works, row.fail = true, fail
	row.handle = func(ctx *gin.Context) {
		if err := run(ctx); err != nil {
			fail(ctx, err)
		}
	}
	return row
}

// receiveVisit receives the body. Its time is that of lookAt.
func (c *call) receiveVisit() error {
	r := c.gin.Request
	tooLarge := fault.New(fault.PayloadTooLarge, "the body of this request has at most %d bytes", maxVisitBody)
	if r.ContentLength > maxVisitBody {
		return tooLarge
	}
	var err error
	c.rawBody, err = io.ReadAll(http.MaxBytesReader(c.gin.Writer, r.Body, maxVisitBody))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return tooLarge
	case err != nil:
		return fault.Validation(fault.Issue{Code: fault.Custom, Message: "the body did not arrive to its end in time"})
	}
	// Else the request would end with the time of its body.
	_ = http.NewResponseController(c.gin.Writer).SetReadDeadline(time.Time{})
	return nil
}

// takesVisit receives the body, and checks that the rule takes it.
func takesVisit[T any](by rule.Rule[T]) func(c *call) error {
	return func(c *call) error {
		if err := c.receiveVisit(); err != nil {
			return err
		}
		_, err := readVisit(c.gin, by)
		return err
	}
}

// readVisit reads the body of a visit.
func readVisit[T any](ctx *gin.Context, by rule.Rule[T]) (in T, err error) {
	body, issues := input.Decode(callOf(ctx).rawBody)
	if err := input.Issues(issues).Err(); err != nil {
		return in, err
	}
	return by.Parse(body)
}
