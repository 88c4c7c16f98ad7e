package api

import (
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
)

// visitors is the limiter key that all requests about sessions and all attempts to sign in
// share: anyone can send them.
type visitors struct{}

// maxVisitBody is the maximum length of the body of a visit, in bytes.
const maxVisitBody = 4 << 10

// visit runs a request of a visitor when there is room for it, else fail.
func (s *Server) visit(run func(ctx *gin.Context) error, fail func(ctx *gin.Context, err error)) gin.HandlerFunc {
	return func(ctx *gin.Context) {
		c := callOf(ctx)
		defer c.enter()()
		err := c.admitVisit()
		if err == nil {
			err = run(ctx)
		}
		if err != nil {
			fail(ctx, err)
		}
	}
}

// admitVisit passes the second and the third phase; in the first there is nothing to check.
func (c *call) admitVisit() (err error) {
	if !c.acquireVisit(&c.server.load.receiving, c.server.maxReceiving()) {
		return c.busy()
	}
	if r := c.gin.Request; r.Method == http.MethodPost {
		if c.rawBody, err = io.ReadAll(http.MaxBytesReader(c.gin.Writer, r.Body, maxVisitBody)); err != nil {
			return fault.New(fault.PayloadTooLarge, "the body of a sign-in has at most %d bytes", maxVisitBody)
		}
	}
	if !c.acquireVisit(&c.server.load.working, int64(c.server.MaxRequests)) {
		return c.busy()
	}
	return nil
}

// readVisit reads the body of a visit.
func readVisit[T any](ctx *gin.Context, by rule.Rule[T]) (in T, err error) {
	body, issues := input.Decode(callOf(ctx).rawBody)
	if err := input.Issues(issues).Err(); err != nil {
		return in, err
	}
	return by.Parse(body)
}

// acquireVisit moves the request to a phase. All visitors may have an eighth of its limit.
func (c *call) acquireVisit(to *limiter, all int64) bool {
	before := c.phase
	c.phase = nil
	defer before.release()
	return c.phase.acquire(to, 1, quota{everyone{}, all}, quota{visitors{}, max(all/8, 1)})
}
