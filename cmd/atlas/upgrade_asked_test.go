package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"atlas/internal/devstack/backends"
)

// conversation is a client's requests to a release, some of which a later one must answer the
// same.
type conversation struct {
	writable
	user string // a token
	of   *released
}

// ok sends a request, by the user or the key, which must succeed.
func (c conversation) ok(byUser bool, method, path, body string, header ...string) answer {
	c.t.Helper()
	by := c.key
	if byUser {
		by, path = c.user, c.here(path)
	}
	a := c.call(method, path, by, body, header...)
	if a.status >= 300 {
		c.t.Errorf("%s %s %s: %d %s", method, path, body, a.status, a.raw)
	}
	return a
}

// here adds the workspace to the path of a user's request.
func (c conversation) here(path string) string {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + "workspace_id=" + c.of.Workspace.String()
}

// member is a text in an answer.
func (c conversation) member(a answer, path ...string) string {
	c.t.Helper()
	var value any
	if err := json.Unmarshal(a.raw, &value); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, ok := value.(string)
	if !ok {
		c.t.Errorf("no text %v in %s", path, a.raw)
	}
	return text
}

func (c conversation) ids(dataset string) []string {
	c.t.Helper()
	return c.ok(false, "POST", "/data/"+dataset+"/search", `{"limit":8}`).ids(c.t)
}

// inhabitWorkspace writes every kind of object to a workspace, and returns the id of a Static
// View.
func (c conversation) inhabitWorkspace() (view string) {
	accounts, contacts, projects := c.ids("accounts"), c.ids("contacts"), c.ids("projects")
	for i := range 3 {
		for one, id := range map[string]string{"account": accounts[i], "contact": contacts[i], "project": projects[i]} {
			c.ok(false, "POST", "/workspace/"+one+"s/upsert", `{"`+one+`_id":"`+id+`","notes":"Call on Monday","tags":["Key client"]}`,
				"Idempotency-Key", "note "+id)
		}
	}
	c.ok(false, "POST", "/workspace/accounts/upsert", `{"account_id":"`+other+`","notes":"Of the one that is merged"}`)
	chosen := c.ok(false, "POST", "/workspace/views/upsert", `{"dataset":"account","view_type":"static","name":"Chosen"}`)
	view = c.member(chosen, "data", "view", "id")
	for _, id := range accounts[:3] {
		c.ok(false, "POST", "/workspace/views/"+view+"/records/add", `{"record_id":"`+id+`"}`)
	}
	dynamic := c.member(c.ok(false, "POST", "/workspace/views/upsert", `{"dataset":"project","view_type":"dynamic","name":"All projects",
		"definition":{"version":1,"q":"","fields":{}},"presentation":{"version":1,"sorting":[],"column_visibility":{"cost":false}}}`), "data", "view", "id")
	c.ok(true, "POST", "/workspace/favorite-views/upsert", `{"view_id":"`+view+`"}`)
	c.ok(true, "POST", "/workspace/alerts/upsert", `{"view_id":"`+dynamic+`","email":"daily"}`)
	c.ok(false, "POST", "/workspace/boards/upsert", `{"name":"Board","tiles":[{"kind":"chart","title":"Stages","dataset":"projects","of":"data",
		"request":{"facets":[{"field":"stage"}]}}]}`)
	c.ok(false, "POST", "/workspace/skills/create", `{"scope":"workspace","name":"Kept","slug":"kept","description":"d","content":"c"}`)
	c.ok(false, "POST", "/workspace/invitations", `{"email":"late@example.com","role":"member"}`)
	c.ok(true, "POST", "/workspace/api-keys/policy", `{"max_days":3650}`)
	made := c.ok(false, "POST", "/workspace/webhooks/upsert", `{"url":"https://hooks.example/1","events":["record.changed"]}`)
	hook := c.member(made, "data", "webhook", "id")
	c.ok(false, "POST", "/workspace/webhooks/"+hook+"/test", "")
	return view
}

