package mcp

import (
	"context"
	"fmt"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bridge gives one client, such as a desktop agent on the standard streams, what a service
// offers agents at its address: the same tools, resources and prompts, run there, as the
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

// Run serves the client of a transport until it leaves or ctx ends. A service that
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
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
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
				return plain.ReadResource(ctx, &sdk.ReadResourceParams{URI: r.Params.URI})
			}
			return next(ctx, method, r)
		}
	})
	return server.Run(ctx, to)
}

func cursorOf(p *sdk.ListPromptsParams) string {
	if p == nil {
		return ""
	}
	return p.Cursor
}

// connect opens a session with the service. What the service asks is passed on, not
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

// authorized adds the token to requests.
type authorized struct {
	token string
	next  http.RoundTripper
}

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	next := a.next
	if next == nil {
		next = http.DefaultTransport
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.token)
	return next.RoundTrip(r)
}
