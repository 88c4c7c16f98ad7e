package endpoint

import (
	"net/http"
	"net/netip"
	"strings"

	"atlas/workspace"
)

// forwardingHeaders show that a request was forwarded.
var forwardingHeaders = []string{headerForwardedFor, "Forwarded", "X-Real-Ip", "Via"}

const headerForwardedFor = "X-Forwarded-For"

// clientOf finds the client of a request: the peer of the connection, or, if that is a
// trusted proxy, the rightmost address in X-Forwarded-For that is not one. The header of
// other peers is ignored. A private peer that forwards requests and is not trusted may be an
// unconfigured proxy: then the address is not known, because strangers could use up one limit
// for all of its clients.
func (s *Core) clientOf(r *http.Request) client {
	c := s.findClient(r)
	c.Network = workspace.ClientNetwork(c.address)
	return c
}

func (s *Core) findClient(r *http.Request) client {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return client{}
	}
	address := plain(peer.Addr())
	forwards := false
	for _, name := range forwardingHeaders {
		forwards = forwards || r.Header.Get(name) != ""
	}
	switch {
	case s.trusts(address):
		if !forwards {
			return client{near: true}
		}
		return client{address: s.forwardedFor(r.Header)}
	case !private(address):
		return client{address: address}
	case forwards:
		s.strangers.unnamed.Do(func() {
			s.Log.Warn(
				"a proxy forwards requests and is not named by --trusted-proxies (ATLAS_TRUSTED_PROXIES): limits by client address are off for it, and API keys that are limited to networks are refused",
				"proxy",
				address.String(),
			)
		})
		return client{}
	}
	return client{address: address, near: true}
}

// forwardedFor is the rightmost address in X-Forwarded-For that is not a trusted proxy, the
// leftmost one if all are, and none if an address on the way cannot be parsed.
func (s *Core) forwardedFor(h http.Header) (client netip.Addr) {
	all := strings.Join(h.Values(headerForwardedFor), ",")
	for more := true; more; {
		var entry string
		i := strings.LastIndexByte(all, ',')
		all, entry, more = all[:max(i, 0)], strings.TrimSpace(all[i+1:]), i >= 0
		given, err := netip.ParseAddr(strings.Trim(entry, "[]"))
		if err != nil {
			withPort, err := netip.ParseAddrPort(entry)
			if err != nil {
				return netip.Addr{}
			}
			given = withPort.Addr()
		}
		if client = plain(given); !s.trusts(client) {
			break
		}
	}
	return client
}

// plain is an address without its zone, and the IPv4 address of an IPv4-mapped one.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// trusts reports whether an address is one of the trusted proxies.
func (s *Core) trusts(a netip.Addr) bool {
	for _, p := range s.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// shared are the addresses between providers and their customers (RFC 6598); clouds also
// assign them to machines.
var shared = netip.MustParsePrefix("100.64.0.0/10")

// private reports whether an address is not routed on the internet.
func private(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || shared.Contains(a)
}
