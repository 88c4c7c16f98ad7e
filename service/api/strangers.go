package api

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"atlas/internal/fault"
	"atlas/service/ratelimit"
)

// stranger is a row of the table of addresses that need no key: everything that is specific
// to one. Routes with keys are in the other table, Routes.
type stranger struct {
	method string
	// path in gin's syntax, from the root. With below it is an address of another row's
	// wildcard.
	path  string
	below bool
	// operation is the name in metrics and logs.
	operation string
	class     class
	// cost is how many tokens of its class a request takes, at least one: how much more it
	// costs than the others.
	cost int
	// weigh, when not nil, is the cost of the request in place of cost.
	weigh func(c *call) int
	// works is set if the request uses backends. A server that stops waits for it.
	works bool
	// look examines the request, and receives its body, before it holds a place; nil:
	// there is nothing to see.
	look   func(c *call) error
	handle gin.HandlerFunc
	// fail answers a request that is refused; nil: as the API does.
	fail func(ctx *gin.Context, err error)
}

// class is a kind of addresses without a key. Each has limits of its own, so that none can
// shut another.
type class uint8

// The classes.
const (
	classSignIn class = iota
	classUnsubscribe
	// classErasure are links by which people have a contact erased.
	classErasure
	// classErasureForm is where people ask for such a link.
	classErasureForm
	// classSCIM are identity providers, whose tokens have limits of their own too.
	classSCIM
	classDocuments
	// classTiles are ranges of the map's archive, by their length.
	classTiles
	// classProbes are requests of health from anywhere, and classBalancers those of
	// client.near: strangers must not be able to make a balancer's own probes fail.
	classProbes
	classBalancers
	// classUnknown are addresses and methods that do not exist.
	classUnknown
	classes // how many
)

// pace is what a token bucket gets each second, and has when it is full.
type pace struct{ perSecond, burst int }

// classLimits limits a class. docs/operators.md, "Limits without a key", has the figures.
type classLimits struct {
	of string // for messages: "too many …"
	// address limits one client; zero: nothing does. sum limits all of them.
	address, sum pace
	// ofAddress limits the requests of one client that are being handled or read, places
	// those of all.
	ofAddress, places int64
}

var limitsOf = [classes]classLimits{
	classSignIn:      {"requests to sign in", pace{20, 100}, pace{200, 400}, 64, 128},
	classUnsubscribe: {"requests to unsubscribe", pace{20, 100}, pace{200, 400}, 64, 128},
	classErasure:     {"requests of links to erase", pace{10, 50}, pace{100, 200}, 32, 64},
	classErasureForm: {"requests for links to erase", pace{2, 20}, pace{50, 100}, 8, 32},
	classSCIM:        {"requests of SCIM", pace{50, 200}, pace{400, 800}, 32, 64},
	classDocuments:   {"requests for documents", pace{200, 1_000}, pace{1_000, 2_000}, 64, 512},
	classTiles:       {"requests for map tiles", pace{200, 1_000}, pace{1_000, 4_000}, 64, 256},
	classProbes:      {"requests of health", pace{20, 50}, pace{200, 400}, 32, 256},
	classBalancers:   {"requests of health", pace{}, pace{1_000, 200}, 1_024, 1_024},
	classUnknown:     {"requests of addresses that do not exist", pace{50, 200}, pace{500, 1_000}, 32, 128},
}

const (
	// patience is how long a request waits for a token. One that would wait longer is
	// refused only then: a client that tries again at once gets no more out of it.
	patience = time.Second
	// strangerBody is what the body of a request without a key may take. Headers have the
	// time of all requests.
	strangerBody = 5 * time.Second
	// maxAddresses limits the addresses that are remembered. Beyond it those that were not
	// seen for longest are forgotten; the sum of the class still holds.
	maxAddresses = 20_000
)

// clientOfClass is the owner of buckets and places.
type clientOfClass struct {
	class   class
	network netip.Prefix
}

// strangers is the state of the table.
type strangers struct {
	// rows are by method and path. Requests with a key are not in it, see keyed.
	rows  map[string]*stranger
	keyed map[string]bool
	// byAddress and sums are the token buckets, places the requests under way.
	byAddress *ratelimit.Buckets[clientOfClass]
	sums      [classes]*rate.Limiter
	places    [classes]limiter
	unnamed   sync.Once // warns of a proxy
}

// Rows that no address has.
var (
	explorerRow  = stranger{operation: opExplorer, class: classDocuments}
	preflightRow = stranger{operation: opNone, class: classDocuments}
	unknownRow   = stranger{operation: opNone, class: classUnknown}
)

