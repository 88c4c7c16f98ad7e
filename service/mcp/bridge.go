package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bridge gives one client, such as a desktop agent on the standard streams, the tools,
// resources and prompts that a service offers agents at its address. They run there, as the
// owner of the token. Its fields are set before Run is called.
type Bridge struct {
	// Endpoint is the address for agents of the service.
	Endpoint string
	// Token is an API key or an access token.
	Token string
	// Version is that of the program.
	Version string
	// HTTP sends requests; nil: http.DefaultTransport.
	HTTP http.RoundTripper
}

// Run serves the client of a transport until it disconnects or ctx ends. A service that
// cannot be reached or refuses the token is an error at once.
func (b Bridge) Run(ctx context.Context, to sdk.Transport) error {
	// Whether the service may ask depends on the client of a call.
	plain, err := b.connect(ctx, &sdk.ClientCapabilities{})
	if err != nil {
		return err
	}
	defer plain.Close() //nolint:errcheck // nothing is kept there
	asking, err := b.connect(ctx, &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}})
	if err != nil {
		return err
	}
	defer asking.Close() //nolint:errcheck // nothing is kept there
	server := sdk.NewServer(&sdk.Implementation{Name: "atlas", Title: "Atlas", Version: b.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{
			Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{},
		},
	})
	for t, err := range plain.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		server.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			session := plain
			if c := r.ClientCapabilities(); c != nil && c.Elicitation != nil {
				session = asking
			}
			call := &sdk.CallToolParams{Name: r.Params.Name, InputResponses: r.Params.InputResponses, RequestState: r.Params.RequestState}
			if len(r.Params.Arguments) > 0 {
				call.Arguments = r.Params.Arguments
			}
			call.Meta = keyOf(r.Params.Meta)
			return session.CallTool(ctx, call)
		})
	}
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			switch r := r.(type) {
			case *sdk.ListPromptsRequest:
				return plain.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursorOf(r.Params)})
			case *sdk.GetPromptRequest:
				return plain.GetPrompt(ctx, &sdk.GetPromptParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
			case *sdk.ListResourcesRequest:
				return plain.ListResources(ctx, nil)
			case *sdk.ListResourceTemplatesRequest:
				return plain.ListResourceTemplates(ctx, nil)
			case *sdk.ReadResourceRequest:
				return plain.ReadResource(ctx, &sdk.ReadResourceParams{Meta: keyOf(r.Params.Meta), URI: r.Params.URI})
			}
			return next(ctx, method, r)
		}
	})
	return server.Run(ctx, to)
}

// keyOf is the part of _meta that is forwarded: the Idempotency-Key of the client.
func keyOf(m sdk.Meta) sdk.Meta {
	if key, is := m[MetaKey]; is {
		return sdk.Meta{MetaKey: key}
	}
	return nil
}

func cursorOf(p *sdk.ListPromptsParams) string {
	if p == nil {
		return ""
	}
	return p.Cursor
}

// connect opens a session with the service. Questions of the service are forwarded, not
// answered.
func (b Bridge) connect(ctx context.Context, can *sdk.ClientCapabilities) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "atlas-mcp", Version: b.Version}, &sdk.ClientOptions{
		Capabilities: can, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: b.Endpoint, HTTPClient: &http.Client{Transport: authorized{b.Token, b.HTTP}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("the service does not answer agents at %s: %w", b.Endpoint, err)
	}
	return session, nil
}

// pauses are the pauses before the retries of a message without an answer, because the server
// was killed, replaced, or full.
var pauses = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// authorized adds the token to requests, and retries those without an answer. All attempts
// have one Idempotency-Key, so nothing is done or charged twice.
type authorized struct {
	token string
	next  http.RoundTripper
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() //nolint:errcheck // it was read from memory
	}
	key := rand.Text()
	for attempt := 0; ; attempt++ {
		res, err := a.attempt(r, key)
		transient := err != nil || res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable ||
			res.StatusCode == http.StatusGatewayTimeout
		if !transient || attempt == len(pauses) || r.Body != nil && r.GetBody == nil {
			return refusal(r, res), err
		}
		pause := time.NewTimer(pauses[attempt])
		select {
		case <-pause.C:
		case <-r.Context().Done():
			pause.Stop()
			return res, err
		}
	}
}

// refusal is an answer as it is, or an error of the one call in place of an HTTP status,
// after which the SDK would end the session.
func refusal(r *http.Request, res *http.Response) *http.Response {
	if res == nil || res.StatusCode < http.StatusBadRequest || r.GetBody == nil {
		return res
	}
	var call struct {
		ID json.RawMessage `json:"id"`
	}
	sent, err := r.GetBody()
	if err != nil || json.NewDecoder(sent).Decode(&call) != nil || call.ID == nil {
		return res
	}
	var said struct{ Error failure }
	_ = json.NewDecoder(res.Body).Decode(&said)
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": call.ID, "error": object{
		"code": -32000, "message": strings.TrimSpace(fmt.Sprintf("%s %s %s", res.Status, said.Error.Code, said.Error.Message)),
	}})
	if err != nil {
		return res
	}
	res.Status, res.StatusCode, res.Header = "200 OK", http.StatusOK, http.Header{"Content-Type": {jsonType}}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res
}

// attempt sends a request once, and reads its answer to the end unless it is a stream.
func (a authorized) attempt(r *http.Request, key string) (*http.Response, error) {
	next := a.next
	if next == nil {
		next = http.DefaultTransport
	}
	q := r.Clone(r.Context())
	if r.GetBody != nil {
		var err error
		if q.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	q.Header.Set("Authorization", "Bearer "+a.token)
	q.Header.Set("Idempotency-Key", key)
	res, err := next.RoundTrip(q)
	if err != nil || strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}
