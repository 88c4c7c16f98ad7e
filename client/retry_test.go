package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"atlas/client"
)

const page = `{"data":[],"metadata":{"total":0,"total_is_capped":false,"limit":25,"offset":0,"search_after":null,"credits":0}}`

const invited = `{"data":{"invitation":{"id":"i"},"accept_url":"u"},"metadata":{"credits":0}}`

var quick = client.Retry{First: time.Millisecond}

// dial returns a client of a server, and the count of its attempts.
func dial(t *testing.T, h http.HandlerFunc, options ...client.Option) (*client.Client, *atomic.Int32) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return clientOf(t, server.URL, options...)
}

func clientOf(t *testing.T, root string, options ...client.Option) (*client.Client, *atomic.Int32) {
	t.Helper()
	var attempts atomic.Int32
	options = append(
		[]client.Option{client.WithAPIKey("k"), client.WithRetry(quick), client.WithObserver(func(client.Answer) { attempts.Add(1) })},
		options...,
	)
	c, err := client.New(root+"/api/v1", options...)
	if err != nil {
		t.Fatal(err)
	}
	return c, &attempts
}

func search(c *client.Client) error {
	_, err := c.Accounts.Search(context.Background(), client.Search{})
	return err
}

func invite(c *client.Client) error {
	_, err := c.Invitations.Create(context.Background(), "a@example.com", "member")
	return err
}

// failing answers a few times in one way, and then well.
func failing(times int32, fail http.HandlerFunc) http.HandlerFunc {
	var seen atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
		if seen.Add(1) <= times {
			fail(w, r)
			return
		}
		body := page
		if strings.HasSuffix(r.URL.Path, "/invitations") {
			body = invited
		}
		_, _ = io.WriteString(w, body)
	}
}

func status(code int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":{"code":"unavailable","message":"later"}}`)
	}
}

