package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"atlas/indexer/source"
	"atlas/internal/fault"
)

// city is a server that behaves like the documented ones, and fails on request.
type city struct {
	mu       sync.Mutex
	rows     int
	changed  func(i int) int64 // milliseconds
	faults   []http.HandlerFunc
	asked    []string
	tokens   []string
	most     int
	hiddenOf int // pages after which the server is gone, 0 for never
	pages    int
}

func (c *city) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.URL.String())
	c.tokens = append(c.tokens, r.Header.Get("X-App-Token")+r.Header.Get("X-Esri-Authorization"))
	if len(c.faults) > 0 {
		f := c.faults[0]
		c.faults = c.faults[1:]
		f(w, r)
		return
	}
	if c.hiddenOf > 0 && c.pages >= c.hiddenOf {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	q := r.URL.Query()
	switch {
	case strings.HasPrefix(q.Get("$select"), "count("):
		_ = json.NewEncoder(w).Encode([]map[string]string{{"rows": strconv.Itoa(c.rows)}})
	case q.Get("returnCountOnly") != "":
		_ = json.NewEncoder(w).Encode(map[string]int{"count": c.rows})
	case strings.HasSuffix(r.URL.Path, ".json"):
		c.pages++
		limit, _ := strconv.Atoi(q.Get("$limit"))
		offset, _ := strconv.Atoi(q.Get("$offset"))
		rows := []map[string]any{}
		_, since, _ := strings.Cut(q.Get("$where"), ":updated_at >= '")
		for i := range c.rows {
			at := time.UnixMilli(c.changed(i)).UTC().Format("2006-01-02T15:04:05.000Z")
			if at >= strings.TrimSuffix(since, "'") {
				rows = append(rows, map[string]any{":id": fmt.Sprint("row-", i), ":updated_at": at, "permit": i})
			}
		}
		_ = json.NewEncoder(w).Encode(rows[min(offset, len(rows)):min(offset+limit, len(rows))])
	case strings.HasSuffix(r.URL.Path, "/query"):
		c.pages++
		limit, _ := strconv.Atoi(q.Get("resultRecordCount"))
		offset, _ := strconv.Atoi(q.Get("resultOffset"))
		limit = min(limit, c.most)
		features := []map[string]any{}
		for i := offset; i < min(offset+limit, c.rows); i++ {
			features = append(features, map[string]any{
				"attributes": map[string]any{"OBJECTID": i, "EDITED": c.changed(i)},
				"geometry":   map[string]any{"x": -79, "y": 43},
			})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"features": features, "exceededTransferLimit": offset+limit < c.rows})
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"objectIdField": "OBJECTID", "maxRecordCount": c.most, "fields": []any{}})
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != nil {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(code)
	}
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }
}

// start serves a city and returns options for a pull of it, and the waits.
func start(t *testing.T, c *city, kind, path string) (Options, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	if c.changed == nil {
		c.changed = func(i int) int64 { return 1_700_000_000_000 + int64(i)*1000 }
	}
	waited := &[]time.Duration{}
	d := &source.Description{Name: "here", Pull: source.Pull{Interface: kind, URL: server.URL + path, Page: 10}}
	return Options{Source: d, Dir: t.TempDir(), Token: "secret", Wait: func(_ context.Context, d time.Duration) error {
		*waited = append(*waited, d)
		return nil
	}}, waited
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	seen := map[string]bool{}
	for _, l := range all {
		if seen[l] || !json.Valid([]byte(l)) {
			t.Errorf("%s comes twice, or is no JSON", l)
		}
		seen[l] = true
	}
	return all
}

