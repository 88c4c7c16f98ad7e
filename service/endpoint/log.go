package endpoint

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"atlas/workspace"
)

// operation is the name of the request in metrics and logs.
func (c *Call) operation() string {
	if c.Route.Operation != "" {
		return c.Route.Operation
	}
	if c.stranger != nil {
		return c.stranger.Operation
	}
	return opNone
}

// Log returns a logger whose lines say which request they are of, from where, and who
// sent it.
func (c *Call) Log() *slog.Logger {
	by := c.Identity.Author()
	attrs := []any{slog.String("request_id", c.ID), slog.String("client", c.address)}
	switch {
	case !by.Key.IsZero():
		attrs = append(attrs, slog.String("key", by.Key.String()))
	case !by.User.IsZero():
		attrs = append(attrs, slog.String("user", by.User.String()))
	}
	return c.server.Log.With(attrs...)
}

// clientAddress is the full address of the client: the peer of the connection, or the one
// that a trusted proxy names.
func (s *Core) clientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := plain(peer.Addr())
	if s.trusts(address) {
		if given := s.forwardedFor(r.Header); given.IsValid() {
			return given.String()
		}
	}
	return address.String()
}

type addressKey struct{}

// origin is where a request comes from: the address for the log, and the one that API keys
// are compared with, which is invalid unless it is known (clientOf).
type origin struct {
	shown string
	known netip.Addr
}

// withClientAddress returns the client's address, and a context with it: requests of an
// agent's tools have no connection and take the agent's address.
func (s *Core) withClientAddress(ctx context.Context, r *http.Request) (context.Context, string) {
	if o, found := ctx.Value(addressKey{}).(origin); found {
		return ctx, o.shown
	}
	o := origin{s.clientAddress(r), s.findClient(r).address}
	return context.WithValue(ctx, addressKey{}, o), o.shown
}

// KnownAddress is the address that API keys are compared with.
func KnownAddress(ctx context.Context) netip.Addr {
	o, _ := ctx.Value(addressKey{}).(origin)
	return o.known
}

// end counts and logs a request. The log line has the path of the route table. It has
// no client input (ids, query, body, headers) except the request id, and the target of a
// change of keys or members (docs/operators.md, "Logs").
func (c *Call) end() {
	took, status := time.Since(c.Began), c.Gin.Writer.Status()
	if c.abandoned {
		status = statusClientLeft
	}
	c.server.Meter.Request(c.operation(), status, took)
	if c.charged > 0 && c.server.Counts != nil {
		c.server.Counts.Delivered(c.Workspace(), c.Identity.Author(), c.operation(), c.charged)
	}
	level := slog.LevelInfo
	if op := c.operation(); status == http.StatusOK && (op == opLive || op == opReady) {
		level = slog.LevelDebug // load balancers probe every second
	}
	if !c.server.Log.Enabled(c.Context(), level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 14),
		slog.String("operation", c.operation()), slog.String("method", c.Gin.Request.Method), slog.String("path", c.Gin.FullPath()),
		slog.Int("status", status), slog.Float64("duration_ms", milliseconds(took)))
	if c.Code != "" {
		attrs = append(attrs, slog.String("code", string(c.Code)))
	}
	if c.Principal.Kind != "" {
		attrs = append(
			attrs,
			slog.String("principal", string(c.Principal.Kind)),
			slog.String("workspace", c.Principal.Workspace.ID.String()),
		)
	}
	if c.Target != "" {
		attrs = append(attrs, slog.String("target", c.Target))
	}
	if c.Route.Throttling == Metered {
		attrs = append(attrs, slog.Int64("credits", c.charged))
	}
	c.spent.Each(func(backend string, took time.Duration) {
		attrs = append(attrs, slog.Float64(backend+"_ms", milliseconds(took)))
	})
	if c.Left() {
		attrs = append(attrs, slog.Bool("client_left", true))
	}
	c.Log().LogAttrs(c.Context(), level, "request", attrs...)
}

// statusClientLeft is the status in metrics and logs of a request whose client
// disconnected before the answer. No client receives it.
const statusClientLeft = 499

// Left reports whether the client disconnected before the answer. The context of a
// request that a stopping server cancels has another cause.
func (c *Call) Left() bool { return errors.Is(context.Cause(c.Context()), context.Canceled) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// WithOrigin is the context of changes that come from the request.
func (c *Call) WithOrigin() context.Context {
	return workspace.WithOrigin(c.Context(), workspace.OriginOf(KnownAddress(c.Context()), c.ID))
}

// CountRefused counts credentials that were refused.
func (s *Core) CountRefused(ctx context.Context, reason string) {
	if s.Counts != nil {
		s.Counts.Refused(reason, workspace.OriginOf(KnownAddress(ctx), "").Network)
	}
}
