package endpoint

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
)

// Table is what a server answers.
type Table struct {
	Routes []Route
	// Strangers are the addresses that need no key.
	Strangers []Stranger
	// Mounts are addresses that need a key and check it themselves.
	Mounts []Mount
}

// Mount is an address that is handled outside of the order of checks.
type Mount struct {
	Method, Path string
	Handle       func(c *Call)
}

// Handler answers what is in the table, and refuses everything else. Call Prepare before.
func (s *Core) Handler(t Table) http.Handler { return bounded(compressed(s.Router(t))) }

// Inside answers a request made by another one, uncompressed.
func (s *Core) Inside(w http.ResponseWriter, r *http.Request) { s.inside.ServeHTTP(w, r) }

// Router has the table. Each path answers every other method with 405, even if a path with a
// parameter would match.
func (s *Core) Router(t Table) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	g := gin.New()
	s.inside = bounded(g)

	g.RedirectTrailingSlash = false
	if s.Tracing != nil {
		g.Use(s.Tracing)
	}
	g.Use(s.begin, s.guard)
	if len(s.Origins) > 0 {
		g.Use(allowOrigins(s.Origins))
	}
	methods := map[string][]string{}
	s.strangers.keyed = map[string]bool{}
	for _, r := range t.Routes {
		path := Version + r.Path
		methods[path] = append(methods[path], r.Method)
		s.strangers.keyed[rowKey(r.Method, path)] = true
		g.Handle(r.Method, path, s.serve(r))
	}
	for _, m := range t.Mounts {
		methods[m.Path] = append(methods[m.Path], m.Method)
		s.strangers.keyed[rowKey(m.Method, m.Path)] = true
		g.Handle(m.Method, m.Path, func(ctx *gin.Context) { m.Handle(CallOf(ctx)) })
	}
	s.mountStrangers(g, methods, t.Strangers)
	s.addresses = addressesOf(t.Routes)
	s.paths = indexed(methods)
	for path, allowed := range methods {
		for _, m := range []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions,
		} {
			if !slices.Contains(allowed, m) {
				g.Handle(m, path, func(ctx *gin.Context) { CallOf(ctx).notAllowed(allowed) })
			}
		}
	}
	g.NoRoute(func(ctx *gin.Context) {
		c := CallOf(ctx)
		if c.refusePath() {
			return
		}
		// gin's own 405 (HandleMethodNotAllowed) can panic in version 1.12 on a
		// path with a slash too many, so methods that are not registered reach this handler.
		if allowed := s.paths.methodsOf(ctx.Request.URL.Path); allowed != nil {
			c.notAllowed(allowed)
			return
		}
		c.notFound(s.paths.notFoundText(ctx.Request.Method, ctx.Request.URL.Path))
	})
	return g
}

// notAllowed answers a method that a path does not take.
func (c *Call) notAllowed(allowed []string) {
	c.Gin.Header("Allow", strings.Join(allowed, ", "))
	c.Fail(fault.New(fault.MethodNotAllowed, "%s", c.server.paths.notAllowedText(allowed, c.Gin.Request.Method, c.Gin.Request.URL)))
}

// pathTooLong marks the context of a request whose path is too long to process.
type pathTooLong struct{}

// bounded sends requests with a path beyond the limits to refusePath, before the router or
// anything else processes the path.
func bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; len(path) > MaxPath || strings.Count(path, "/") > MaxSegments {
			r = r.WithContext(context.WithValue(r.Context(), pathTooLong{}, true))
			r.URL = &url.URL{RawQuery: r.URL.RawQuery}
		}
		h.ServeHTTP(w, r)
	})
}

// refusePath answers a request that bounded has marked; otherwise it returns false.
func (c *Call) refusePath() bool {
	if c.Context().Value(pathTooLong{}) == nil {
		return false
	}
	c.Fail(fault.New(fault.URITooLong, pathTooLongText, MaxPath, MaxSegments))
	return true
}

func addressesOf(routes []Route) addresses {
	of := addresses{}
	for _, r := range routes {
		of[r.Operation] = r.Method + " " + Version + templated(r.Path)
	}
	return of
}
