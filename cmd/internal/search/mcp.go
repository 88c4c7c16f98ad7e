package search

import (
	"context"
	"io"
	"net/url"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atlas/cmd/internal/cli"
	"atlas/internal/release"
	"atlas/service/mcp"
)

// MCP is `atlas mcp`.
type MCP struct {
	service
}

// Help is shown below the options.
func (MCP) Help() string {
	return "A desktop agent starts it, and speaks the Model Context Protocol with it on the standard streams. The tools run on the service.\n\nStatus: 0 the agent left, 1 the service does not answer, 2 arguments make no sense."
}

func (c *MCP) Check() error {
	var f cli.Problems
	apiAccess{service: c.service}.Check(&f)
	return f.Err()
}

// Run serves the agent until it closes the standard input.
func (c *MCP) Run(ctx context.Context, s *cli.Streams) error {
	if err := c.Check(); err != nil {
		return err
	}
	b := mcp.Bridge{Endpoint: c.endpoint(), Token: c.APIKey + c.Token, Version: release.Version()}
	return b.Run(ctx, &sdk.IOTransport{Reader: os.Stdin, Writer: unclosed{s.Out}})
}

// endpoint is the address for agents, at the root of the service.
func (c *MCP) endpoint() string {
	at := strings.TrimSuffix(strings.TrimSuffix(c.URL, "/"), "/api/v1") + "/mcp"
	if c.Workspace != "" {
		at += "?" + url.Values{"workspace_id": {c.Workspace}}.Encode()
	}
	return at
}

// unclosed is a writer that is not closed.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
