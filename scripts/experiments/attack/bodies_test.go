//go:build attack

package attack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
	"atlas/service/openapi/conformance"
)

// envRequests is the number of requests of TestBodies, 100,000 by default.
const envRequests = "ATLAS_ATTACK_REQUESTS"

// Mutated requests, derived from the examples of the document: none is answered with a
// 5xx, every refusal has its documented form, and after the first fifth the memory and
// the goroutines of the server do not grow.
func TestBodies(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "bodies", "mutated bodies, parameters, headers and methods", seed)
	requests := figures.Number(t, envRequests, 100, 100_000)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve(rig.PatientRedis)
	b := newRequestSender(t, r, s, seed)
	idle, err := s.Goroutines(t.Context())
	rig.Check(t, err)
	b.send(0, requests/5)
	early, err := resident(s.PID())
	rig.Check(t, err)
	most := early
	for part := 1; part < 5; part++ {
		b.send(part*requests/5, (part+1)*requests/5)
		now, err := resident(s.PID())
		rig.Check(t, err)
		most = max(most, now)
		t.Logf("after %d requests: %d MB resident", (part+1)*requests/5, now>>20)
	}
	pool.CloseIdleConnections()
	var left float64
	if err := rig.Until(30*time.Second, "goroutines are as many as before", func() error {
		if left, err = s.Goroutines(t.Context()); err != nil || left > idle+20 {
			return fmt.Errorf("%v goroutines, %v before: %w", left, idle, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	f.Exactly("requests", float64(b.sent.Load()), float64(requests), "")
	f.AtLeast("accepted", float64(b.accepted.Load()), float64(requests/200), "")
	f.AtLeast("refused", float64(b.refused.Load()), float64(requests/3), "")
	f.Report("refused by HTTP itself, before Atlas", float64(b.before.Load()), "")
	f.Exactly("answers of 5xx", float64(b.broken.Load()), 0, "")
	f.Exactly("refusals of another shape than the documented", float64(b.shapeless.Load()), 0, "")
	f.AtMost("large bodies whose sender was cut off before the answer", float64(b.cut.Load()), float64(requests/500), "")
	f.Report("resident memory after a fifth", float64(early>>20), "MB")
	f.AtMost("resident memory at most thereafter", float64(most>>20), float64(early>>20)*1.25+32, "MB")
	f.AtMost("goroutines more than before", left-idle, 20, "")
	f.Exactly("panics in the log", float64(strings.Count(s.Log(), `"msg":"panic"`)), 0, "")
}

// senders is the number of concurrent requests.
const senders = 8

var pool = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders, DisableCompression: true}}

// requestSender sends the requests of a generator.
type requestSender struct {
	t         *testing.T
	generator *generator
	document  *conformance.Document
	root      *url.URL // with the version
	tokens    []rig.Caller

	sent, accepted, refused, before, broken, shapeless, cut atomic.Int64
}

func newRequestSender(t *testing.T, r *rig.Rig, s *rig.Server, seed uint64) *requestSender {
	t.Helper()
	w := r.Workspace(rig.Unlimited, "Bodies")
	_, owner := w.AddMember("owner", "Owner", "owner@bodies.example")
	b := &requestSender{t: t, tokens: []rig.Caller{s.By(w), s.ByUser(w, owner)}}
	key := b.tokens[0]
	text := must(t, key, "GET", "/openapi.json", nil).Raw
	var err error
	b.document, err = conformance.Read(text)
	rig.Check(t, err)
	b.root, err = url.Parse(s.Base)
	rig.Check(t, err)
	ids := []string{sample}
	for _, d := range append(held, "signals") {
		some, err := must(t, key, "POST", "/data/"+d+"/search", object{"limit": 3}).IDs()
		rig.Check(t, err)
		ids = append(ids, some...)
	}
	for _, d := range held {
		ids = append(ids, makeView(t, key, singular(d), "static", "Bodies static"), makeView(t, key, singular(d), "dynamic", "Bodies dynamic"))
	}
	b.generator = &generator{spec: readSpec(t, text), seed: seed, ids: ids}
	return b
}

// send sends the requests with numbers from `from` to `to`.
func (b *requestSender) send(from, to int) {
	var next atomic.Int64
	next.Store(int64(from))
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= to || b.t.Context().Err() != nil {
					return
				}
				b.one(n)
			}
		})
	}
	all.Wait()
}

// one sends a request and checks its answer.
func (b *requestSender) one(n int) {
	c := b.generator.request(n)
	caller := b.tokens[n%len(b.tokens)]
	target := c.target
	if caller.Workspace != "" && !strings.Contains(target, "workspace_id") {
		separator := "?"
		if strings.Contains(target, "?") {
			separator = "&"
		}
		target += separator + "workspace_id=" + caller.Workspace
	}
	// Opaque sends the target unchanged.
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	req := (&http.Request{
		Method: c.method, URL: &url.URL{Scheme: "http", Host: b.root.Host, Opaque: "//" + b.root.Host + b.root.Path + escaped(target)},
		Header: c.header, Host: b.root.Host, ContentLength: int64(len(c.body)),
	}).WithContext(ctx)
	if len(c.body) > 0 || c.chunked {
		req.Body = io.NopCloser(bytes.NewReader(c.body))
	}
	if c.chunked {
		req.ContentLength = -1
	}
	if req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+caller.Token)
	}
	fail := func(counter *atomic.Int64, why string, got []byte) {
		if counter.Add(1) <= 20 {
			b.t.Errorf("request %d (%s): %s %.300s %.300q: %s: %.600s", n, c.how, c.method, target, c.body, why, got)
		}
	}
	b.sent.Add(1)
	res, err := pool.Do(req)
	if err != nil {
		if _, unreadable := url.ParseRequestURI(target); (unreadable != nil || req.Header.Get("Expect") != "") && ctx.Err() == nil {
			b.before.Add(1) // net/http refuses these itself, and closes the connection while the body is being sent
			return
		}
		if len(c.body) > 1<<20 && ctx.Err() == nil {
			b.cut.Add(1) // the answer came while the body was being sent, and the connection was closed
			return
		}
		fail(&b.broken, err.Error(), nil)
		return
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	switch {
	case res.Header.Get("X-Request-Id") == "" && res.StatusCode >= 400:
		// net/http refuses it as malformed and closes the connection, sometimes before
		// its answer is read completely.
		b.before.Add(1)
		if res.StatusCode != 400 && res.StatusCode != 417 && res.StatusCode != 431 && res.StatusCode != 501 {
			fail(&b.shapeless, res.Status, got)
		}
	case err != nil:
		fail(&b.broken, err.Error(), got)
	case res.StatusCode >= 500:
		fail(&b.broken, res.Status, got)
	case res.StatusCode < 300:
		b.accepted.Add(1)
	default:
		b.refused.Add(1)
		if c.method == http.MethodHead {
			return // its answer has no body
		}
		if problem := b.document.Refusal(c.method, req.URL.Opaque[len("//"+b.root.Host):], res, got); problem != "" {
			fail(&b.shapeless, problem, got)
		}
	}
}

// escaped is a target with what no request line can hold percent-encoded, and
// every other byte as it is.
func escaped(target string) string {
	var b strings.Builder
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '#' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// resident is the resident memory of a process, in bytes.
func resident(pid int) (int64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := p.Stat()
	return int64(stat.ResidentMemory()), err
}
