package client_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/client"
)

func answering(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		body, text string
		is         client.Code
	}{
		"a code": {
			404, `{"error":{"code":"not_found","message":"no such record"}}`,
			"atlas: POST /data/accounts/search: 404 not_found: no such record", client.ErrNotFound,
		},
		"an unknown one": {
			418, `{"error":{"code":"teapot","message":"short"}}`,
			"atlas: POST /data/accounts/search: 418 teapot: short", "teapot",
		},
		"validation": {400, `{"success":false,"error":{"code":"invalid_input","message":"limit: must be at most 100 (and 1 more problem)","doc_url":"/docs/errors#invalid_input","name":"ValidationError","issues":[{"code":"too_big","path":["limit"],"message":"must be at most 100"},{"code":"custom","path":[],"message":"is bad"}]}}`,
			"atlas: POST /data/accounts/search: 400 invalid_input: limit must be at most 100; the body is bad", client.ErrInvalidInput},
		"ours": {
			500, `{"error":{"code":"internal","message":"something went wrong"}}`,
			"atlas: POST /data/accounts/search: 500 internal: something went wrong (request r-1)", client.ErrInternal,
		},
		"a proxy's page": {403, `<html>`, "atlas: POST /data/accounts/search: 403: Forbidden", ""},
		"a redirect":     {302, ``, "atlas: POST /data/accounts/search: 302: Found", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, _ := dial(t, answering(c.status, c.body, "X-Request-Id", "r-1", "Location", "/elsewhere"))
			err := search(api)
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Status != c.status || e.Error() != c.text || e.RequestID != "r-1" ||
				name == "validation" && e.DocURL != "/docs/errors#invalid_input" {
				t.Fatalf("%v", err)
			}
			if errors.Is(err, c.is) != (c.is != "") || errors.Is(err, client.ErrForbidden) {
				t.Errorf("is %q: %v", c.is, errors.Is(err, c.is))
			}
		})
	}
}

func TestOutOfCredits(t *testing.T) {
	t.Parallel()
	api, attempts := dial(t, answering(429, `{"error":{"code":"rate_limited","message":"the ceiling is used up"}}`, "Retry-After", "86400",
		"X-Credits-Used", "500", "X-Credits-Remaining", "0", "X-Credits-Ceiling", "500"))
	before := time.Now()
	err := search(api)
	out, ok := errors.AsType[*client.OutOfCreditsError](err)
	if !ok || attempts.Load() != 1 || !errors.Is(err, client.ErrRateLimited) {
		t.Fatalf("%d attempts, %v", attempts.Load(), err)
	}
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 429 || e.RetryAfter != 24*time.Hour {
		t.Errorf("%+v", e)
	}
	if in := out.Back.Sub(before); in < 24*time.Hour || in > 24*time.Hour+time.Minute ||
		out.Window != (client.Window{Used: 500, Ceiling: 500}) {
		t.Errorf("back in %s, %+v", in, out.Window)
	}
	if !strings.Contains(err.Error(), "(500 of 500 credits are used); all are back by ") {
		t.Error(err)
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`<html>`, `{"data":7,"metadata":{}}`, ``} {
		api, attempts := dial(t, answering(200, body))
		if err := search(api); err == nil || attempts.Load() != 1 {
			t.Errorf("%q: %d attempts, %v", body, attempts.Load(), err)
		}
	}
}

// A record retains its bytes, including members unknown to this version.
func TestRecordsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	const record = `{"id":"1","name":"A","account_types":["developer"],"last_activity_at":null,"website":null,"new":{"x": [1.50]},"projects":[{"id":"2","cost":1e2,"more":0}]}`
	api, _ := dial(t, answering(200, `{"data":`+record+`,"metadata":{"credits":1}}`))
	got, err := api.Accounts.Get(t.Context(), "1")
	if err != nil || string(got.Raw) != record || string(got.Projects[0].Raw) != `{"id":"2","cost":1e2,"more":0}` {
		t.Fatalf("%v %s", err, got.Raw)
	}
	if *got.Projects[0].Cost != 100 || !got.LastActivityAt.IsZero() || got.Website != "" || got.Projects[0].Sqft != nil {
		t.Errorf("%+v", got)
	}
	raw, err := api.Dataset("accounts").Get(t.Context(), "1")
	if err != nil || string(raw) != record {
		t.Errorf("%v %s", err, raw)
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	api, _ := dial(t, answering(200, `{"data":{"results":[
		{"index":0,"account_id":"a","status":"ok","data":{"id":"a","name":"A","tags":["t"]}},
		{"index":1,"account_id":"b","status":"not_found","error":{"code":"not_found","message":"no such account"}},
		{"index":2,"status":"invalid_input","error":{"code":"invalid_input","message":"bad","issues":[{"code":"custom","path":["tags"],"message":"are odd"}]}}
	]},"metadata":{"credits":0,"succeeded":1,"failed":2}}`))
	b, err := api.Book.Accounts.UpsertAll(t.Context(), make([]client.AccountUpsert, 3))
	if err != nil || b.Succeeded != 1 || b.Failed != 2 || len(b.Items) != 3 {
		t.Fatalf("%v %+v", err, b)
	}
	if b.Items[0].ID != "a" || b.Items[0].Err != nil || b.Items[0].Data.Tags[0] != "t" ||
		!errors.Is(b.Items[1].Err, client.ErrNotFound) || b.Items[2].ID != "" {
		t.Errorf("%+v", b)
	}
	const want = "item 1: atlas: not_found: no such account\nitem 2: atlas: invalid_input: tags are odd"
	if e := b.Err(); e == nil || e.Error() != want || !errors.Is(e, client.ErrInvalidInput) {
		t.Error(e)
	}
}

