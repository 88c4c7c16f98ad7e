package rig

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A Tap changes requests, and reports what it sends and what comes back.
func TestTap(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, r.URL.RequestURI()+" "+string(body))
	}))
	defer backend.Close()
	seen := make(chan Exchange, 1)
	address := Tap(t, backend.URL, func(r *http.Request, body []byte) []byte {
		r.URL.RawQuery = "b=2"
		return append(body, " and more"...)
	}, func(e Exchange) { seen <- e })
	res, err := http.Post(address+"/x/_search?a=1", "application/json", strings.NewReader("body"))
	Check(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	const want = "/x/_search?b=2 body and more"
	e := <-seen
	if err != nil || string(answer) != want || res.StatusCode != http.StatusAccepted {
		t.Errorf("%d %s %v, want %s", res.StatusCode, answer, err, want)
	}
	if e.Target != "/x/_search?b=2" || string(e.Body) != "body and more" || string(e.Answer) != want ||
		e.Status != http.StatusAccepted || !e.Searches() {
		t.Errorf("seen %+v", e)
	}
}
