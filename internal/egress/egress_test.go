package egress_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"atlas/internal/egress"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func TestCheck(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]bool{ // usually, with loopback allowed
		"https://hooks.example/a?b=c":               {true, true},
		"https://hooks.example:8443/":               {true, true},
		"https://93.184.216.34/":                    {true, true},
		"https://[2606:2800:220:1::1]/":             {true, true},
		"http://hooks.example/":                     {false, false},
		"http://localhost:9000/":                    {false, true},
		"http://127.0.0.1:8080/":                    {false, true},
		"https://127.0.0.1/":                        {false, true},
		"http://93.184.216.34/":                     {false, false},
		"https://10.0.0.1/":                         {false, false},
		"https://169.254.169.254/latest/meta-data/": {false, false},
		"https://100.100.100.200/":                  {false, false},
		"https://168.63.129.16/machine":             {false, false}, // Azure's
		"https://168.63.129.17/":                    {true, true},
		"https://192.0.0.192/latest/":               {false, false}, // Oracle's
		"https://169.254.0.23/latest/":              {false, false}, // Tencent's
		"https://[::ffff:168.63.129.16]/":           {false, false},
		"https://[2002:a83f:8110::1]/":              {false, false}, // Azure's by 6to4
		"https://[64:ff9b::a83f:8110]/":             {false, false}, // and by NAT64
		"https://[fd00:ec2::254]/":                  {false, false},
		"https://[::ffff:10.0.0.1]/":                {false, false},
		"https://[::]/":                             {false, false},
		"https://user@hooks.example/":               {false, false},
		"https://hooks.example/#f":                  {false, false},
		"https:hooks.example":                       {false, false},
		"//hooks.example/":                          {false, false},
		"file:///etc/passwd":                        {false, false},
		"https://hooks.example:65536/":              {false, false},
		"":                                          {false, false},
	} {
		for i, g := range []*egress.Guard{egress.New(nil, nil), egress.New(loopback, nil)} {
			if err := g.Check(url); (err == nil) != want[i] {
				t.Errorf("%q, guard %d: %v", url, i, err)
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"https://127.0.0.1/", "https://[::1]:1/", "https://2130706433/", "https://0x7f.1/", "https://127.1/",
		"https://ⓛocalhost/",
	} {
		f.Add(s)
	}
	g := egress.New(nil, nil)
	f.Fuzz(func(t *testing.T, url string) {
		if g.Check(url) == nil && !strings.HasPrefix(strings.ToLower(url), "https:") {
			t.Errorf("%q is permitted", url)
		}
	})
}

// resolver answers every name with the addresses in turn.
func resolver(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	var asked atomic.Int32
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var q dnsmessage.Message
			if q.Unpack(buffer[:n]) != nil {
				continue
			}
			q.Response = true
			q.Additionals = nil
			if q.Questions[0].Type == dnsmessage.TypeA {
				ip := netip.MustParseAddr(addresses[min(int(asked.Add(1)), len(addresses))-1])
				q.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
					Body:   &dnsmessage.AResource{A: ip.As4()},
				}}
			}
			if packed, err := q.Pack(); err == nil {
				_, _ = server.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// A name is judged by the address that is dialed, whatever it resolved to before.
func TestNamesAreJudgedWhenDialed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(receiver.Close)
	_, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	get := func(g *egress.Guard, url string) error {
		t.Helper()
		if err := g.Check(url); err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		client := g.Client()
		defer client.CloseIdleConnections()
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	for _, address := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"} {
		if err := get(egress.New(nil, resolver(t, address)), "https://rebound.example:"+port+"/"); !egress.Refused(err) {
			t.Errorf("a name of %s: %v", address, err)
		}
	}
	// At first a public address, on which nothing answers in time, then a private one.
	rebinding := egress.New(nil, resolver(t, "192.88.99.1", "127.0.0.1"))
	for range 3 {
		_ = get(rebinding, "https://rebound.example:"+port+"/")
	}
	if err := get(rebinding, "https://rebound.example:"+port+"/"); !egress.Refused(err) {
		t.Errorf("rebound: %v", err)
	}
	if reached.Load() != 0 {
		t.Error("the receiver on loopback was reached")
	}
	inside := append(loopback, netip.MustParsePrefix("10.0.0.0/8"))
	if err := get(egress.New(inside, resolver(t, "127.0.0.1")), "http://inner.example:"+port+"/"); err != nil || reached.Load() != 1 {
		t.Errorf("an allowed network: %v", err)
	}
	// Plain HTTP only reaches allowed networks, also by name.
	if err := get(egress.New(inside, resolver(t, "93.184.216.34")), "http://public.example/"); !egress.Refused(err) {
		t.Errorf("plain HTTP to a public address: %v", err)
	}
}