func rowKey(method, path string) string { return method + " " + path }

// mountStrangers adds the rows to the router.
func (s *Core) mountStrangers(g *gin.Engine, methods map[string][]string, rows []stranger) {
	s.strangers.rows = map[string]*stranger{}
	s.strangers.byAddress = ratelimit.NewBuckets[clientOfClass](maxAddresses)
	for class, l := range limitsOf {
		s.strangers.sums[class] = rate.NewLimiter(rate.Limit(l.sum.perSecond), l.sum.burst)
	}
	for _, row := range rows {
		key, l := rowKey(row.method, row.path), limitsOf[row.class]
		if s.strangers.keyed[key] || row.operation == "" || row.cost > l.address.burst || row.cost > l.sum.burst {
			panic("the address " + key + " is in both tables, has no name, or costs more than its class may have")
		}
		s.strangers.rows[key] = &row
		if row.below {
			continue
		}
		methods[row.path] = append(methods[row.path], row.method)
		g.Handle(row.method, row.path, func(ctx *gin.Context) { callOf(ctx).stranger.handle(ctx) })
	}
}

// guard is before every request, and holds those without a key to the limits of their row.
func (s *Core) guard(ctx *gin.Context) {
	c := callOf(ctx)
	c.client = s.clientOf(ctx.Request)
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
		defer c.enter()()
	}
	ctx.Next()
}

// rowOf is the row of a request, nil if it needs a key.
func (s *Core) rowOf(ctx *gin.Context) *stranger {
	method, path := ctx.Request.Method, ctx.FullPath()
	switch key := rowKey(method, path); {
	case path != "" && s.strangers.keyed[key]:
		return nil
	case path != "" && s.strangers.rows[key] != nil:
		if below := s.strangers.rows[rowKey(method, ctx.Request.URL.Path)]; below != nil && below.below {
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
func (c *call) admitStranger(row *stranger) (admitted bool) {
	c.stranger = row
	problem := c.lookAt(row)
	err := c.takePace(row)
	// A body that did not come ended the context, and with it the wait for tokens.
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
		row.fail(c.gin, err)
	default:
		c.fail(err)
	}
	return false
}

// lookAt examines a request. Until its body is there it costs no more than its connection,
// and holds nothing that others need.
func (c *call) lookAt(row *stranger) error {
	if c.gin.Request.ContentLength != 0 {
		// Also for a body that nobody reads: net/http reads it before the next request.
		_ = http.NewResponseController(c.gin.Writer).SetReadDeadline(time.Now().Add(strangerBody))
	}
	if row.look == nil {
		return nil
	}
	return row.look(c)
}

// limitsFor are the limits of a row for the client of the request.
func (c *call) limitsFor(row *stranger) (class, classLimits) {
	of := row.class
	if of == classProbes && c.client.near {
		of = classBalancers
	}
	return of, limitsOf[of]
}

// takePace waits for the tokens of a request: first of its client, then of its class.
func (c *call) takePace(row *stranger) error {
	s := &c.server.strangers
	if c.server.Unpaced {
		return nil
	}
	of, limits := c.limitsFor(row)
	cost := max(row.cost, 1)
	if row.weigh != nil {
		cost = row.weigh(c)
	}
	if c.client.network.IsValid() && limits.address.perSecond > 0 {
		bucket := s.byAddress.Of(clientOfClass{of, c.client.network}, limits.address.perSecond, limits.address.burst)
		if !waitFor(c.Context(), bucket, cost) {
			return c.tooMany(
				"too many %s from your address: at most %d a second, and %d at once", limits.of,
				limits.address.perSecond/cost, limits.address.burst/cost,
			)
		}
	}
	if !waitFor(c.Context(), s.sums[of], cost) {
		c.server.Meter.RequestShed()
		return c.tooMany("too many %s from everywhere: try again shortly", limits.of)
	}
	return nil
}

// waitFor takes tokens that are there within patience. Otherwise it returns false after
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
func (c *call) takePlace(row *stranger) error {
	of, limits := c.limitsFor(row)
	quotas := []quota{{everyone{}, limits.places}}
	if c.client.network.IsValid() {
		quotas = append(quotas, quota{c.client.network, limits.ofAddress})
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
	return c.tooMany("too many %s are under way: try again shortly", limits.of)
}

// tooMany refuses a request without a key.
func (c *call) tooMany(format string, args ...any) error {
	e := fault.New(fault.TooManyRequests, "%s", fmt.Sprintf(format, args...))
	e.RetryAfter = time.Second
	return e
}

// mayBePage reports whether the Explorer may have a page or a file at an address that no
// route has.
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
