package endpoint

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
	"atlas/internal/rule"
	"atlas/service/auth"
)

// Addresses of the tests, one of each class that has any.
const (
	sessionAt, unsubscribeAt, erasureAt, searchAt = "/session", "/unsubscribe", "/erasure", "/docs/search"
	documentCost, searchCost                      = 10, 20
)

// openTable is a server, and a table of addresses that need no key.
func openTable(t *testing.T) (*Core, Table) {
	t.Helper()
	s := &Core{Log: slog.New(slog.DiscardHandler), PublicURL: "https://atlas.example"}
	s.Prepare()
	s.Authenticate = func(*http.Request) (auth.Identity, error) { return auth.Identity{}, errRefused }
	empty := func(ctx *gin.Context) { ctx.Status(http.StatusNoContent) }
	body := rule.Only("token", rule.Text(1, 100))
	failing := func(ctx *gin.Context, err error) { CallOf(ctx).Fail(err) }
	return s, Table{Strangers: append(
		s.HealthRows(),
		Stranger{Method: http.MethodGet, Path: "/docs/*file", Operation: "docs", Class: ClassDocuments, Handle: empty},
		Stranger{
			Method:    http.MethodGet,
			Path:      searchAt,
			Below:     true,
			Operation: "docs",
			Class:     ClassDocuments,
			Cost:      searchCost,
			Handle:    empty,
		},
		Stranger{
			Method: http.MethodGet, Path: Version + DocumentPath, Operation: "get_openapi", Class: ClassDocuments, Cost: documentCost,
			Handle: s.Unchanging(func() []byte { return []byte(`{}`) }),
		},
		Stranger{Method: http.MethodGet, Path: unsubscribeAt, Operation: "unsubscribe", Class: ClassUnsubscribe, Handle: empty},
		Stranger{Method: http.MethodGet, Path: erasureAt, Operation: "erase", Class: ClassErasure, Handle: empty},
		Stranger{Method: http.MethodGet, Path: sessionAt, Operation: "get_session", Class: ClassSignIn, Handle: empty},
		Visit(Stranger{
			Method: http.MethodPost, Path: sessionAt, Operation: "sign_in", Class: ClassSignIn,
			Look: func(c *Call) error {
				if c.Gin.GetHeader("Sec-Fetch-Site") == "cross-site" {
					return errRefused
				}
				return TakesVisit(body)(c)
			},
		}, func(ctx *gin.Context) error { _, err := ReadVisit(ctx, body); return err }, failing),
		Visit(Stranger{
			Method: http.MethodPost, Path: unsubscribeAt, Operation: "unsubscribe_again", Class: ClassUnsubscribe,
			Look: (*Call).ReceiveVisit,
		}, func(*gin.Context) error { return nil }, failing),
	)}
}

// opened is the router of openTable.
func opened(t *testing.T) (*Core, *gin.Engine) {
	t.Helper()
	s, table := openTable(t)
	return s, s.Router(table)
}

var errRefused = fault.New(fault.Unauthorized, "there is nothing")

