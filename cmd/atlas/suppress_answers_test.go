package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/indexer/eraser"
	"atlas/workspace/alerts"
	"atlas/workspace/people"
)

// surroundings are objects of a workspace outside its book that can name the person: a board,
// an alert, a webhook whose receiver is down, and cursors at the person.
type surroundings struct {
	w       writable
	user    string
	view    string // a Dynamic View with an alert
	hook    string
	cursors map[string]string

	mu       sync.Mutex
	received []string
}

// surround makes them. The person must be in the book.
func (w writable) surround() *surroundings {
	w.t.Helper()
	s := &surroundings{w: w, user: w.user(people.Owner), cursors: map[string]string{}}
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.received = append(s.received, string(body))
		rw.WriteHeader(http.StatusServiceUnavailable) // so that deliveries wait
	}))
	w.t.Cleanup(receiver.Close)
	s.view = s.made("/workspace/views/upsert",
		`{"dataset":"contact","view_type":"dynamic","name":"In Banff","definition":{"version":1,"q":"","fields":{"city":["Banff"]}}}`)
	s.ask("POST", "/workspace/alerts/upsert", `{"view_id":"`+s.view+`"}`)
	c := w.client(w.key)
	hook := must(c.Webhooks.UpsertOfViews(
		w.t.Context(), "", receiver.URL, []string{s.view}, "record.changed", "record.deleted", "record.merged", "view.matched",
	))(w.t)
	s.hook = hook.ID
	s.made("/workspace/boards/upsert", `{"name":"Board","tiles":[
		{"kind":"chart","title":"Projects","dataset":"projects","of":"data","request":`+hersOf(`"facets":[{"field":"account_ids"}]`)+`},
		{"kind":"pivot","title":"Uses","dataset":"projects","of":"data","request":`+hersOf(`"rows":{"field":"primary_use"}`)+`}]}`)
	for _, path := range []string{"/data/contacts/search", "/workspace/contacts/search", "/workspace/views/" + s.view + "/records/search"} {
		a := s.ask("POST", path, `{"limit":1,"sort":{"field":"name","order":"asc"}}`)
		if a.body.Metadata.SearchAfter == nil || !bytes.Contains(a.raw, []byte(adaName)) {
			if path == "/data/contacts/search" {
				w.t.Fatalf("%s does not begin with the person: %s", path, a.raw)
			}
			continue
		}
		s.cursors[path] = *a.body.Metadata.SearchAfter
	}
	w.eventually("the alert watches", func() bool {
		return strings.Contains(string(s.ask("GET", "/workspace/alerts", "").raw), `"watching"`)
	})
	return s
}

// hersOf is a request for the projects of the person.
func hersOf(more string) string {
	return `{"filters":{"contact_ids":{"value":["` + ada + `"]}},` + more + `}`
}

// ask is a request of a user that must succeed.
func (s *surroundings) ask(method, path, body string) answer {
	s.w.t.Helper()
	a := s.w.call(method, path+"?workspace_id="+s.w.pro.ID.String(), s.user, body)
	if a.status != http.StatusOK {
		s.w.t.Fatalf("%s %s: %d %s", method, path, a.status, a.raw)
	}
	return a
}

