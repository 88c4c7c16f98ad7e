package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/manual"
	"atlas/service/session"
	"atlas/workspace"
)

// openServer has all addresses that need no key.
func openServer(t *testing.T) *Server {
	t.Helper()
	return &Server{
		Core: Core{
			Log:       slog.New(slog.DiscardHandler),
			PublicURL: "https://atlas.example",
		},
		TokenIssuer:  "https://issuer.example",
		Sessions:     noSessions{},
		SignIn:       noSignIn{},
		PlainCookies: true,
		Unsubscribe:  noMails{},
		MailLinks:    noMails{},
		Erasures:     noErasures{},
	}
}

type noSessions struct{}

func (noSessions) Start(context.Context, session.Grant) (string, error) { return "", errNothing }
func (noSessions) Redeem(context.Context, string) (string, error)       { return "", errNothing }
func (noSessions) Get(context.Context, string) (session.Session, error) {
	return session.Session{}, errNothing
}
func (noSessions) End(context.Context, string) error { return errNothing }

type noSignIn struct{ SignIn }

type noMails struct{}

func (noMails) WantsMail(context.Context, workspace.ID, workspace.UserID) (string, bool, error) {
	return "", false, errNothing
}
func (noMails) SetWantsMail(context.Context, workspace.ID, workspace.UserID, bool) error {
	return errNothing
}
func (noMails) Read(string) (workspace.ID, workspace.UserID, error) {
	return workspace.ID{}, workspace.UserID{}, errNothing
}

type noErasures struct{}

func (noErasures) Reads(string) error                  { return errNothing }
func (noErasures) Works(context.Context, string) error { return errNothing }
func (noErasures) Erase(context.Context, string) error { return errNothing }

var errNothing = fault.New(fault.Unauthorized, "there is nothing")

// ask sends a request from an address.
func ask(t *testing.T, h http.Handler, method, path, from string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if from != "" {
		r.RemoteAddr = from + ":5000"
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Each address that the router knows is in one of the two tables, and each row of the table
// of strangers has a class with limits.
func TestEveryAddressIsInATable(t *testing.T) {
	t.Parallel()
	s := openServer(t)
	s.MCP = &MCP{}
	g := s.router()
	for _, r := range g.Routes() {
		keyed, row := s.strangers.keyed[rowKey(r.Method, r.Path)], s.strangers.rows[rowKey(r.Method, r.Path)]
		switch {
		case keyed && row != nil:
			t.Errorf("%s %s is in both tables", r.Method, r.Path)
		case !keyed && row == nil:
			// A method that the path does not take.
			if w := ask(t, g, r.Method, strings.NewReplacer(":id", "x", "*file", "x").Replace(r.Path), ""); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s is in no table, and answers %d", r.Method, r.Path, w.Code)
			}
		}
	}
	for key, row := range s.strangers.rows {
		l := limitsOf[row.class]
		if l.address.perSecond < 1 || l.address.burst < row.cost || l.sum.burst < row.cost || l.ofAddress < 1 ||
			l.places < l.ofAddress || l.of == "" || row.operation == "" {
			t.Errorf("%s: %+v, %+v", key, row, l)
		}
	}
	if len(s.strangers.rows) < 20 {
		t.Errorf("%d rows", len(s.strangers.rows))
	}
}

// One client gets the rate of a class and no more, waits for it, and takes nothing from
// other clients and other classes.
func TestPaceOfOneClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		class        class
		cost         int
	}{
		"documents":   {"GET", Version + documentPath, classDocuments, costOpenAPI},
		"a search":    {"GET", "/docs/search?q=limits", classDocuments, costSearch},
		"probes":      {"GET", readyPath, classProbes, 1},
		"sign-in":     {"GET", sessionPath, classSignIn, 1},
		"unsubscribe": {"GET", unsubscribePath, classUnsubscribe, 1},
		"erasure":     {"GET", erasurePath, classErasure, 1},
		"unknown":     {"POST", "/wp-login.php", classUnknown, 1},
		"a method":    {"DELETE", livePath, classUnknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := openServer(t)
				h := s.router()
				// Searching makes the pages first. What marks their code has a clock that would
				// not end in a bubble.
				s.strangers.rows[rowKey(http.MethodGet, DocsPath+manual.SearchPath)].handle = func(ctx *gin.Context) { ctx.Status(http.StatusOK) }
				limits := limitsOf[c.class].address
				const clients, lasting = 50, 10 * time.Second
				var answered, refused atomic.Int64
				began := time.Now()
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for time.Since(began) < lasting {
							if w := ask(t, h, c.method, c.path, "203.0.113.7"); w.Code == http.StatusTooManyRequests {
								if w.Header().Get("Retry-After") != "1" {
									t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
								}
								refused.Add(1)
							} else {
								answered.Add(1)
							}
						}
					})
				}
				time.Sleep(lasting / 2)
				// Another client, and this one at another class, are answered at once.
				now := time.Now()
				if w := ask(t, h, c.method, c.path, "203.0.113.8"); w.Code == http.StatusTooManyRequests || time.Since(now) > 0 {
					t.Errorf("another client: %d after %v", w.Code, time.Since(now))
				}
				other := "/nothing"
				if c.class == classUnknown {
					other = livePath
				}
				if w := ask(t, h, "GET", other, "203.0.113.7"); w.Code == http.StatusTooManyRequests || time.Since(now) > 0 {
					t.Errorf("another class: %d after %v", w.Code, time.Since(now))
				}
				all.Wait()
				most := int64(limits.burst+limits.perSecond*int((lasting+patience)/time.Second))/int64(c.cost) + 1
				if n := answered.Load(); n > most || n < most/2 {
					t.Errorf("%d were answered, not up to %d", n, most)
				}
				// A refusal takes as long as a wait.
				if n := refused.Load(); n > int64(clients*(lasting/patience+1)) {
					t.Errorf("%d were refused", n)
				}
			})
		})
	}
}