// askFrom sends a request from an address.
func askFrom(t *testing.T, h http.Handler, method, path, from string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if from != "" {
		r.RemoteAddr = from + ":5000"
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A class has limits and a name for them.
func TestEveryClassHasLimits(t *testing.T) {
	t.Parallel()
	for class, l := range limitsOf {
		bound := l.address.PerSecond < 1 || l.address.Burst < l.address.PerSecond
		if bound && class != int(classBalancers) || l.sum.Burst < 1 || l.ofAddress < 1 || l.places < l.ofAddress || l.of == "" {
			t.Errorf("%d: %+v", class, l)
		}
	}
}

// A table whose limits cannot work is refused at the start.
func TestTableIsChecked(t *testing.T) {
	t.Parallel()
	empty := func(*gin.Context) {}
	for name, change := range map[string]func(*Table){
		"in both tables": func(table *Table) { table.Mounts = []Mount{{http.MethodGet, sessionAt, func(*Call) {}}} },
		"without a name": func(table *Table) {
			table.Strangers = append(table.Strangers, Stranger{Method: http.MethodGet, Path: "/x", Class: ClassDocuments, Handle: empty})
		},
		"dearer than its class": func(table *Table) {
			table.Strangers = append(table.Strangers, Stranger{
				Method: http.MethodGet, Path: "/x", Operation: "x", Class: ClassErasure, Cost: 51, Handle: empty,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, table := openTable(t)
			change(&table)
			defer func() {
				if recover() == nil {
					t.Error("it serves")
				}
			}()
			s.Router(table)
		})
	}
}

// One client gets the rate of a class and no more, waits for it, and takes nothing from other
// clients and other classes.
func TestPaceOfOneClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		class        class
		cost         int
	}{
		"documents":   {"GET", Version + DocumentPath, ClassDocuments, documentCost},
		"a search":    {"GET", "/docs/search?q=limits", ClassDocuments, searchCost},
		"probes":      {"GET", readyPath, classProbes, 1},
		"sign-in":     {"GET", sessionAt, ClassSignIn, 1},
		"unsubscribe": {"GET", unsubscribeAt, ClassUnsubscribe, 1},
		"erasure":     {"GET", erasureAt, ClassErasure, 1},
		"unknown":     {"POST", "/wp-login.php", classUnknown, 1},
		"a method":    {"DELETE", livePath, classUnknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, h := opened(t)
				limits := limitsOf[c.class].address
				const clients, lasting = 50, 10 * time.Second
				var answered, refused atomic.Int64
				began := time.Now()
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for time.Since(began) < lasting {
							if w := askFrom(t, h, c.method, c.path, "203.0.113.7"); w.Code == http.StatusTooManyRequests {
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
				// Another client, and this one in another class, are answered at once.
				now := time.Now()
				if w := askFrom(t, h, c.method, c.path, "203.0.113.8"); w.Code == http.StatusTooManyRequests || time.Since(now) > 0 {
					t.Errorf("another client: %d after %v", w.Code, time.Since(now))
				}
				other := "/nothing"
				if c.class == classUnknown {
					other = livePath
				}
				if w := askFrom(t, h, "GET", other, "203.0.113.7"); w.Code == http.StatusTooManyRequests || time.Since(now) > 0 {
					t.Errorf("another class: %d after %v", w.Code, time.Since(now))
				}
				all.Wait()
				most := int64(limits.Burst+limits.PerSecond*int((lasting+patience)/time.Second))/int64(c.cost) + 1
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

// Many clients together get the sum of their class, and do not affect other classes. The sum
// also applies where the address is not known.
func TestPaceOfAll(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			_, h := opened(t)
			sum := limitsOf[classUnknown].sum
			var answered atomic.Int64
			var all sync.WaitGroup
			for i := range 4 * sum.Burst {
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
			if w := askFrom(t, h, "GET", livePath, "203.0.113.7"); w.Code != http.StatusOK || time.Since(now) > 0 {
				t.Errorf("another class: %d after %v", w.Code, time.Since(now))
			}
			all.Wait()
			if n, most := answered.Load(), int64(sum.Burst+sum.PerSecond)+1; n > most || n < most/2 {
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
		_, h := opened(t)
		var all sync.WaitGroup
		for i := range 2_000 {
			all.Go(func() { askFrom(t, h, "GET", readyPath, "203.0.113."+itoa(i%256)) })
		}
		for range 5 {
			now := time.Now()
			if w := askFrom(t, h, "GET", readyPath, "10.0.0.1"); w.Code != http.StatusOK || time.Since(now) > 0 {
				t.Errorf("a probe: %d after %v", w.Code, time.Since(now))
			}
			time.Sleep(100 * time.Millisecond)
		}
		all.Wait()
	})
}

// Two hundred requests of readiness check the backends once, a failure expires as soon as a
// success, and a stopping server reports it at once.
func TestReadinessIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked, under atomic.Int64
		var broken atomic.Bool
		s, table := openTable(t)
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
		h := s.Router(table)
		all := func(want int) {
			t.Helper()
			var group sync.WaitGroup
			for range 200 {
				group.Go(func() {
					if w := askFrom(t, h, "GET", readyPath, "10.0.0.1"); w.Code != want {
						t.Errorf("%d %s, want %d", w.Code, w.Body, want)
					}
				})
			}
			group.Wait()
		}
		all(200)
		time.Sleep(500 * time.Millisecond) // 0.7 s after the check began
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
		if w := askFrom(t, h, "GET", readyPath, "10.0.0.1"); w.Code != 503 || w.Body.String() != `{"status":"stopping"}` {
			t.Errorf("stopping: %d %s", w.Code, w.Body)
		}
		group.Wait()
	})
}

// Six hundred bodies that never arrive block nothing, and end.
func TestHalfOpenSignIns(t *testing.T) {
	t.Parallel()
	s, table := openTable(t)
	listening := httptest.NewServer(s.Handler(table))
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
		path := []string{sessionAt, unsubscribeAt}[i%2]
		_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{")
	}
	for path, body := range map[string]string{sessionAt: `{"token":"x"}`, unsubscribeAt: "again=1"} {
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
	if held := len(s.strangers.places[ClassSignIn].used) + len(s.strangers.places[ClassUnsubscribe].used); held > 0 &&
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

// A request is examined before it takes a place.
func TestLookBeforePlaces(t *testing.T) {
	t.Parallel()
	s, h := opened(t)
	for range limitsOf[ClassSignIn].places {
		if _, ok := s.strangers.places[ClassSignIn].acquire(1, quota{everyone{}, limitsOf[ClassSignIn].places}); !ok {
			t.Fatal("no place")
		}
	}
	never := func(from string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, sessionAt, unending{})
		r.Header.Set("Sec-Fetch-Site", from)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if code := never("cross-site"); code != http.StatusUnauthorized {
		t.Errorf("another site: %d", code)
	}
	if code := never("same-origin"); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without an end: %d", code)
	}
}

type unending struct{}

func (unending) Read(b []byte) (int, error) { return len(b), nil }

// Places: a client has some, all have more, and one that does not read its answer keeps its own.
func TestPlacesOfStrangers(t *testing.T) {
	t.Parallel()
	s, _ := openTable(t)
	row := &Stranger{Class: ClassDocuments}
	by := func(from string) *Call {
		ctx, _ := gin.CreateTestContext(httptest.NewRecorder())
		gone, cancel := context.WithCancel(t.Context())
		cancel() // a refusal does not wait
		ctx.Request = httptest.NewRequestWithContext(gone, http.MethodGet, "/", nil)
		ctx.Request.RemoteAddr = from + ":5000"
		c := &Call{server: s, Gin: ctx}
		c.Client = s.clientOf(ctx.Request)
		return c
	}
	limits, n := limitsOf[ClassDocuments], int64(0)
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
	if err := by("203.0.113.7").takePlace(&Stranger{Class: classProbes}); err != nil {
		t.Error("another class:", err)
	}
}
