package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"atlas/service/api"
	"atlas/service/oidc"
)

// A finished sign-in is not finished again, even with the cookie: the provider is not called.
func TestSignInIsFinishedOnce(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	v := w.visitor(t)
	answer := w.provider.approve(t, v.begin("/x"))
	name := v.flow()
	cookie := v.cookies()[name]
	if to := v.finish(answer); to != "/x" {
		t.Errorf("signing in leads to %s", to)
	}
	if to := v.finish(answer); to != "/#sign-in-failed=expired" || v.session("GET").User == nil {
		t.Errorf("the callback again leads to %s", to)
	}
	w.provider.set(func(p *provider) { p.fails = 500 })
	replay := w.visitor(t)
	replay.plant(name, cookie)
	if to := replay.finish(answer); to != "/x#sign-in-failed=expired" || replay.session("GET").User != nil {
		t.Errorf("a replay leads to %s", to)
	}
}

// Tabs of one browser sign in concurrently, and a foreign answer ends none.
func TestSignInsInTwoTabs(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	v := w.visitor(t)
	first := w.provider.approve(t, v.begin("/first"))
	second := w.provider.approve(t, v.begin("/second"))
	foreign := url.Values{"code": {"x"}, "state": {"another"}}
	for _, c := range []struct {
		answer url.Values
		to     string
		left   int
	}{{foreign, "/#sign-in-failed=expired", 2}, {first, "/first", 1}, {second, "/second", 0}} {
		if to := v.finish(c.answer); to != c.to {
			t.Errorf("the answer leads to %s, want %s", to, c.to)
		}
		cookies := v.cookies()
		delete(cookies, "__Host-atlas")
		if len(cookies) != c.left {
			t.Errorf("after %s: %v", c.to, cookies)
		}
	}
}

// A browser that begins repeatedly does not collect more cookies than fit into a header.
func TestManySignInsUnderWay(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	v := w.visitor(t)
	for i := range 10 {
		back := fmt.Sprint("/", i, "?q=", strings.Repeat("x", 1000))
		address := v.begin(back)
		size := 0
		for name, value := range v.cookies() {
			size += len(name) + len(value)
		}
		if size > 4500 {
			t.Errorf("after %d sign-ins the cookies have %d bytes", i+1, size)
		}
		if i == 9 {
			if to := v.finish(w.provider.approve(t, address)); to != back {
				t.Errorf("the last leads to %s", to)
			}
		}
	}
}

// holdTokens blocks the token endpoint until letGo is called, and returns how many wait.
func (p *provider) holdTokens(t *testing.T) (waiting func() int, letGo func()) {
	t.Helper()
	held := make(chan struct{})
	var lock sync.Mutex
	n := 0
	p.set(func(p *provider) {
		p.hold = func() {
			lock.Lock()
			n++
			lock.Unlock()
			<-held
		}
	})
	letGo = sync.OnceFunc(func() { close(held) })
	t.Cleanup(letGo)
	return func() int { lock.Lock(); defer lock.Unlock(); return n }, letGo
}

// hang sends n callbacks that wait for the provider.
func (w *signInWorld) hang(t *testing.T, n int) (done func()) {
	t.Helper()
	waiting, letGo := w.provider.holdTokens(t)
	var group sync.WaitGroup
	for range n {
		v := w.visitor(t)
		answer := w.provider.approve(t, v.begin("/x"))
		group.Go(func() {
			if to := v.finish(answer); to != "/x" {
				t.Errorf("a callback that waited leads to %s", to)
			}
		})
	}
	waitUntil(t, "all wait for the provider", func() bool { return waiting() == n }, func() string { return fmt.Sprint(waiting()) })
	return func() { letGo(); group.Wait() }
}

// A provider that does not answer takes few places of the server.
func TestSignInsPastTheBound(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t)
	w.provider.profile = jwt.MapClaims{"sub": "ann"}
	done := w.hang(t, 32)
	v := w.visitor(t)
	if to := v.finish(w.provider.approve(t, v.begin("/x"))); to != "/x#sign-in-failed=away" {
		t.Errorf("one more leads to %s", to)
	}
	done()
	v.signIn()
}

// A provider that does not answer and a client that sends its body slowly block nobody,
// however few requests the server accepts.
func TestVisitsPastTheBound(t *testing.T) {
	t.Parallel()
	w := newSignInWorld(t, func(s *api.Server) { s.MaxRequests = 16 })
	body, slow := io.Pipe()
	t.Cleanup(func() { _ = slow.Close() })
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), "POST", w.server.URL+"/session", body)
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := w.server.Client().Do(r); err == nil {
			_ = res.Body.Close()
		}
	}()
	_, err := slow.Write([]byte("{")) // the request has come
	fatal(t, err)
	done := w.hang(t, 32)
	v := w.visitor(t)
	for _, method := range []string{"GET", "DELETE"} {
		if status, _, text := v.do(method, "/session"); status != http.StatusOK {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	for path, where := range map[string]string{
		"/session/sign-in?return=/x":   w.provider.URL + "/auth",
		oidc.CallbackPath + "?state=x": "/#sign-in-failed=expired",
	} {
		if status, to, _ := v.do("GET", path); status != http.StatusSeeOther || !strings.HasPrefix(to, where) {
			t.Errorf("%s: %d %s", path, status, to)
		}
	}
	if status, _, _ := v.do("GET", workspacePath); status != http.StatusUnauthorized {
		t.Errorf("another request: %d", status)
	}
	done()
	v.signIn()
}
