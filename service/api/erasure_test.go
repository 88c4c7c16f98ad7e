package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/service/api"
	"atlas/service/endpoint"
)

// oneErasure is a link with the token "good" that works once.
type oneErasure struct{ erased *atomic.Int64 }

func (e oneErasure) Reads(token string) error {
	if token != "good" && token != "expired" {
		return fault.New(fault.NotFound, "this link is none")
	}
	return nil
}

func (e oneErasure) Works(_ context.Context, token string) error {
	if token != "good" || e.erased.Load() > 0 {
		return fault.New(fault.NotFound, "this link was used")
	}
	return nil
}

func (e oneErasure) Erase(ctx context.Context, token string) error {
	if err := e.Works(ctx, token); err != nil {
		return err
	}
	e.erased.Add(1)
	return nil
}

// Only the button of the link's page erases: not what programs that scan e-mails do. The
// token is in no referrer, cache or log.
func TestOnlyTheButtonErases(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	link := oneErasure{new(atomic.Int64)}
	server := httptest.NewServer(
		(&api.Server{Core: endpoint.Core{Log: slog.New(slog.NewTextHandler(&log, nil))}, Erasures: link}).Handler(),
	)
	t.Cleanup(server.Close)
	ask := func(method, query, kind, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/erasure"+query, strings.NewReader(body))
		fatal(t, err)
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		res, err := http.DefaultClient.Do(r)
		fatal(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		fatal(t, err)
		if method != http.MethodHead && method != http.MethodPut {
			for name, want := range map[string]string{
				"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'",
			} {
				if got := res.Header.Get(name); !strings.Contains(got, want) {
					t.Errorf("%s %s: %s %q", method, query, name, got)
				}
			}
		}
		return res.StatusCode, string(text)
	}
	const form, button = "application/x-www-form-urlencoded", "erase=contact"
	multipart := "--x\r\nContent-Disposition: form-data; name=\"erase\"\r\n\r\ncontact\r\n--x--\r\n"
	for _, c := range []struct {
		method, kind, body string
		status             int
	}{
		{"GET", "", "", 200}, {"GET", form, button, 200}, {"HEAD", "", "", 405}, {"PUT", form, button, 405},
		{"POST", "", "", 415}, {"POST", "application/json", `{"erase":"contact"}`, 415}, {"POST", "text/plain", button, 415},
		{"POST", "multipart/form-data; boundary=x", multipart, 415}, {"POST", form, "", 400}, {"POST", form, "List-Unsubscribe=One-Click", 400},
		{"POST", form, button + "&erase=contact", 400}, {"POST", form, strings.Repeat("x", 5_000), 413},
	} {
		if status, text := ask(c.method, "?token=good", c.kind, c.body); status != c.status || strings.Contains(text, "good") {
			t.Errorf("%s %q %q: %d %s, want %d", c.method, c.kind, c.body, status, text, c.status)
		}
	}
	slow(t, server.Listener.Addr().String(), button)
	if n := link.erased.Load(); n != 0 {
		t.Fatalf("erased %d times without the button", n)
	}
	if status, text := ask("GET", "?token=good", "", ""); status != 200 || !strings.Contains(text, "<form method=\"post\">") ||
		!strings.Contains(text, `name="erase" value="contact"`) || strings.Contains(text, "<script") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := ask("POST", "?token=good", form+"; charset=UTF-8", button); status != 200 ||
		!strings.Contains(text, "is being erased") {
		t.Errorf("%d %s", status, text)
	}
	// Used, expired, unknown and incomplete links have the same answer.
	_, used := ask("POST", "?token=good", form, button)
	for _, query := range []string{"?token=good", "?token=expired", "?token=other", "?token=", "", "?token=goo", "?token=%00", "?x=good"} {
		for _, method := range []string{"GET", "POST"} {
			if status, text := ask(method, query, form, button); status != 404 || text != used || !strings.Contains(text, "leads nowhere") {
				t.Errorf("%s %s: %d %s", method, query, status, text)
			}
		}
	}
	if n := link.erased.Load(); n != 1 {
		t.Errorf("erased %d times", n)
	}
	server.Close()
	if strings.Contains(log.String(), "good") || !strings.Contains(log.String(), "operation=erase_by_link") {
		t.Errorf("logged:\n%s", &log)
	}
}

// slow sends a body that never completes.
func slow(t *testing.T, address, body string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	fatal(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(
		conn,
		"POST /erasure?token=good HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
		len(body)+1,
		body,
	)
	fatal(t, err)
	fatal(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), " 400 ") {
		t.Errorf("a slow body: %q, %v", answer, err)
	}
}
