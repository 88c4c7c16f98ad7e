package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"atlas/internal/fault"
	"atlas/service/ratelimit"
)

// Rows for addresses of no row.
var (
	explorerRow  = Stranger{Operation: opExplorer, Class: ClassDocuments}
	preflightRow = Stranger{Operation: opNone, Class: ClassDocuments}
	unknownRow   = Stranger{Operation: opNone, Class: classUnknown}
)

func rowKey(method, path string) string { return method + " " + path }

// mountStrangers adds the rows to the router.
func (s *Core) mountStrangers(g *gin.Engine, methods map[string][]string, rows []Stranger) {
	s.strangers.rows = map[string]*Stranger{}
	s.strangers.byAddress = ratelimit.NewBuckets[clientOfClass](MaxAddresses)
	for class, l := range limitsOf {
		s.strangers.sums[class] = rate.NewLimiter(rate.Limit(l.sum.PerSecond), l.sum.Burst)
	}
	for _, row := range rows {
		key, l := rowKey(row.Method, row.Path), limitsOf[row.Class]
		if s.strangers.keyed[key] || row.Operation == "" || row.Cost > l.address.Burst || row.Cost > l.sum.Burst {
			panic("the address " + key + " is in both tables, has no name, or costs more than its class may have")
		}
		s.strangers.rows[key] = &row
		if row.Below {
			continue
		}
		methods[row.Path] = append(methods[row.Path], row.Method)
		g.Handle(row.Method, row.Path, func(ctx *gin.Context) { CallOf(ctx).stranger.Handle(ctx) })
	}
}

// guard runs before every request, and applies the limits of their row to those without a
// key.
func (s *Core) guard(ctx *gin.Context) {
	c := CallOf(ctx)
	c.Client = s.clientOf(ctx.Request)
	row := s.rowOf(ctx)
	if row == nil {
		return
	}
	defer func() { c.phase.release() }()
	if row == &explorerRow {
		if !c.admitStranger(row) || s.servePage(ctx) {
			ctx.Abort()
			return
		}
		c.phase.release()
		row = &unknownRow // there is no such page
	}
	if !c.admitStranger(row) {
		ctx.Abort()
		return
	}
	if row.works {
		defer c.Enter()()
	}
	ctx.Next()
}

// rowOf is the row of a request, nil if it needs a key.
func (s *Core) rowOf(ctx *gin.Context) *Stranger {
	method, path := ctx.Request.Method, ctx.FullPath()
	switch key := rowKey(method, path); {
	case path != "" && s.strangers.keyed[key]:
		return nil
	case path != "" && s.strangers.rows[key] != nil:
		if below := s.strangers.rows[rowKey(method, ctx.Request.URL.Path)]; below != nil && below.Below {
			return below
		}
		return s.strangers.rows[key]
	case path == "" && s.mayBePage(ctx.Request):
		return &explorerRow
	case method == http.MethodOptions && len(s.Origins) > 0 && ctx.GetHeader("Access-Control-Request-Method") != "":
		return &preflightRow
	}
	return &unknownRow
}

// admitStranger gives a request without a key a place of its class, or answers it.
func (c *Call) admitStranger(row *Stranger) (admitted bool) {
	c.stranger = row
	problem := c.lookAt(row)
	err := c.takePace(row)
	// A body that did not arrive ended the context, and with it the wait for tokens.
	if err == nil || problem != nil && c.Context().Err() != nil {
		err = problem
	}
	if err == nil {
		err = c.takePlace(row)
	}
	switch {
	case err == nil:
		return true
	case row.fail != nil:
		row.fail(c.Gin, err)
	default:
		c.Fail(err)
	}
	return false
}

// lookAt examines a request. Until its body has arrived it costs no more than its connection,
// and holds no place.
func (c *Call) lookAt(row *Stranger) error {
	if c.Gin.Request.ContentLength != 0 {
		// Also for a body that nobody reads: net/http reads it before the next request.
		_ = http.NewResponseController(c.Gin.Writer).SetReadDeadline(time.Now().Add(strangerBody))
	}
	if row.Look == nil {
		return nil
	}
	return row.Look(c)
}

// limitsFor are the limits of a row for the client of the request.
func (c *Call) limitsFor(row *Stranger) (class, classLimits) {
	of := row.Class
	if of == classProbes && c.Client.near {
		of = classBalancers
	}
	return of, limitsOf[of]
}

// takePace waits for the tokens of a request: first of its client, then of its class.
func (c *Call) takePace(row *Stranger) error {
	s := &c.server.strangers
	if c.server.Unpaced {
		return nil
	}
	of, limits := c.limitsFor(row)
	cost := max(row.Cost, 1)
	if row.Weigh != nil {
		cost = row.Weigh(c)
	}
	if c.Client.Network.IsValid() && limits.address.PerSecond > 0 {
		bucket := s.byAddress.Of(clientOfClass{of, c.Client.Network}, limits.address.PerSecond, limits.address.Burst)
		if !waitFor(c.Context(), bucket, cost) {
			return c.TooMany(
				"too many %s from your address: at most %d a second, and %d at once", limits.of,
				limits.address.PerSecond/cost, limits.address.Burst/cost,
			)
		}
	}
	if !waitFor(c.Context(), s.sums[of], cost) {
		c.server.Meter.RequestShed()
		return c.TooMany("too many %s from everywhere: try again shortly", limits.of)
	}
	return nil
}

// waitFor takes tokens that are available within patience. Otherwise it returns false after
// that time.
func waitFor(ctx context.Context, bucket *rate.Limiter, tokens int) bool {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if bucket.WaitN(bounded, tokens) == nil {
		return true
	}
	<-bounded.Done()
	return false
}

// takePlace takes a place of the class, until the answer is sent.
func (c *Call) takePlace(row *Stranger) error {
	of, limits := c.limitsFor(row)
	quotas := []quota{{everyone{}, limits.places}}
	if c.Client.Network.IsValid() {
		quotas = append(quotas, quota{c.Client.Network, limits.ofAddress})
	}
	if c.phase.acquire(&c.server.strangers.places[of], 1, quotas...) {
		return nil
	}
	c.server.Meter.RequestShed()
	timer := time.NewTimer(patience) // as for tokens
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.Context().Done():
	}
	return c.TooMany("too many %s are under way: try again shortly", limits.of)
}

// TooMany refuses a request without a key.
func (c *Call) TooMany(format string, args ...any) error {
	e := fault.New(fault.TooManyRequests, "%s", fmt.Sprintf(format, args...))
	e.RetryAfter = time.Second
	return e
}

// mayBePage reports whether the Explorer may have a page or file at an address without a
// route.
func (s *Core) mayBePage(r *http.Request) bool {
	if s.Pages == nil || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, path := range s.NotPages {
		if rest, is := strings.CutPrefix(r.URL.Path, path); is && (rest == "" || rest[0] == '/') {
			return false
		}
	}
	return true
}
