package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/internal/elastic"
)

// feedChange is a change in an answer of the API.
type feedChange struct {
	ID, Op, Into, At string
	Changed          []string
	Record           map[string]any
}

// changesPage is an answer of POST /data/{dataset}/changes.
type changesPage struct {
	status int
	raw    string
	items  []feedChange
	meta   struct {
		Next     string
		CaughtUp bool    `json:"caught_up"`
		Lag      float64 `json:"lag_s"`
		Credits  int
	}
	charged string
}

func (w writable) changes(dataset, body string) (p changesPage) {
	w.t.Helper()
	a := w.call("POST", "/data/"+dataset+"/changes", w.key, body)
	p.status, p.raw, p.charged = a.status, string(a.raw), a.header.Get("X-Credits-Charged")
	if a.status != http.StatusOK {
		return p
	}
	answer := struct{ Data, Metadata any }{&p.items, &p.meta}
	if err := json.Unmarshal(a.raw, &answer); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// ops are the changes as "op id", with the last digit of the id.
func (p changesPage) ops() (list []string) {
	for _, c := range p.items {
		list = append(list, c.Op+" "+c.ID[len(c.ID)-1:])
	}
	return list
}

func account(n int, rest string) string {
	return fmt.Sprintf(`{"id":"10000000-0000-4000-8000-%012d","updated_at":"2024-01-%02dT00:00:00Z"%s}`, n, n, rest)
}

// The feed reports what deltas, loads and rollbacks change, once, and what a follower of some
// records needs.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	if p := w.changes("accounts", `{}`); p.status != 200 || len(p.items) != 0 || !p.meta.CaughtUp {
		t.Fatalf("before a load: %+v", p)
	}
	early := w.changes("accounts", `{}`).meta.Next
	w.load(map[string]string{
		"accounts": account(1, `,"name":"One","city":"Calgary"`) + "\n" + account(2, `,"name":"Two","city":"Banff"`) + "\n" +
			account(3, `,"name":"Three"`),
	})
	if p := w.changes("accounts", `{"cursor":"`+early+`"}`); p.status != http.StatusGone || !strings.Contains(p.raw, "cursor_too_old") {
		t.Errorf("a cursor from before the first load: %d %s", p.status, p.raw)
	}
	start := w.changes("accounts", `{}`)
	if start.status != 200 || len(start.items) != 0 || !start.meta.CaughtUp || start.meta.Next == "" || start.meta.Credits != 0 {
		t.Fatalf("%+v", start)
	}
	began := time.Now()
	from := func(cursor, rest string) changesPage {
		t.Helper()
		p := w.changes("accounts", `{"cursor":"`+cursor+`"`+rest+`}`)
		if p.status != 200 {
			t.Fatalf("%d %s", p.status, p.raw)
		}
		return p
	}
	if p := from(start.meta.Next, ""); len(p.items) != 0 || p.meta.Next != start.meta.Next {
		t.Errorf("nothing changed: %+v", p)
	}

	w.index(0, "apply", "--accounts", w.file(
		`{"id":"10000000-0000-4000-8000-000000000001","name":"Uno","city":"Calgary","updated_at":"2024-02-01"}`,
		`{"id":"10000000-0000-4000-8000-000000000002","deleted":true,"updated_at":"2024-02-01"}`,
		`{"id":"10000000-0000-4000-8000-000000000004","name":"Four","city":"Calgary","updated_at":"2024-02-01"}`))
	p := from(start.meta.Next, "")
	if want := []string{"upsert 1", "delete 2", "upsert 4"}; !slices.Equal(p.ops(), want) || !p.meta.CaughtUp ||
		p.charged != "" && p.charged != "0" {
		t.Errorf("%v, want %v: %+v", p.ops(), want, p)
	}
	if c := p.items[0]; !slices.Equal(c.Changed, []string{"name", "updated_at"}) || c.Record != nil {
		t.Errorf("%+v", c)
	}
	if c := p.items[2]; !slices.Contains(c.Changed, "website") || !slices.Contains(c.Changed, "id") {
		t.Errorf("a new record: %+v", c)
	}
	if at, err := time.Parse(time.RFC3339, p.items[0].At); err != nil || at.Before(began.Add(-time.Second)) ||
		at.After(time.Now().Add(time.Second)) {
		t.Errorf("changed at %s", p.items[0].At)
	}
	// Two pages have the same changes, and the first of them says that there are more.
	first := from(start.meta.Next, `,"limit":2`)
	second := from(first.meta.Next, `,"limit":2`)
	if got := append(first.ops(), second.ops()...); !slices.Equal(got, p.ops()) || first.meta.CaughtUp || !second.meta.CaughtUp {
		t.Errorf("by pages: %v %+v %+v", got, first.meta, second.meta)
	}
	paid := from(start.meta.Next, `,"records":true,"fields":["name"]`)
	if paid.charged != "2" || paid.meta.Credits != 2 || len(paid.items[0].Record) != 2 || paid.items[0].Record["name"] != "Uno" ||
		paid.items[1].Record != nil {
		t.Errorf("with records: %+v", paid)
	}
	// A repetition returns the same page, and no later changes: see below.
	keyed := `{"cursor":"` + start.meta.Next + `","records":true,"fields":["name"]}`
	_, _, _, once := send(t, w.base, w.key, "k", "/data/accounts/changes", keyed)
	if !strings.Contains(string(once), `"credits":2`) {
		t.Errorf("with a key: %s", once)
	}
	// A follower of some records gets the changes of records that stop matching.
	in := from(start.meta.Next, `,"filters":{"city":{"value":"calgary"},"name":{"value":"four"}}`)
	if want := []string{"leave 1", "delete 2", "upsert 4"}; !slices.Equal(in.ops(), want) {
		t.Errorf("with filters: %v", in.ops())
	}
	if all := from(start.meta.Next, `,"limit":1000,"records":true,"filters":{"city":{"value":"calgary"}}`); !slices.Equal(all.ops(), p.ops()) ||
		all.charged != "2" {
		t.Errorf("a page of the largest size with filters: %v %s", all.ops(), all.raw)
	}
	byTime := w.changes("accounts", fmt.Sprintf(`{"since":%q}`, began.UTC().Format(time.RFC3339Nano)))
	if !slices.Equal(byTime.ops(), p.ops()) {
		t.Errorf("since: %v %s", byTime.ops(), byTime.raw)
	}
	if p := w.changes("projects", `{"cursor":"`+start.meta.Next+`"}`); p.status != 400 || !strings.Contains(p.raw, "projects") {
		t.Errorf("another dataset's cursor: %d %s", p.status, p.raw)
	}

	// A waiting request is answered when a change is published.
	waited := make(chan changesPage, 1)
	go func() { waited <- w.changes("accounts", `{"cursor":"`+p.meta.Next+`","wait_s":30}`) }()
	w.index(0, "apply", "--accounts", w.file(`{"id":"10000000-0000-4000-8000-000000000003","name":"Tres","updated_at":"2024-02-01"}`))
	late := <-waited
	if !slices.Equal(late.ops(), []string{"upsert 3"}) {
		t.Errorf("waited for %+v", late)
	}

	status, again, _, repeated := send(t, w.base, w.key, "k", "/data/accounts/changes", keyed)
	if want := strings.Replace(string(once), `"credits":2`, `"credits":0`, 1); status != http.StatusOK || !again || string(repeated) != want {
		t.Errorf("the repetition: %d %s, want %s", status, repeated, want)
	}

	// A load publishes its differences from the served generation, a rollback their reverse.
	w.load(map[string]string{
		"accounts": `{"id":"10000000-0000-4000-8000-000000000001","name":"Uno","city":"Calgary","updated_at":"2024-02-01"}` +
			"\n" + account(5, `,"name":"Five"`) + "\n" + account(6, `,"name":"Six"`),
	})
	loaded := from(late.meta.Next, "")
	slices.SortFunc(loaded.items, func(a, b feedChange) int { return strings.Compare(a.ID, b.ID) })
	if want := []string{"upsert 1", "delete 3", "delete 4", "upsert 5", "upsert 6"}; !slices.Equal(loaded.ops(), want) ||
		!slices.Equal(loaded.items[0].Changed, []string{"created_at"}) {
		t.Errorf("a load: %v %+v", loaded.ops(), loaded.items)
	}
	w.index(0, "rollback")
	back := from(loaded.meta.Next, "")
	slices.SortFunc(back.items, func(a, b feedChange) int { return strings.Compare(a.ID, b.ID) })
	if want := []string{"upsert 1", "upsert 3", "upsert 4", "delete 5", "delete 6"}; !slices.Equal(back.ops(), want) {
		t.Errorf("a rollback: %v", back.ops())
	}
	// From the beginning, a record that was added and removed has its current state.
	all := from(start.meta.Next, "")
	slices.SortFunc(all.items, func(a, b feedChange) int { return strings.Compare(a.ID, b.ID) })
	if want := []string{"upsert 1", "delete 2", "upsert 3", "upsert 4", "delete 5", "delete 6"}; !slices.Equal(all.ops(), want) {
		t.Errorf("all: %v", all.ops())
	}
}