func TestSODA(t *testing.T) {
	t.Parallel()
	c := &city{rows: 35, faults: []http.HandlerFunc{status(500), status(429, "Retry-After", "7"), text(`[{"permit":1},{"per`)}}
	o, waited := start(t, c, "soda", "/resource/abcd-1234")
	var shown []string
	o.Progress = func(rows, total int64) { shown = append(shown, fmt.Sprint(rows, " of ", total)) }
	report, err := Pull(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if all := lines(t, report.File); len(all) != 35 || report.Rows != 35 || report.Part || report.Retries != 3 ||
		len(*waited) != 3 || (*waited)[1] != 7*time.Second {
		t.Errorf("%+v, %v, %d lines", report, *waited, len(all))
	}
	if got := strings.Join(shown, ", "); got != "10 of 35, 20 of 35, 30 of 35, 35 of 35" || report.Total != 35 {
		t.Errorf("%s; %+v", got, report)
	}
	for _, token := range c.tokens {
		if token != "secret" {
			t.Errorf("a request has the token %q", token)
		}
	}
	c.rows = 37 // two more, and a change in the second of the last one
	second, err := Pull(t.Context(), o)
	if err != nil || !second.Part || second.Since == "" || len(lines(t, second.File)) != 3 ||
		filepath.Base(second.File) != "here-changed.ndjson" {
		t.Errorf("%+v, %v", second, err)
	}
	o.All = true
	if whole, err := Pull(t.Context(), o); err != nil || whole.Part || len(lines(t, whole.File)) != 37 {
		t.Errorf("%+v, %v", whole, err)
	}
}

func TestArcGIS(t *testing.T) {
	t.Parallel()
	c := &city{rows: 25, most: 7, faults: []http.HandlerFunc{text(`{"error":{"code":503,"message":"busy","details":[]}}`)}}
	o, _ := start(t, c, "arcgis", "/arcgis/rest/services/permits/FeatureServer/0")
	o.Source.Pull.Changed = "EDITED"
	total := int64(0)
	o.Progress = func(_, of int64) { total = of }
	report, err := Pull(t.Context(), o)
	if total != 25 {
		t.Errorf("%d rows are reported", total)
	}
	if err != nil || len(lines(t, report.File)) != 25 || report.Retries != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if !strings.Contains(c.asked[2], "outSR=4326") || c.tokens[0] != "Bearer secret" {
		t.Error(c.asked[2], c.tokens[0])
	}
	if second, err := Pull(t.Context(), o); err != nil || !second.Part {
		t.Errorf("%+v, %v", second, err)
	}
	if last := c.asked[len(c.asked)-1]; !strings.Contains(last, "EDITED+%3E%3D+TIMESTAMP") {
		t.Error(last)
	}
}

// An interrupted pull continues where it was.
func TestResumes(t *testing.T) {
	t.Parallel()
	c := &city{rows: 35, hiddenOf: 2}
	o, _ := start(t, c, "soda", "/resource/abcd-1234")
	if _, err := Pull(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
		t.Fatal(err)
	}
	// Half a page that was written without being noted.
	partial := filepath.Join(o.Dir, "here.ndjson.partial")
	text, err := os.ReadFile(partial)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(partial, append(text, `{"half`...), 0o600); err != nil {
		t.Fatal(err)
	}
	c.hiddenOf = 0
	report, err := Pull(t.Context(), o)
	if err != nil || !report.Resumed || len(lines(t, report.File)) != 35 || c.pages != 4 {
		t.Errorf("%+v, %v, %d pages", report, err, c.pages)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	stolen := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header.Get("X-App-Token") }))
	t.Cleanup(other.Close)
	always := func(f http.HandlerFunc) []http.HandlerFunc {
		all := make([]http.HandlerFunc, maxAttempts)
		for i := range all {
			all[i] = f
		}
		return all
	}
	for name, c := range map[string]struct {
		faults []http.HandlerFunc
		code   fault.Code
	}{
		"down":    {always(status(503)), fault.Unavailable},
		"unknown": {[]http.HandlerFunc{status(404)}, fault.BadRequest},
		"another host": {
			always(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }),
			fault.Unavailable,
		},
	} {
		o, waited := start(t, &city{rows: 5, faults: c.faults}, "soda", "/resource/abcd-1234")
		_, err := Pull(t.Context(), o)
		if fault.CodeOf(err) != c.code || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		for _, w := range *waited {
			if w > longestWait {
				t.Errorf("%s: waits %v", name, w)
			}
		}
	}
	if stolen != "" {
		t.Error("the token went to another host")
	}
	o := Options{
		Source: &source.Description{Name: "here", Pull: source.Pull{Interface: "soda", URL: "http://data.example/resource/x"}},
		Dir:    t.TempDir(), Token: "secret",
	}
	if _, err := Pull(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a token without TLS: %v", err)
	}
	o.Source = &source.Description{Name: "here"}
	if _, err := Pull(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("no address: %v", err)
	}
}