// converse sends the requests that a client of the release may repeat or continue.
func (c conversation) converse(view, changes, ofWorkspace string) {
	project, account := c.ids("projects")[0], c.ids("accounts")[0]
	for _, path := range []string{
		"/data/projects/" + project + "?include=accounts,contacts,signals", "/data/fields/projects/stage", "/workspace/members",
		"/workspace/views", "/workspace/views/" + view, "/workspace/boards", "/workspace/webhooks", "/workspace/signal-subscriptions",
		"/workspace/api-keys/policy", "/workspace/accounts/" + account, "/workspace/accounts/" + account + "/history",
	} {
		c.asks(false, "GET", path, "")
	}
	c.asks(true, "GET", "/workspace/favorite-views", "")
	c.asks(true, "GET", "/workspace/alerts", "")
	c.asks(true, "GET", "/workspace/identity/domains", "")
	for path, body := range map[string]string{
		"/data/projects/get/batch":                     `{"ids":["` + project + `"]}`,
		"/data/projects/facets":                        `{"facets":[{"field":"stage"},{"field":"created_at","interval":"month"}]}`,
		"/data/projects/pivot":                         `{"rows":{"field":"city"}}`,
		"/data/accounts/suggest":                       `{"prefix":"c"}`,
		"/data/accounts/match":                         `{"inputs":[{"ref":"1","name":"Firm"}]}`,
		"/data/coverage":                               `{"dataset":"accounts","by":"city"}`,
		"/workspace/accounts/facets":                   `{"facets":[{"field":"tags"}]}`,
		"/workspace/skills/get":                        `{"locator":"workspace/kept"}`,
		"/workspace/views/" + view + "/records/facets": `{"facets":[{"field":"tags"}]}`,
	} {
		c.asks(false, "POST", path, body)
	}

	// A cursor of each kind. All end before the last page.
	for _, d := range []string{"accounts", "contacts", "projects", "signals"} {
		c.pages(false, "POST", "/data/"+d+"/search", `{"limit":2}`)
		c.pages(false, "POST", "/data/"+d+"/search", `{"limit":2,"sort":{"field":"created_at","order":"asc"}}`)
	}
	c.pages(false, "POST", "/data/projects/search", `{"limit":2,"sort":{"field":"name","order":"asc"}}`)
	c.pages(false, "POST", "/data/projects/search", `{"limit":2,"sort":{"field":"cost","order":"desc"}}`)
	c.pages(false, "POST", "/data/projects/search", `{"limit":1,"query":"building"}`)
	c.pages(false, "POST", "/data/projects/search", `{"limit":1,"query":"building","words":"exact"}`)
	c.pages(false, "POST", "/data/accounts/join", `{"limit":1}`)
	for _, d := range []string{"accounts", "contacts", "projects"} {
		c.pages(false, "POST", "/workspace/"+d+"/search", `{"limit":1}`)
		c.pages(false, "POST", "/workspace/"+d+"/search", `{"limit":1,"sort":{"field":"name","order":"asc"}}`)
	}
	c.pages(false, "POST", "/workspace/views/"+view+"/records/search", `{"limit":1}`)
	c.pages(false, "POST", "/workspace/signal-queue/search", `{"limit":1}`)
	c.pages(false, "POST", "/data/accounts/changes", `{"limit":1,"cursor":"`+changes+`"}`)
	c.pages(false, "POST", "/workspace/changes", `{"limit":2,"cursor":"`+ofWorkspace+`"}`)
	c.pages(false, "GET", "/workspace/audit?order=oldest&limit=2", "")
	keyID, _, _ := strings.Cut(strings.TrimPrefix(c.of.Keys[1], "atlas_"), "_")
	c.pages(true, "GET", "/workspace/api-keys/"+keyID+"/actions?limit=1", "")
}

// asks sends a request that a later version must answer the same.
func (c conversation) asks(byUser bool, method, path, body string) {
	c.t.Helper()
	a := c.ok(byUser, method, path, body)
	again := recordedRequest{ByUser: byUser, Method: method, Path: path, Answer: a.raw}
	if byUser {
		again.Path = c.here(path)
	}
	if body != "" {
		again.Body = json.RawMessage(body)
	}
	c.of.Requests = append(c.of.Requests, again)
}

// pages asks for a page, and for the next one as asks does.
func (c conversation) pages(byUser bool, method, path, body string) {
	c.t.Helper()
	first := c.ok(byUser, method, path, body)
	switch {
	case method == http.MethodGet:
		c.asks(byUser, method, path+"&cursor="+url.QueryEscape(c.member(first, "metadata", "next")), "")
	case strings.HasSuffix(path, "/changes"):
		before, _, _ := strings.Cut(body, `,"cursor"`)
		c.asks(byUser, method, path, before+`,"cursor":"`+c.member(first, "metadata", "next")+`"}`)
	default:
		c.asks(byUser, method, path, strings.TrimSuffix(body, "}")+`,"search_after":"`+c.member(first, "metadata", "search_after")+`"}`)
	}
	last := c.of.Requests[len(c.of.Requests)-1].Answer
	if bytes.Contains(last, []byte(`"data":[]`)) || bytes.Contains(last, []byte(`"items":[]`)) {
		c.t.Errorf("the second page of %s %s is empty: %s", path, body, last)
	}
}

// recorder is a proxy before Elasticsearch that records changing requests, in order.
type recorder struct {
	lock  sync.Mutex
	kept  []written
	stop  func() // called before a bulk, if it is there
	bulks int
}

// recordElastic puts a recorder before the Elasticsearch of the installation.
func (w writable) recordElastic() *recorder {
	r := &recorder{}
	proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(backends.Elasticsearch(w.t)))(w.t))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, request *http.Request) {
		if !changesElastic(request) {
			proxy.ServeHTTP(rw, request)
			return
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(request.Body); err != nil {
			w.t.Error(err)
		}
		r.lock.Lock() // one after the other, so that repeating them gives the same
		defer r.lock.Unlock()
		if isBulk(request) && r.stop != nil {
			if r.bulks++; r.bulks == 2 {
				r.stop()
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		again := written{request.Method, request.URL.RequestURI(), request.Header.Get("Content-Type"), body.String()}
		request.Body = http.NoBody
		if body.Len() > 0 {
			request.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
		}
		answered := httptest.NewRecorder()
		proxy.ServeHTTP(answered, request)
		if answered.Code < 300 {
			r.kept = append(r.kept, again)
		}
		for name, values := range answered.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(answered.Code)
		_, _ = rw.Write(answered.Body.Bytes())
	}))
	w.t.Cleanup(server.Close)
	w.config.ElasticsearchURL = []string{server.URL}
	return r
}

// changesElastic reports whether a request changes something: reads and force merges do not.
func changesElastic(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return false
	}
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	return r.Method != http.MethodPost ||
		!slices.Contains([]string{"_search", "_msearch", "_count", "_mget", "_analyze", "_forcemerge", "_validate", "_pit", "_explain"}, last)
}

// beforeBulk makes stop be called before the second bulk from now on; nil: never.
func (r *recorder) beforeBulk(stop func()) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.stop, r.bulks = stop, 0
}

// bytes are the requests, one each line.
func (r *recorder) bytes(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, again := range r.kept {
		b.Write(append(must(json.Marshal(again))(t), '\n'))
	}
	return b.Bytes()
}
