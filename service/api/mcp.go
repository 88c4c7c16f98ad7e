package api

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/mcp"
)

// MCP says how agents are served by the Model Context Protocol (docs/agents.md).
type MCP struct {
	// MaxBytes limits the records of a result; 0 means mcp.DefaultMaxBytes.
	MaxBytes int
	// Version is that of the program.
	Version string
}

const (
	// mcpPath is the address for agents, outside of the contract of the API.
	mcpPath = "/mcp"
	// resourcePath has the metadata of mcpPath as a resource of OAuth (RFC 9728).
	resourcePath = "/.well-known/oauth-protected-resource"
)

// mcpRoute is what a request of an agent is to the checks before its body is read. The
// requests of its tools are requests of the route table, with all checks.
var mcpRoute = endpoint.Route{Operation: "mcp", Endpoint: endpoint.Endpoint{Body: &schema.Schema{}}}

// agentRows have the address for agents. The OpenAPI document describes the operations that
// their tools use.
func (s *Server) agentRows(document []byte) []endpoint.Mount {
	if s.MCP == nil {
		return nil
	}
	agents := &mcp.Server{
		API: http.HandlerFunc(s.Inside), Base: endpoint.Version, Advice: endpoint.AgentAdvice(), Document: document, Key: s.SecretKey(),
		MaxBytes: s.MCP.MaxBytes, Nearest: input.Nearest, Version: s.MCP.Version, Timeout: s.RequestTimeout, Log: s.Log,
	}
	handler, err := agents.Handler()
	if err != nil {
		panic(err) // the document is that of this program
	}
	return []endpoint.Mount{{Method: http.MethodPost, Path: mcpPath, Handle: func(c *endpoint.Call) { s.answerAgent(c, handler) }}}
}

// answerAgent answers a message of an agent.
func (s *Server) answerAgent(c *endpoint.Call, agents http.Handler) {
	c.Route = mcpRoute
	defer c.Enter()()
	caller, err := s.admitAgent(c)
	if err != nil {
		if fault.CodeOf(err) == fault.Unauthorized {
			c.Gin.Header("WWW-Authenticate", s.challenge())
		}
		c.Fail(err)
		return
	}
	if !acceptsJSON(c.Gin.Request.Header.Values("Accept")) {
		c.Fail(fault.New(fault.BadRequest, "answers to agents are application/json, which Accept leaves out: name it, or leave Accept out"))
		return
	}
	r := c.Gin.Request.Clone(mcp.WithCaller(c.Context(), caller))
	r.Header.Set("Accept", "application/json, text/event-stream") // what the protocol asks of clients, and many do not say
	r.Body = io.NopCloser(bytes.NewReader(c.RawBody))
	c.RawBody = nil
	w := &plainErrors{ResponseWriter: c.Gin.Writer}
	agents.ServeHTTP(w, r)
	if err := w.err(); err != nil {
		c.Fail(err)
	}
}

// metadataRows say where agents get a token.
func (s *Server) metadataRows() (rows []endpoint.Stranger) {
	if s.MCP == nil || s.resource() == "" || s.TokenIssuer == "" {
		return nil
	}
	for _, path := range []string{resourcePath, resourcePath + mcpPath} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			rows = append(
				rows,
				endpoint.Stranger{
					Method:    method,
					Path:      path,
					Operation: "mcp_metadata",
					Class:     endpoint.ClassDocuments,
					Handle: func(ctx *gin.Context) {
						endpoint.CallOf(ctx).JSON(http.StatusOK, map[string]any{
							"resource": s.resource(), "authorization_servers": []string{s.TokenIssuer},
							"bearer_methods_supported": []string{"header"}, "resource_name": "Atlas",
						})
					},
				},
			)
		}
	}
	return rows
}

// acceptsJSON reports whether a client takes JSON, by its Accept headers: also one that sends
// none, as programs and scripts do.
func acceptsJSON(headers []string) bool {
	if len(headers) == 0 {
		return true
	}
	for media := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, _, _ := strings.Cut(media, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "application/json", "application/*", "*/*":
			return true
		}
	}
	return false
}

// plainErrors holds back errors that the protocol's library answers as plain text, for
// clients that read JSON.
type plainErrors struct {
	gin.ResponseWriter
	status int // of the error; 0: none
	text   []byte
}

