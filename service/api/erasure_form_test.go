package api_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"atlas/internal/fault"
	"atlas/service/api"
	"atlas/service/endpoint"
)

// asks records the requests.
type asks struct {
	mu        sync.Mutex
	addresses []string
}

func (a *asks) Ask(_ context.Context, address string, network netip.Prefix) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !strings.Contains(address, "@") {
		return fault.Validation(fault.Issue{Code: fault.Custom, Path: []string{"email"}, Message: "is no e-mail address"})
	}
	if !network.IsValid() {
		return fault.New(fault.Internal, "no network")
	}
	a.addresses = append(a.addresses, address)
	return nil
}

// The form accepts a POST of its own page only, has one answer for every address, and the log
// has no address. It does not exist unless the operator enables it.
func TestErasureForm(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	form := &asks{}
	server := httptest.NewServer(
		(&api.Server{Core: endpoint.Core{Log: slog.New(slog.NewTextHandler(&log, nil))}, ErasureForm: form}).Handler(),
	)
	t.Cleanup(server.Close)
	ask := func(server *httptest.Server, method, kind, body, site string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/erasure/request", strings.NewReader(body))
		fatal(t, err)
		for name, value := range map[string]string{"Content-Type": kind, "Sec-Fetch-Site": site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		res, err := http.DefaultClient.Do(r)
		fatal(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		if res.StatusCode < 300 && (res.Header.Get("Cache-Control") != "no-store" ||
			!strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'")) {
			t.Errorf("%s: %v", method, res.Header)
		}
		return res.StatusCode, string(text)
	}
	const kind = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		method, kind, body, site string
		status                   int
	}{
		{"GET", "", "", "", 200}, {"GET", kind, "email=ada%40x.example", "", 200}, {"HEAD", "", "", "", 405},
		{"PUT", kind, "email=a%40x.example", "", 405},
		{"POST", "", "", "", 415}, {"POST", "application/json", `{"email":"ada@x.example"}`, "", 415},
		{"POST", "text/plain", "email=ada%40x.example", "", 415}, {"POST", kind, "", "", 400}, {"POST", kind, "email=ada", "", 400},
		{"POST", kind, "email=a%40x.example&email=b%40x.example", "", 400}, {"POST", kind, "email=a%40x.example&more=1", "", 400},
		{"POST", kind, "email=%zz", "", 400}, {"POST", kind, "email=" + strings.Repeat("x", 5_000), "", 413},
		{"POST", kind, "email=ada%40x.example", "cross-site", 403}, {"POST", kind, "email=ada%40x.example", "same-site", 403},
	} {
		if status, text := ask(server, c.method, c.kind, c.body, c.site); status != c.status || strings.Contains(text, "x.example") {
			t.Errorf("%s %q %.40q %s: %d %s, want %d", c.method, c.kind, c.body, c.site, status, text, c.status)
		}
	}
	if len(form.addresses) != 0 {
		t.Fatalf("asked for %v", form.addresses)
	}
	first := ""
	for _, address := range []string{"ada%40x.example", "+nobody%40x.example+"} {
		status, text := ask(server, "POST", kind, "email="+address, "same-origin")
		if status != 200 || !strings.Contains(text, "If this address is on file, a letter is on its way") || first != "" && text != first {
			t.Errorf("%s: %d %s", address, status, text)
		}
		first = text
	}
	if strings.Join(form.addresses, " ") != "ada@x.example nobody@x.example" {
		t.Errorf("asked for %v", form.addresses)
	}
	off := httptest.NewServer((&api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}).Handler())
	t.Cleanup(off.Close)
	for _, method := range []string{"GET", "POST"} {
		if status, _ := ask(off, method, kind, "email=ada%40x.example", ""); status != 404 {
			t.Errorf("turned off: %s %d", method, status)
		}
	}
	server.Close()
	if strings.Contains(log.String(), "x.example") || !strings.Contains(log.String(), "operation=request_erasure") {
		t.Errorf("logged:\n%s", &log)
	}
}