// Invalid requests for changes.
func TestChangesRefuses(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": account(1, `,"name":"One"`)})
	next := w.changes("contacts", `{}`).meta.Next
	for body, want := range map[string]string{
		`{"cursor":"x"}`: "bad_request",
		`{"cursor":"` + next[:len(next)-1] + `_"}`: "bad_request",
		`{"cursor":""}`: "bad_request",
		`{"cursor":"` + next + `","since":"2024-01-01"}`: "cursor or since",
		`{"since":"yesterday"}`:                          "must be a date",
		`{"limit":0}`:                                    "limit",
		`{"limit":1001}`:                                 "limit",
		`{"wait_s":31}`:                                  "wait_s",
		`{"fields":["id"]}`:                              "records",
		`{"records":true,"fields":["nam"]}`:              "name",
		`{"filters":{"email":{"value":"a@b.example"}}}`:  "email",
		`{"query":"x"}`:                                  "query",
		`{"wait":3}`:                                     "wait_s",
	} {
		p := w.changes("contacts", body)
		if p.status != 400 || !strings.Contains(p.raw, want) {
			t.Errorf("%s: %d %s", body, p.status, p.raw)
		}
	}
	if p := w.changes("contacts", `{"cursor":"`+next+`","records":true,"filters":{"email":{"value":"a@b.example"}}}`); p.status != 200 {
		t.Errorf("paid, by address: %d %s", p.status, p.raw)
	}
}