// made returns the id of the created object.
func (s *surroundings) made(path, body string) string {
	s.w.t.Helper()
	_, after, _ := strings.Cut(string(s.ask("POST", path, body).raw), `"id":"`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// matched are the known matches of the alert.
func (s *surroundings) matched() alerts.Set {
	s.w.t.Helper()
	rows := s.w.sql(`SELECT encode(matched, 'hex') FROM watched_views WHERE view_id = $1 AND matched IS NOT NULL`, s.view)
	if len(rows) == 0 {
		return nil
	}
	return must(alerts.Unpack(must(hex.DecodeString(rows[0]))(s.w.t)))(s.w.t)
}

// reported fails unless the alert and the webhook reported a person that matches.
func (s *surroundings) reported(id string) {
	s.w.t.Helper()
	s.w.eventually("the alert reports the person", func() bool {
		return bytes.Contains(s.ask("GET", "/workspace/alerts/entries", "").raw, []byte(id)) && s.matched()[uuid.MustParse(ada)]
	})
	s.w.eventually("a delivery waits", func() bool {
		return len(s.w.sql(`SELECT id::text FROM jobs WHERE lane = $1 AND state = 'pending' AND payload->'data'->>'id' = $2`, s.hook, id)) > 0
	})
}

// wantErased fails if any of them still has the persons.
func (s *surroundings) wantErased(ids ...string) {
	w := s.w
	w.t.Helper()
	w.eventually("the delivery is made", func() bool {
		return len(w.sql(`SELECT id::text FROM jobs
			WHERE lane = $1 AND payload->>'event' = 'record.deleted' AND payload->'data'->>'id' = $2`, s.hook, ada)) > 0
	})
	s.mu.Lock()
	for _, body := range s.received {
		if shows(body) {
			w.t.Errorf("a webhook: %s", body)
		}
	}
	s.mu.Unlock()
	for d, err := range w.client(w.key).Webhooks.Deliveries(w.t.Context(), s.hook) {
		if text := fmt.Sprintf("%+v", d); err != nil || shows(text) {
			w.t.Errorf("a delivery: %s %v", text, err)
		}
	}
	for _, id := range ids {
		w.eventually("alerts do not have "+id, func() bool {
			return !s.matched()[uuid.MustParse(id)] && !bytes.Contains(s.ask("GET", "/workspace/alerts/entries", "").raw, []byte(id))
		})
	}
	for _, path := range slices.Sorted(maps.Keys(s.cursors)) {
		a := s.ask("POST", path, `{"limit":5,"sort":{"field":"name","order":"asc"},"search_after":"`+s.cursors[path]+`"}`)
		if shows(string(a.raw)) || bytes.Contains(a.raw, []byte(ada)) {
			w.t.Errorf("the page after, %s: %s", path, a.raw)
		}
	}
}

// shows reports whether a text has a value of the person, plain or in base64.
func shows(text string) bool {
	lower := strings.ToLower(text)
	for _, value := range []string{"adalgisa", adaPhone, "call her", "@quillfeather"} { // words of a request are repeated
		if strings.Contains(lower, value) {
			return true
		}
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '"' || r == '.' || r == ' ' || r == ',' }) {
		if plain, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "=")); err == nil && len(plain) > 10 &&
			bytes.Contains(bytes.ToLower(plain), []byte("adalgisa")) {
			return true
		}
	}
	return false
}

// agents calls a tool of the MCP server.
func (w writable) agents(tool, arguments string) string {
	w.t.Helper()
	r := must(http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.root+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`,
	)))(w.t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+w.key)
	res := must(http.DefaultClient.Do(r))(w.t)
	defer func() { _ = res.Body.Close() }()
	text := must(io.ReadAll(res.Body))(w.t)
	if res.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"isError":true`)) {
		w.t.Fatalf("%s %s: %d %s", tool, arguments, res.StatusCode, text)
	}
	return string(text)
}

// requestsFor are requests that can show the person. Answers may repeat their words.
func (w writable) requestsFor(view string) map[string]func() string {
	const byName = `{"query":"Quillfeather","limit":5,"highlight":true}`
	const address = `{"filters":{"email":{"value":"` + adaEmail + `"}}`
	post := func(path, body string) func() string {
		return func() string { return string(w.call("POST", path, w.key, body).raw) }
	}
	get := func(path string) func() string {
		return func() string { return string(w.call("GET", path, w.key, "").raw) }
	}
	tool := func(name, arguments string) func() string { return func() string { return w.agents(name, arguments) } }
	return map[string]func() string{
		"highlights":         post("/data/contacts/search", byName),
		"highlights of hers": post("/data/projects/search", `{"query":"Quillfeather tower","limit":5,"highlight":true}`),
		"a batch": post("/data/search/batch",
			`{"searches":[{"dataset":"contacts"},{"dataset":"contacts",`+byName[1:]+`,{"dataset":"contacts",`+address[1:]+`}]}`),
		"a batch of the book": post("/workspace/search/batch",
			`{"searches":[{"dataset":"contacts"},{"view_id":"`+view+`"}]}`),
		"a join":                 post("/data/accounts/join", `{"limit":5}`),
		"a join of hers":         post("/data/accounts/join", `{"relations":{"has_contact":{"name":{"value":"Quillfeather"}}},"limit":5}`),
		"a get with its related": get("/data/projects/" + tower + "?include=contacts,accounts"),
		"a batch of gets":        post("/data/contacts/get/batch", `{"ids":["`+ada+`"],"include":["account","projects"]}`),
		"gets of her firm":       post("/data/accounts/get/batch", `{"ids":["`+firm+`"],"include":["contacts"]}`),
		"facets of persons":      post("/data/contacts/facets", `{"query":"Quillfeather","facets":[{"field":"role"}]}`),
		"facets of ids":          post("/data/projects/facets", `{"facets":[{"field":"account_ids"}]}`),
		"a tile":                 post("/data/projects/facets", hersOf(`"facets":[{"field":"account_ids"}]`)),
		"a pivot":                post("/data/projects/pivot", hersOf(`"rows":{"field":"primary_use"}`)),
		"a pivot of persons":     post("/data/contacts/pivot", `{"query":"Quillfeather","rows":{"field":"role"}}`),
		"a question":             post("/data/contacts/read", `{"query":"Quillfeather"}`),
		"a question of the book": post("/workspace/contacts/read", `{"query":"Quillfeather"}`),
		"a suggestion":           post("/data/contacts/suggest", `{"prefix":"adal"}`),
		"a search with a typo":   post("/data/contacts/search", `{"query":"Quillfeathr","limit":5}`),
		"a history":              get("/workspace/contacts/" + ada + "/history"),
		"the records of ids":     post("/data/projects/search", hersOf(`"limit":5`)),
		"a tool: search":         tool("search_records", `{"dataset":"contacts","query":"Quillfeather"}`),
		"a tool: searches":       tool("search_many", `{"searches":[{"dataset":"contacts"},{"dataset":"contacts","query":"Quillfeather"}]}`),
		"a tool: get":            tool("get_records", `{"dataset":"contacts","ids":["`+ada+`"]}`),
		"a tool: the book":       tool("search_book", `{"dataset":"contacts"}`),
		"a tool: a View":         tool("search_view", `{"view_id":"`+view+`"}`),
		"a tool: match":          tool("match_records", `{"dataset":"contacts","inputs":[{"ref":"1","name":"`+adaName+`"}]}`),
		"a tool: facets":         tool("count_and_facets", `{"dataset":"projects","facets":[{"field":"account_ids"}]}`),
		"a tool: boards":         tool("read_boards", `{}`),
	}
}