func (w *plainErrors) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		w.Header().Del("Content-Type")
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *plainErrors) Write(b []byte) (int, error) {
	if w.status != 0 {
		w.text = append(w.text, b...)
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets a http.ResponseController find what can flush.
func (w *plainErrors) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// err is the error that was held back.
func (w *plainErrors) err() error {
	text := strings.TrimSpace(string(w.text))
	switch w.status {
	case 0:
		return nil
	case http.StatusUnsupportedMediaType:
		return fault.New(fault.UnsupportedMediaType, "%s", text)
	case http.StatusBadRequest:
		return fault.New(fault.BadRequest, "%s", text)
	}
	return fault.New(fault.Internal, "agents: %d %s", w.status, text)
}

// resource is the address for agents as they know it, "" if that is not known.
func (s *Server) resource() string {
	if s.PublicURL == "" {
		return ""
	}
	return strings.TrimSuffix(s.PublicURL, "/") + mcpPath
}

// challenge tells a client without a valid token how to get one.
func (s *Server) challenge() string {
	if s.resource() == "" || s.TokenIssuer == "" {
		return `Bearer realm="atlas"`
	}
	return `Bearer realm="atlas", resource_metadata="` + strings.TrimSuffix(s.PublicURL, "/") + resourcePath + mcpPath + `"`
}

// admitAgent checks a request of an agent, and receives its body. It holds a place of the
// second phase until it is answered, and none of the third: the requests of tools take
// those.
func (s *Server) admitAgent(c *endpoint.Call) (mcp.Caller, error) {
	if err := s.checkOrigin(c.Gin.Request); err != nil {
		return mcp.Caller{}, err
	}
	if !c.AcquireFresh() {
		return mcp.Caller{}, c.Busy()
	}
	// A cookie does not count here: an agent is no page.
	header := c.Gin.Request.Header.Values("Authorization")
	var err error
	if c.Identity, err = s.byHeader(c.Context(), header); err != nil {
		return mcp.Caller{}, err
	}
	if !c.AcquireReceiving() {
		return mcp.Caller{}, c.Busy()
	}
	params, err := url.ParseQuery(c.Gin.Request.URL.RawQuery)
	if err != nil {
		return mcp.Caller{}, fault.New(fault.BadRequest, "the query string is malformed")
	}
	c.Params = params
	if c.CheckPath(); len(c.PathIssues) > 0 {
		return mcp.Caller{}, c.PathIssues.Err()
	}
	in, err := s.Gate.Resolve(c.Context(), c.Identity, params["workspace_id"], false)
	if err == nil {
		c.Principal, err = s.Gate.Authorize(c.Context(), c.Identity, in)
	}
	if err != nil {
		return mcp.Caller{}, err
	}
	if err := c.TakeMessage(); err != nil {
		return mcp.Caller{}, err
	}
	if !c.AcquireReceivingOf(in) || !c.Receive() {
		return mcp.Caller{}, c.Busy()
	}
	if c.BodyErr != nil {
		return mcp.Caller{}, c.BodyErr
	}
	// A batch could ask for the long answers of thousands of messages at once.
	if bytes.HasPrefix(bytes.TrimLeft(c.RawBody, " \t\r\n"), []byte("[")) {
		return mcp.Caller{}, fault.New(fault.BadRequest, "a request has one message: batches of messages are not taken")
	}
	caller := mcp.Caller{
		ID: c.Identity.Subject().String(), Workspace: in.String(), Authorization: header[0], RequestID: c.ID,
		Key: c.Gin.GetHeader(endpoint.HeaderIdempotencyKey),
	}
	for _, scope := range c.Principal.Scopes {
		caller.Scopes = append(caller.Scopes, string(scope))
	}
	return caller, nil
}

// checkOrigin refuses requests that a page of a foreign origin sends, also under a name
// that its owner lets lead here (DNS rebinding): on a loopback address only names of the
// machine itself, and of PublicURL, are taken.
func (s *Server) checkOrigin(r *http.Request) error {
	public, _ := url.Parse(s.PublicURL)
	own := s.PublicURL != "" && r.Host == public.Host
	if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && isLoopback(address.String()) &&
		!isLoopback(r.Host) && !own {
		return fault.New(fault.Forbidden, "this server is not called %.100q: use its own address, or set --public-url", r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.Origins, origin) || origin == strings.TrimSuffix(s.PublicURL, "/") {
		return nil
	}
	if from, err := url.Parse(origin); err == nil && from.Host == r.Host && (own || isLoopback(r.Host)) {
		return nil
	}
	return fault.New(fault.Forbidden, "pages of the origin %.100q may not call this address: see --cors-origins", origin)
}

// isLoopback reports whether an address, with or without a port, is the machine itself.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(cmp.Or(host, "-"))
	return err == nil && ip.Unmap().IsLoopback()
}