// Whichever backend was restored to an earlier time, followers must start over.
func TestRestoredBackendStartsTheFeedOver(t *testing.T) {
	t.Parallel()
	for name, backup := range map[string]func(writable) (restore func()){
		"elasticsearch": writable.lostPublications, "postgres": writable.backedUpFeed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWritable(t)
			w.load(map[string]string{"accounts": account(1, `,"name":"One"`)})
			w.index(0, "apply", "--accounts", w.file(account(2, `,"name":"Two"`)))
			restore := backup(w)
			cursor := w.changes("accounts", `{}`).meta.Next
			w.index(0, "apply", "--accounts", w.file(account(3, `,"name":"Three"`)))
			later := w.changes("accounts", `{}`).meta.Next
			restore()
			for _, c := range []string{cursor, later} {
				w.eventually("the cursor is too old", func() bool { return w.changes("accounts", `{"cursor":"`+c+`"}`).status == http.StatusGone })
			}
			next := w.changes("accounts", `{}`).meta.Next
			w.index(0, "apply", "--accounts", w.file(account(4, `,"name":"Four"`)))
			if p := w.changes("accounts", `{"cursor":"`+next+`"}`); !slices.Equal(p.ops(), []string{"upsert 4"}) {
				t.Errorf("%d %s", p.status, p.raw)
			}
		})
	}
}

// lostPublications deletes the publications in Elasticsearch.
func (w writable) lostPublications() (restore func()) {
	return func() {
		w.t.Helper()
		es, err := elastic.New(elastic.Config{Addresses: w.config.ElasticsearchURL})
		if err == nil {
			err = es.DeleteIndices(w.t.Context(), w.config.Names().Feed())
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// backedUpFeed saves the feed in Postgres, and restores it.
func (w writable) backedUpFeed() (restore func()) {
	w.t.Helper()
	db := must(pgx.Connect(w.t.Context(), w.config.PostgresSystemURL))(w.t)
	w.t.Cleanup(func() { _ = db.Close(context.Background()) })
	exec := func(sql string) {
		w.t.Helper()
		if _, err := db.Exec(w.t.Context(), sql); err != nil {
			w.t.Fatal(err)
		}
	}
	var bring strings.Builder
	for _, table := range []string{"data_feed", "data_publications", "data_changes"} {
		exec(`CREATE TEMPORARY TABLE backup_of_` + table + ` AS TABLE ` + table)
		fmt.Fprintf(&bring, "DELETE FROM %[1]s; INSERT INTO %[1]s TABLE backup_of_%[1]s;", table)
	}
	return func() {
		w.t.Helper()
		exec(`BEGIN; ` + bring.String() + ` COMMIT`)
	}
}
