// Package egress makes requests to addresses that clients choose, but not to addresses that
// only this machine or its networks can reach: loopback, private, link-local and other
// special addresses, including a cloud's metadata. The address that is dialed is checked,
// after the name was resolved, so a name that changes its address gains nothing.
// docs/security.md, "Webhooks".
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

const (
	dialTimeout   = 5 * time.Second
	headerTimeout = 10 * time.Second
	idleTimeout   = 30 * time.Second
	maxHeader     = 64 << 10 // bytes
	// idlePerHost is the maximum number of idle connections to a receiver.
	idlePerHost = 32
	maxIdle     = 512
)

// Guard says which addresses may be reached. The zero value is not usable; see New.
type Guard struct {
	public, allowed *ssrf.Guardian
	allow           []netip.Prefix
	// local means that the prefixes are addresses of this machine only.
	local  bool
	dialer net.Dialer
}

// errRefused is the error for a refused address. It does not say which rule applied.
var errRefused = errors.New("the address is not a public one")

var errPlain = errors.New("must begin with https://: plain HTTP goes only to addresses, or to localhost, that the operator permits")

// New returns a Guard that also permits the prefixes, with plain HTTP too. resolver is nil
// for the usual one.
func New(allow []netip.Prefix, resolver *net.Resolver) *Guard {
	var v4, v6 []netip.Prefix
	for _, p := range allow {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	// Azure's virtual host address: it looks public but reaches the machine's host.
	azure := netip.MustParsePrefix("168.63.129.16/32")
	all4, all6 := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")
	g := &Guard{
		public: ssrf.New(
			ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
			ssrf.WithDeniedV4Prefixes(azure),
		),
		allowed: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...),
			ssrf.WithDeniedV4Prefixes(all4), ssrf.WithDeniedV6Prefixes(all6)),
		allow:  allow,
		local:  !slices.ContainsFunc(allow, func(p netip.Prefix) bool { return !p.Addr().IsLoopback() }),
		dialer: net.Dialer{Timeout: dialTimeout, Resolver: resolver},
	}
	return g
}

// Check refuses URLs that are never requested: of another scheme than https, with a
// password, or with a literal address that is not permitted. The error is for the client.
// Names are checked when they are dialed; with plain HTTP the name must be localhost if
// only this machine is permitted.
func (g *Guard) Check(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("must be an absolute URL, such as https://hooks.example/atlas")
	case u.Scheme != "https" && (u.Scheme != "http" || len(g.allow) == 0):
		return errors.New("must begin with https://")
	case u.User != nil:
		return errors.New("must have no user or password: each request is signed instead")
	case u.Fragment != "":
		return errors.New("must have no fragment")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return errors.New("must have a port of 1 to 65535")
		}
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	localhost := name == "localhost" || strings.HasSuffix(name, ".localhost")
	ip, noIP := netip.ParseAddr(u.Hostname())
	switch {
	case noIP != nil && u.Scheme == "http" && g.local && !localhost, noIP == nil && u.Scheme == "http" && g.allowed.SafeAddr(ip) != nil:
		return errPlain
	case localhost && len(g.allow) == 0, noIP == nil && g.public.SafeAddr(ip) != nil:
		return errRefused
	}
	return nil
}

// guardian decides for a scheme: plain HTTP only reaches permitted prefixes.
func (g *Guard) guardian(scheme string) *ssrf.Guardian {
	if scheme == "http" {
		return g.allowed
	}
	return g.public
}

// Client returns a client that only reaches permitted addresses, follows no redirect, and
// uses no proxy. A request may take as long as its context.
func (g *Guard) Client() *http.Client {
	return &http.Client{
		Transport: byScheme{"https": g.transport("https"), "http": g.transport("http")},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func (g *Guard) transport(scheme string) *http.Transport {
	dialer := g.dialer
	guardian := g.guardian(scheme)
	// Called with the address that the name was resolved to, before it connects.
	dialer.Control = func(network, address string, _ syscall.RawConn) error {
		if err := guardian.Safe(network, address, nil); err != nil {
			return errRefused
		}
		return nil
	}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: headerTimeout, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxHeader, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: idlePerHost,
		DisableCompression: true,
	}
}

// byScheme has a transport for each scheme, because connections are pooled by host and
// port, and http and https have different permitted addresses.
type byScheme map[string]*http.Transport

// RoundTrip implements http.RoundTripper.
func (s byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	t, known := s[r.URL.Scheme]
	if !known {
		return nil, fmt.Errorf("the scheme %q is not permitted", r.URL.Scheme)
	}
	return t.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections.
func (s byScheme) CloseIdleConnections() {
	for _, t := range s {
		t.CloseIdleConnections()
	}
}

// Refused reports whether a request failed because its address is not permitted.
func Refused(err error) bool { return errors.Is(err, errRefused) }

// Reason names the failure of a request in a few words without any text of the receiver,
// for logs of operators.
func Reason(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case Refused(err):
		return errRefused.Error()
	case errors.As(err, &dns):
		return "the name was not resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no response in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	}
	return "no response"
}
