package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"atlas/cmd/internal/cli"
)

// Ready is `atlas ready`: it asks a server for its readiness. The image
// contains no other program that could.
type Ready struct {
	URL     string        `name:"url" env:"ATLAS_READY_URL" placeholder:"URL" help:"http(s)://host:port of the server; default: this machine, with the port of ATLAS_LISTEN."`
	Listen  string        `hidden:"" env:"ATLAS_LISTEN" default:"127.0.0.1:8080"`
	Timeout time.Duration `default:"4s" help:"How long to wait for the answer, 100ms to 1m (default: 4s)."`
}

func (c *Ready) Check() error {
	var f cli.Problems
	if c.URL != "" {
		f.URLLike("--url (ATLAS_READY_URL)", c.URL, "http://127.0.0.1:8080", "http", "https")
	} else if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		f.Add("ATLAS_LISTEN must be host:port, such as 127.0.0.1:8080")
	}
	f.Duration("--timeout", c.Timeout, 100*time.Millisecond, time.Minute)
	return f.Err()
}

// address is the base URL of the server. For one that listens on all interfaces
// it is loopback.
func (c *Ready) address() string {
	if c.URL != "" {
		return strings.TrimSuffix(c.URL, "/")
	}
	host, port, _ := net.SplitHostPort(c.Listen) // checked
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}).String()
}

// Run prints the answer. It fails unless the server is ready.
func (c *Ready) Run(ctx context.Context, s *cli.Streams) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.address()+"/health/ready", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, strings.TrimSpace(string(body)))
	if res.StatusCode != http.StatusOK {
		return cli.ExitError(1)
	}
	return nil
}
