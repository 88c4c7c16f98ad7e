package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// readyCmd asks a server's readiness, for where there is no other program that
// could: an image that holds nothing but this one.
type readyCmd struct {
	URL     string        `name:"url" env:"ATLAS_READY_URL" placeholder:"URL" help:"http(s)://host:port of the server; default: this machine, with the port of ATLAS_LISTEN."`
	Listen  string        `hidden:"" env:"ATLAS_LISTEN" default:"127.0.0.1:8080"`
	Timeout time.Duration `default:"4s" help:"How long to wait for the answer, 100ms to 1m (default: 4s)."`
}

func (c *readyCmd) check() error {
	var f faults
	if c.URL != "" {
		f.address("--url (ATLAS_READY_URL)", c.URL, "http", "https")
	} else if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		f.add("ATLAS_LISTEN must be host:port")
	}
	f.within("--timeout", c.Timeout, 100*time.Millisecond, time.Minute)
	return f.err()
}

// address is where the server is asked: one that listens everywhere does so on
// loopback too.
func (c *readyCmd) address() string {
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

// Run prints what the server says; a server that is not ready is a failure.
func (c *readyCmd) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
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
	fmt.Fprintln(s.out, strings.TrimSpace(string(body)))
	if res.StatusCode != http.StatusOK {
		return exitError{1}
	}
	return nil
}