func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func cutInTheMiddle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"data":[`)
	panic(http.ErrAbortHandler)
}

func TestWhatIsRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail     http.HandlerFunc
		call     func(*client.Client) error
		attempts int32
		ok       bool
	}{
		"503 of a search":                   {status(503, ""), search, 3, true},
		"502 of a search":                   {status(502, ""), search, 3, true},
		"504 of a search":                   {status(504, ""), search, 3, true},
		"500 of a search":                   {status(500, ""), search, 1, false},
		"400 of a search":                   {status(400, ""), search, 1, false},
		"429 without Retry-After":           {status(429, ""), search, 1, false},
		"answer of a search lost":           {cutOff, search, 3, true},
		"answer of a search cut":            {cutInTheMiddle, search, 3, true},
		"503 of an invitation":              {status(503, ""), invite, 3, true},
		"answer of an invitation lost":      {cutOff, invite, 3, true},
		"Retry-After longer than is waited": {status(503, "11"), search, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, attempts := dial(t, failing(2, c.fail), client.WithRetry(quick))
			if err := c.call(api); (err == nil) != c.ok || attempts.Load() != c.attempts {
				t.Errorf("%d attempts, %v", attempts.Load(), err)
			}
		})
	}
}

// The connection was refused, so nothing was executed: creations are retried too.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	root := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for _, call := range []func(*client.Client) error{search, invite} {
		c, attempts := clientOf(t, root, client.WithRetry(client.Retry{Attempts: 3, First: time.Millisecond}))
		if err := call(c); err == nil || attempts.Load() != 3 {
			t.Errorf("%d attempts, %v", attempts.Load(), err)
		}
	}
}

// transport answers without a network, so that time can be a bubble's own.
type transport func(attempt int) (int, http.Header)

func (f transport) client() (client.Option, *int) {
	attempt := 0
	return client.WithHTTPClient(&http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		attempt++
		code, header := f(attempt)
		body := page
		if code != 200 {
			body = `{"error":{"code":"unavailable","message":"later"}}`
		}
		if header == nil {
			header = http.Header{}
		}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}), &attempt
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWaits(t *testing.T) {
	t.Parallel()
	after := func(text string) http.Header { return http.Header{"Retry-After": {text}} }
	for name, c := range map[string]struct {
		answer        transport
		retry         client.Retry
		least, most   time.Duration
		attempts      int
		wantRemaining bool // the last attempt succeeds
	}{
		"Retry-After is the least": {
			func(n int) (int, http.Header) { return until(2, n, 503), after("4") }, client.Retry{}, 4 * time.Second,
			5 * time.Second, 2, true,
		},
		"429 that is over soon": {
			func(n int) (int, http.Header) { return until(3, n, 429), after("2") }, client.Retry{}, 4 * time.Second,
			5 * time.Second, 3, true,
		},
		"a date": {
			func(n int) (int, http.Header) { return until(2, n, 503), after(inSeconds(8)) }, client.Retry{},
			7 * time.Second, 10 * time.Second, 2, true,
		},
		"doubles, half of it by chance": {
			func(int) (int, http.Header) { return 503, nil }, client.Retry{Attempts: 5},
			(250 + 500 + 1000 + 2000) * time.Millisecond / 2, (250 + 500 + 1000 + 2000) * time.Millisecond, 5, false,
		},
		"up to the longest": {
			func(int) (int, http.Header) { return 503, nil },
			client.Retry{Attempts: 11, First: time.Second, Longest: 3 * time.Second}, (1 + 2 + 8*3) * time.Second / 2,
			(1 + 2 + 8*3) * time.Second, 11, false,
		},
		"Retry-After at the longest": {
			func(n int) (int, http.Header) { return until(2, n, 503), after("10") }, client.Retry{}, 10 * time.Second,
			10 * time.Second, 2, true,
		},
		"for a time": {
			func(int) (int, http.Header) { return 503, after("2") }, client.Retry{For: 7750 * time.Millisecond},
			6 * time.Second, 7750 * time.Millisecond, 4, false,
		},
		"never": {func(int) (int, http.Header) { return 503, nil }, client.Retry{Attempts: 1}, 0, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				option, attempts := c.answer.client()
				api, _ := clientOf(t, "http://atlas.example", option, client.WithRetry(c.retry))
				began := time.Now()
				err := search(api)
				if took := time.Since(began); took < c.least || took > c.most || *attempts != c.attempts || (err == nil) != c.wantRemaining {
					t.Errorf("%d attempts in %s, %v; want %d in %s to %s", *attempts, took, err, c.attempts, c.least, c.most)
				}
			})
		})
	}
}

// An outage of less than 15 s is outlasted by default, whatever the first attempt took and
// whether or not the service says how long to wait. A longer one ends the call.
func TestOutages(t *testing.T) {
	t.Parallel()
	const hang = 20 * time.Second
	for name, c := range map[string]struct {
		header http.Header
		outage time.Duration // after the first failure
		ok     bool
	}{
		"short":                         {nil, 14*time.Second + 990*time.Millisecond, true},
		"long":                          {nil, 15*time.Second + 10*time.Millisecond, false},
		"short, with Retry-After":       {http.Header{"Retry-After": {"1"}}, 13*time.Second + 990*time.Millisecond, true},
		"a failover of Redis":           {http.Header{"Retry-After": {"1"}}, 6 * time.Second, true},
		"long, with Retry-After":        {http.Header{"Retry-After": {"1"}}, 16 * time.Second, false},
		"a Retry-After of what remains": {http.Header{"Retry-After": {"9"}}, 12 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				option, attempts := transport(func(attempt int) (int, http.Header) {
					if attempt == 1 {
						time.Sleep(hang) // of the bubble
					}
					if time.Since(began) < hang+c.outage {
						return 503, c.header
					}
					return 200, nil
				}).client()
				api, _ := clientOf(t, "http://atlas.example", option, client.WithRetry(client.Retry{}))
				err := search(api)
				if took := time.Since(began); (err == nil) != c.ok || took > hang+15*time.Second || *attempts > 13 {
					t.Errorf("%d attempts in %s: %v", *attempts, took, err)
				}
			})
		})
	}
}

// until fails up to an attempt.
func until(good, attempt, failure int) int {
	if attempt < good {
		return failure
	}
	return http.StatusOK
}

// A bubble's clock begins at a fixed time.
func inSeconds(n int) string {
	return time.Date(2000, 1, 1, 0, 0, n, 0, time.UTC).Format(http.TimeFormat)
}

func TestContextEndsWaits(t *testing.T) {
	t.Parallel()
	answer := transport(func(int) (int, http.Header) { return 503, http.Header{"Retry-After": {"8"}} })
	t.Run("cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			option, _ := answer.client()
			api, _ := clientOf(t, "http://atlas.example", option, client.WithRetry(client.Retry{}))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*time.Second, cancel)
			began := time.Now()
			_, err := api.Accounts.Search(ctx, client.Search{})
			if took := time.Since(began); took != 3*time.Second || !errors.Is(err, context.Canceled) || !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("%v after %s", err, took)
			}
		})
	})
	t.Run("a deadline that comes before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			option, _ := answer.client()
			api, _ := clientOf(t, "http://atlas.example", option, client.WithRetry(client.Retry{}))
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
			defer cancel()
			began := time.Now()
			if _, err := api.Accounts.Search(ctx, client.Search{}); time.Since(began) != 0 || !errors.Is(err, client.ErrUnavailable) {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	})
}

// A server that takes a request and says nothing is left after the timeout.
func TestTimeoutOfAnAttempt(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	c, attempts := dial(t, failing(1, func(http.ResponseWriter, *http.Request) { <-release }), client.WithTimeout(100*time.Millisecond))
	if err := search(c); err != nil || attempts.Load() != 2 {
		t.Errorf("%d attempts, %v", attempts.Load(), err)
	}
}

// The token is requested for each attempt, and its failure is final.
func TestTokens(t *testing.T) {
	t.Parallel()
	var tokens []string
	n := 0
	once := failing(1, status(503, ""))
	c, _ := dial(t, func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		once(w, r)
	}, client.WithToken(func(context.Context) (string, error) { n++; return fmt.Sprint("t", n), nil }))
	if err := search(c); err != nil || strings.Join(tokens, ",") != "Bearer t1,Bearer t2" {
		t.Errorf("%v: %v", err, tokens)
	}
	broken := errors.New("the issuer is away")
	c, attempts := dial(t, failing(0, nil), client.WithToken(func(context.Context) (string, error) { return "", broken }))
	if err := search(c); !errors.Is(err, broken) || attempts.Load() != 1 {
		t.Errorf("%d attempts, %v", attempts.Load(), err)
	}
}
