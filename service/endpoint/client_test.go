package endpoint

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestClientOf(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string // X-Forwarded-For
		other     string   // another header
		network   string   // "" if the address is not known
		near      bool
	}{
		"a peer on the internet":     {"203.0.113.7:5000", nil, "", "203.0.113.7/32", false},
		"its header is not believed": {"203.0.113.7:5000", []string{"198.51.100.1"}, "", "203.0.113.7/32", false},
		"IPv4 in IPv6":               {"[::ffff:203.0.113.7]:5000", nil, "", "203.0.113.7/32", false},
		"IPv6 counts by /64":         {"[2001:db8:1:2:3:4:5:6]:5000", nil, "", "2001:db8:1:2::/64", false},
		"a zone":                     {"[fe80::1%eth0]:5000", nil, "", "fe80::/64", true},
		"a private peer by itself":   {"192.168.1.2:5000", nil, "", "192.168.1.2/32", true},
		"a private peer that forwards and no one named": {"192.168.1.2:5000", []string{"203.0.113.7"}, "", "", false},
		"the same by another header":                    {"192.168.1.2:5000", nil, "Forwarded", "", false},
		"carrier-grade NAT":                             {"100.64.1.2:5000", nil, "X-Real-Ip", "", false},
		"a trusted proxy":                               {"10.1.2.3:5000", []string{"203.0.113.7"}, "", "203.0.113.7/32", false},
		"a trusted proxy on IPv6":                       {"[fd00::1]:5000", []string{"2001:db8:1:2::9"}, "", "2001:db8:1:2::/64", false},
		"what a client wrote is left of it":             {"10.1.2.3:5000", []string{"198.51.100.1, 203.0.113.7"}, "", "203.0.113.7/32", false},
		"two proxies":                                   {"10.1.2.3:5000", []string{"198.51.100.1, 203.0.113.7, 10.9.9.9"}, "", "203.0.113.7/32", false},
		"several headers":                               {"10.1.2.3:5000", []string{"198.51.100.1", "203.0.113.7"}, "", "203.0.113.7/32", false},
		"a port":                                        {"10.1.2.3:5000", []string{"203.0.113.7:80"}, "", "203.0.113.7/32", false},
		"IPv6 with brackets":                            {"10.1.2.3:5000", []string{"[2001:db8:1:2::9]:80"}, "", "2001:db8:1:2::/64", false},
		"all are trusted":                               {"10.1.2.3:5000", []string{"10.4.4.4, 10.5.5.5"}, "", "10.4.4.4/32", false},
		"an entry that is no address":                   {"10.1.2.3:5000", []string{"203.0.113.7, unknown"}, "", "", false},
		"a proxy that says nothing of its client":       {"10.1.2.3:5000", nil, "Via", "", false},
		"a trusted proxy's own request":                 {"10.1.2.3:5000", nil, "", "", true},
		"no peer":                                       {"", nil, "", "", false},
	} {
		s := &Core{Log: slog.New(slog.DiscardHandler), TrustedProxies: trusted}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header[headerForwardedFor] = c.forwarded
		if c.other != "" {
			r.Header.Set(c.other, "for=203.0.113.7")
		}
		got := s.clientOf(r)
		network := ""
		if got.Network.IsValid() {
			network = got.Network.String()
		}
		if network != c.network || got.near != c.near {
			t.Errorf("%s: %q, near %v; want %q, %v", name, network, got.near, c.network, c.near)
		}
	}
}

// The log names an unconfigured proxy, once.
func TestLogOfUnnamedProxies(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Core{Log: slog.New(slog.NewTextHandler(&log, nil))}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr = "192.168.1.2:5000"
	s.clientOf(r)
	if log.Len() > 0 {
		t.Errorf("a request of its own: %s", &log)
	}
	r.Header.Set(headerForwardedFor, "203.0.113.7")
	for range 3 {
		s.clientOf(r)
	}
	if strings.Count(log.String(), "--trusted-proxies") != 1 || !strings.Contains(log.String(), "192.168.1.2") {
		t.Errorf("the log: %s", &log)
	}
}