// Many clients together get the sum of their class, and leave other classes alone. Where
// the address is not known the sum holds too.
func TestPaceOfAll(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := openServer(t).router()
			sum := limitsOf[classUnknown].sum
			var answered atomic.Int64
			var all sync.WaitGroup
			for i := range 4 * sum.burst {
				all.Go(func() {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/nothing", nil)
					r.RemoteAddr = "203.0." + string('0'+rune(i/256%10)) + "." + itoa(i%256) + ":5000"
					if !known {
						r.RemoteAddr = "10.0.0.1:5000"
						r.Header.Set(headerForwardedFor, "203.0.113.7")
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if w.Code != http.StatusTooManyRequests {
						answered.Add(1)
					}
				})
			}
			now := time.Now()
			if w := ask(t, h, "GET", livePath, "203.0.113.7"); w.Code != http.StatusOK || time.Since(now) > 0 {
				t.Errorf("another class: %d after %v", w.Code, time.Since(now))
			}
			all.Wait()
			if n, most := answered.Load(), int64(sum.burst+sum.perSecond)+1; n > most || n < most/2 {
				t.Errorf("known %v: %d were answered, not up to %d", known, n, most)
			}
		})
	}
}

func itoa(n int) string {
	return string([]byte{'0' + byte(n/100), '0' + byte(n/10%10), '0' + byte(n%10)})
}

// A balancer's own probes are answered at once, whatever strangers send.
func TestProbesOfBalancers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := openServer(t).router()
		var all sync.WaitGroup
		for i := range 2_000 {
			all.Go(func() { ask(t, h, "GET", readyPath, "203.0.113."+itoa(i%256)) })
		}
		for range 5 {
			now := time.Now()
			if w := ask(t, h, "GET", readyPath, "10.0.0.1"); w.Code != http.StatusOK || time.Since(now) > 0 {
				t.Errorf("a probe: %d after %v", w.Code, time.Since(now))
			}
			time.Sleep(100 * time.Millisecond)
		}
		all.Wait()
	})
}

// Two hundred requests of readiness ask the backends once, a failure is forgotten as soon
// as a success, and who stops says so at once.
func TestReadinessIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, under atomic.Int64
		var broken atomic.Bool
		s := openServer(t)
		s.Probes = map[string]Probe{"redis": func(ctx context.Context) error {
			asked.Add(1)
			if under.Add(1) > 1 {
				t.Error("two looks at once")
			}
			defer under.Add(-1)
			time.Sleep(200 * time.Millisecond)
			if broken.Load() {
				return errors.New("away")
			}
			return ctx.Err()
		}}
		h := s.router()
		all := func(want int) {
			t.Helper()
			var group sync.WaitGroup
			for range 200 {
				group.Go(func() {
					if w := ask(t, h, "GET", readyPath, "10.0.0.1"); w.Code != want {
						t.Errorf("%d %s, want %d", w.Code, w.Body, want)
					}
				})
			}
			group.Wait()
		}
		all(200)
		time.Sleep(500 * time.Millisecond) // 0.7 s after the look began
		all(200)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		broken.Store(true)
		time.Sleep(readinessAge)
		all(503)
		broken.Store(false)
		time.Sleep(readinessAge)
		all(200)
		if n := asked.Load(); n != 3 {
			t.Errorf("asked %d times", n)
		}
		// Also for a request that waits for the backends meanwhile.
		time.Sleep(readinessAge)
		var group sync.WaitGroup
		group.Go(func() { all(503) })
		time.Sleep(100 * time.Millisecond)
		s.Drain()
		if w := ask(t, h, "GET", readyPath, "10.0.0.1"); w.Code != 503 || w.Body.String() != `{"status":"stopping"}` {
			t.Errorf("stopping: %d %s", w.Code, w.Body)
		}
		group.Wait()
	})
}