// What requests look like as JSON.
func TestRequestBodies(t *testing.T) {
	t.Parallel()
	at := time.Date(2020, 1, 2, 3, 4, 5, 6_700_000, time.FixedZone("", 3600))
	three := 3
	for want, v := range map[string]any{
		`{}`: client.Search{},
		`{"query":"q","sort":{"field":"cost","order":"desc"},"limit":5,"offset":10,"search_after":"c"}`: client.Search{
			Query: "q", Sort: client.Desc("cost"), Limit: 5, Offset: 10, SearchAfter: "c",
		},
		`{"filters":{"a":{"value":"x"},"b":{"value":["x","y"]},"c":{"value":["x"],"exact_match":true},"d":{"value":[1,2]},"e":{"value":[1.5,null]},"f":{"value":[null,"2020-01-01"]}}}`: client.Search{
			Filters: client.Filters{
				"a": client.Is("x"), "b": client.AnyOf("x", "y"), "c": client.Exactly("x"), "d": client.Between(1, 2),
				"e": client.AtLeast(1.5), "f": client.AtMost("2020-01-01"),
			},
		},
		`{"filters":{"a":{"value":"filed"},"b":{"value":["filed","invented"]}}}`: client.Search{
			Filters: client.Filters{"a": client.Is(client.StageFiled), "b": client.AnyOf(client.StageFiled, "invented")},
		},
		`{"filters":{"at":{"value":["2020-01-02T02:04:05.006Z",null]},"none":{"value":[]}},"relations":{"has_signal":{"stage":{"value":"filed"}},"without_project":{},"without_signal":{}}}`: client.Search{
			Filters:   client.Filters{"at": client.AtLeast(at), "none": client.AnyOf[string]()},
			Relations: client.Relations{"has_signal": {"stage": client.Is("filed")}, "without_project": nil, "without_signal": {}},
		},
		`{"account_id":"a"}`: client.AccountUpsert{AccountID: "a"},
		`{"match":{"domain":"d"},"icp_tier":"tier_1","workspace_status":null,"notes":"","tags":[]}`: client.AccountUpsert{
			Match: &client.AccountMatch{Domain: "d"}, ICPTier: client.To(client.ICPTier1), Status: client.Clear(),
			Notes: client.To(""), Tags: []string{},
		},
		`{"version":1}`:                     client.Definition{},
		`{"version":1,"q":"t","fields":{}}`: client.Definition{Q: "t"},
		`{"version":1,"q":"","fields":{}}`:  client.Dynamic("", nil),
		`{"version":1,"q":"","fields":{"city":["C"],"cost":{"min":"1"},"detected":{"before":"2020-01-01"}}}`: client.Dynamic(
			"",
			map[string]any{"city": client.Values{"C"}, "cost": client.Range{Min: "1"}, "detected": client.Days{Before: "2020-01-01"}},
		),
		`{"view_id":"v","position":3}`:       client.FavoriteUpsert{ViewID: "v", Position: &three},
		`{"id":"v","name":"n","revision":2}`: client.ViewUpsert{ID: "v", Name: "n", Revision: 2},
	} {
		got, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		if string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, d := range []string{`{"version":1}`, `{"version":1,"q":"x","fields":{}}`} {
		var read client.Definition
		if err := json.Unmarshal([]byte(d), &read); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(read); err != nil || string(again) != d {
			t.Errorf("%s became %s, %v", d, again, err)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"http://h/api/v1": true, "https://h:1/atlas/api/v1/": true, "http://h": false, "h/api/v1": false,
		"ftp://h/api/v1": false, "http:///api/v1": false, "": false, "http://h/api/v2": false,
	} {
		if _, err := client.New(address, client.WithAPIKey("k")); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := client.New("http://h/api/v1"); !errors.Is(err, client.ErrNoCredentials) {
		t.Error(err)
	}
}

// Ids and names go into paths and parameters whole, whatever is in them.
func TestAddresses(t *testing.T) {
	t.Parallel()
	var seen []string
	api, _ := dial(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.RequestURI)
		_, _ = io.WriteString(w, `{"data":{},"metadata":{"credits":0}}`)
	}, client.WithWorkspace("w&1"))
	_, _ = api.Accounts.Get(t.Context(), "a/../b?c", "projects", "signals")
	_, _ = api.In("").Workspace(t.Context())
	_, _ = client.Collect(api.In("w2").Views.List(t.Context(), client.ViewList{Query: "a b", Record: "r", Favorites: true}))
	want := []string{
		"/api/v1/data/accounts/a%2F..%2Fb%3Fc?include=projects%2Csignals&workspace_id=w%261", "/api/v1/workspace",
		"/api/v1/workspace/views?favorite_only=true&limit=100&offset=0&query=a+b&record_id=r&workspace_id=w2",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}