// wantAnswers fails unless many answers show the person, or none does.
func (w writable) wantAnswers(when, view string, there bool) {
	w.t.Helper()
	shown := 0
	for what, ask := range w.requestsFor(view) {
		if there {
			if shows(ask()) {
				shown++
			}
			continue
		}
		w.eventually(when+", "+what, func() bool { return !shows(ask()) })
	}
	if there && shown < 12 {
		w.t.Errorf("%s: %d answers show the person, and are to be trusted later", when, shown)
	}
}

// everywhere lists where backends have values of the person.
func (w writable) everywhere() (left []string) {
	w.t.Helper()
	ctx := w.t.Context()
	values := []string{adaName, adaEmail, "Quillfeather", "403 555 0917", "4035550917"}
	e := eraser.Eraser{Elastic: directElastic(w.t)}
	for _, pattern := range []string{w.config.IndexPrefix + "*", w.config.HeldIndexPrefix + "*"} {
		for _, value := range values[:3] {
			for _, id := range must(e.Mentions(ctx, pattern, value))(w.t) {
				left = append(left, "elasticsearch "+pattern+" "+id)
			}
		}
		raw := must(e.Elastic.Indices(ctx, pattern))(w.t)
		if len(raw) == 0 && pattern == w.config.IndexPrefix+"*" {
			w.t.Error("no index")
		}
	}
	conn := must(pgx.Connect(ctx, w.config.PostgresSystemURL))(w.t)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tables := must(
		pgx.CollectRows(must(conn.Query(ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`))(w.t), pgx.RowTo[string]),
	)(
		w.t,
	)
	for _, table := range tables {
		for _, value := range append(values, "Call her") {
			var n int
			if err := conn.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{table}.Sanitize()+` t WHERE position(lower($1) IN lower(to_jsonb(t)::text)) > 0
				OR position(encode(convert_to($1, 'UTF8'), 'hex') IN to_jsonb(t)::text) > 0`, value).Scan(&n); err != nil {
				w.t.Fatal(err)
			}
			if n > 0 {
				left = append(left, "postgres "+table)
			}
		}
	}
	client := redis.NewClient(must(redis.ParseURL(w.config.RedisURL))(w.t))
	defer func() { _ = client.Close() }()
	err := cli.EachRedisKey(ctx, client, w.config.RedisPrefix+"*", func(master redis.Cmdable, key string) error {
		content, err := cli.RedisContent(ctx, master, key)
		text := strings.ToLower(strings.Join(append(content, key), "\n"))
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(text, strings.ToLower(v)) }) {
			left = append(left, "redis "+key)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return left
}

// inFiles lists the files below a path that have values of the person.
func (w writable) inFiles(path string) (left []string) {
	w.t.Helper()
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(bytes.ToLower(content), []byte("quillfeather")) {
			left = append(left, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return left
}