// Six hundred bodies that never come hold nothing that others need, and end.
func TestHalfOpenSignIns(t *testing.T) {
	t.Parallel()
	s := openServer(t)
	s.Sessions, s.MailLinks = startedSessions{}, anyLink{}
	listening := httptest.NewServer(s.Handler())
	t.Cleanup(listening.Close)
	address := strings.TrimPrefix(listening.URL, "http://")
	began := time.Now()
	open := make([]net.Conn, 600)
	for i := range open {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open[i] = c
		path := []string{sessionPath, unsubscribePath}[i%2]
		_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{")
	}
	for path, body := range map[string]string{sessionPath: `{"token":"x"}`, unsubscribePath: "again=1"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, listening.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusTooManyRequests {
			t.Errorf("POST %s meanwhile: %d", path, res.StatusCode)
		}
	}
	if held := len(s.strangers.places[classSignIn].used) + len(s.strangers.places[classUnsubscribe].used); held > 0 &&
		time.Since(began) < strangerBody {
		t.Errorf("%d places are held", held)
	}
	for _, c := range open[:10] {
		_ = c.SetReadDeadline(time.Now().Add(2 * strangerBody))
		answer, err := io.ReadAll(c)
		if err != nil || len(answer) == 0 {
			t.Errorf("a connection without its body: %q, %v", answer, err)
		}
	}
}

// anyLink takes every link.
type anyLink struct{}

func (anyLink) Read(string) (workspace.ID, workspace.UserID, error) {
	return workspace.NewID(), workspace.UserID{}, nil
}

// startedSessions has a session for everybody.
type startedSessions struct{ noSessions }

func (startedSessions) Redeem(context.Context, string) (string, error) { return "x", nil }
func (startedSessions) Get(context.Context, string) (session.Session, error) {
	return session.Session{Grant: session.Grant{User: auth.User{Name: "N"}}, Ends: time.Now().Add(time.Hour)}, nil
}

// Who may not sign in is told so before the body comes, and takes no place.
func TestOriginBeforePlaces(t *testing.T) {
	t.Parallel()
	s := openServer(t)
	h := s.router()
	for range limitsOf[classSignIn].places {
		if _, ok := s.strangers.places[classSignIn].acquire(1, quota{everyone{}, limitsOf[classSignIn].places}); !ok {
			t.Fatal("no place")
		}
	}
	never := func(from string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, sessionPath, endless{})
		r.Header.Set("Sec-Fetch-Site", from)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if code := never("cross-site"); code != http.StatusForbidden {
		t.Errorf("another site: %d", code)
	}
	if code := never("same-origin"); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without an end: %d", code)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// Places: a client has some, all have more, and one that does not read its answer keeps its own.
func TestPlacesOfStrangers(t *testing.T) {
	t.Parallel()
	s := openServer(t)
	s.Meter = unmetered{}
	row := &stranger{class: classDocuments}
	by := func(from string) *call {
		ctx, _ := gin.CreateTestContext(httptest.NewRecorder())
		gone, cancel := context.WithCancel(t.Context())
		cancel() // a refusal does not wait
		ctx.Request = httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)
		ctx.Request.RemoteAddr = from + ":5000"
		c := &call{server: &s.Core, gin: ctx}
		c.client = s.clientOf(ctx.Request)
		return c
	}
	limits, n := limitsOf[classDocuments], int64(0)
	for by("203.0.113.7").takePlace(row) == nil {
		n++
	}
	if n != limits.ofAddress {
		t.Errorf("one client holds %d", n)
	}
	for i := range int(limits.places) {
		if by("198.51.100."+itoa(i%256)).takePlace(row) == nil {
			n++
		}
	}
	if n != limits.places {
		t.Errorf("all hold %d", n)
	}
	if err := by("203.0.113.7").takePlace(&stranger{class: classProbes}); err != nil {
		t.Error("another class:", err)
	}
}
