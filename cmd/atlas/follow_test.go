package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"atlas/client"
	"atlas/internal/elastic"
)

// followed is a copy of accounts that `atlas follow` maintains.
type followed struct {
	writable
	name string
	args []string // where the copy is
	// records are the records of the copy.
	records func() map[string]string
	// damage loses a record, adds one and changes one.
	damage func(lost, added, changed string)
}

// copies are a folder and a table of the name.
func (w writable) copies(name string) []followed {
	return []followed{w.folder(name), w.table(name)}
}

func (w writable) folder(name string) followed {
	parent := filepath.Join(w.dir, name)
	part := func(id string) string { return filepath.Join(parent, "accounts", id[:2]+".ndjson") }
	return followed{
		w, "folder", []string{"--dir", parent},
		func() map[string]string {
			all := map[string]string{}
			for _, path := range must(filepath.Glob(filepath.Join(parent, "accounts", "*.ndjson")))(w.t) {
				before := ""
				for line := range strings.Lines(contents(w.t, path)) {
					id, canonical := canonicalRecord(w.t, line)
					if id <= before || path != part(id) {
						w.t.Errorf("%s has %s after %q", path, id, before)
					}
					before, all[id] = id, canonical
				}
			}
			return all
		},
		func(lost, added, changed string) {
			var kept strings.Builder
			for line := range strings.Lines(contents(w.t, part(lost))) {
				if !strings.Contains(line, lost) {
					kept.WriteString(strings.Replace(line, `"name":"`, `"name":"not `, strings.Count(line, changed)))
				}
			}
			if err := os.WriteFile(part(lost), []byte(kept.String()+`{"id":"`+added+`"}`+"\n"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
	}
}

func (w writable) table(name string) followed {
	return followed{
		w, "table", []string{"--postgres", w.config.PostgresSystemURL, "--table", name},
		func() map[string]string {
			all := map[string]string{}
			for _, row := range w.sql(`SELECT id::text || record::text FROM ` + name) {
				id, canonical := canonicalRecord(w.t, row[36:])
				if all[id] = canonical; row[:36] != id {
					w.t.Errorf("the row of %s has %s", row[:36], row[36:])
				}
			}
			return all
		},
		func(lost, added, changed string) {
			w.sql(`DELETE FROM `+name+` WHERE id = $1`, lost)
			w.sql(`INSERT INTO `+name+` VALUES ($1, '{}', now())`, added)
			w.sql(`UPDATE `+name+` SET record = record || '{"name": "not"}' WHERE id = $1`, changed)
		},
	}
}

// sql returns the texts that a statement returns.
func (w writable) sql(statement string, args ...any) []string {
	w.t.Helper()
	conn := must(pgx.Connect(w.t.Context(), w.config.PostgresSystemURL))(w.t)
	defer conn.Close(context.Background())
	return must(pgx.CollectRows(must(conn.Query(w.t.Context(), statement, args...))(w.t), pgx.RowTo[string]))(w.t)
}

func canonicalRecord(t *testing.T, text string) (id, canonical string) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	id, _ = members["id"].(string)
	return id, string(must(json.Marshal(members))(t))
}

// follow runs `atlas follow accounts`, which must exit with a status.
func (f followed) follow(want int, args ...string) string {
	f.t.Helper()
	status, _, said := f.atlas(append(append([]string{"follow", "accounts"}, f.args...), args...)...)
	if status != want {
		f.t.Fatalf("%s %v: status %d, want %d\n%s", f.name, args, status, want, said)
	}
	return said
}

// equal checks that the copy has the records that match, as the service returns each.
func (f followed) equal(when string, filters client.Filters) {
	f.t.Helper()
	if diff := cmp.Diff(f.served(filters), f.records()); diff != "" {
		f.t.Errorf("%s: the %s differs (-served +copied):\n%.2000s", when, f.name, diff)
	}
}

// served are the records of the service by id, as gets return them.
func (w writable) served(filters client.Filters) map[string]string {
	w.t.Helper()
	c, all := w.client(w.key), map[string]string{}
	var ids []string
	for _, a := range collect(w.t, c.Accounts.All(w.t.Context(), client.Search{Filters: filters, Sort: client.Asc("created_at")})) {
		ids = append(ids, a.ID)
	}
	for some := range slices.Chunk(ids, client.MaxPage) {
		for _, item := range must(c.Dataset("accounts").GetAll(w.t.Context(), some, client.Shown{}))(w.t).Items {
			id, record := canonicalRecord(w.t, string(item.Data))
			all[id] = record
		}
	}
	return all
}

// spread are lines of some accounts, whose ids are spread over files.
func spread(from, to int, rest string) (lines []string) {
	for n := from; n < to; n++ {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"name":"Firm %d","updated_at":"2024-01-01"%s}`, spreadID(n), n, rest))
	}
	return lines
}

func spreadID(n int) string { return fmt.Sprintf("%02x000000-0000-4000-8000-%012d", n%7, n) }

// Both kinds of copies stay equal to the data through deltas, loads and rollbacks.
func TestFollow(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": strings.Join(append(spread(0, 250, `,"city":"Calgary"`), spread(250, 260, "")...), "\n")})
	all, some := w.copies("everything"), w.copies("calgary")
	inCalgary := client.Filters{"city": client.Is("calgary")}
	once := func(when string) {
		t.Helper()
		for i := range all {
			all[i].follow(0, "--once")
			all[i].equal(when, nil)
			some[i].follow(0, "--once", "--filter", "city=calgary")
			some[i].equal(when+", filtered", inCalgary)
		}
	}
	once("at first")
	w.index(0, "apply", "--accounts", w.file(
		`{"id":"`+spreadID(1)+`","name":"Uno","city":"Banff","updated_at":"2024-02-01"}`,
		`{"id":"`+spreadID(2)+`","deleted":true,"updated_at":"2024-02-01"}`,
		`{"id":"`+spreadID(255)+`","name":"Moved","city":"Calgary","updated_at":"2024-02-01"}`,
		`{"id":"`+spreadID(300)+`","name":"New","city":"Calgary","updated_at":"2024-02-01"}`))
	once("after a delta")
	w.load(map[string]string{"accounts": strings.Join(
		append(spread(10, 210, `,"city":"Calgary","description":"Loaded"`), spread(400, 445, "")...), "\n",
	)})
	once("after a load")
	w.index(0, "rollback")
	once("after a rollback")

	for i, f := range all {
		if said := f.follow(0, "--verify"); !strings.Contains(said, "reading 260 accounts costs as many credits") {
			t.Error(said)
		}
		f.damage(spreadID(7), spreadID(7)[:35]+"9", spreadID(0))
		if said := f.follow(3, "--verify", "--wait", "0s"); !strings.Contains(said, "missing 1, extra 1, different 1") {
			t.Errorf("%s: %s", f.name, said)
		}
		if f.name == "folder" {
			part := filepath.Join(f.args[1], "accounts", "01.ndjson")
			whole := contents(t, part)
			if err := os.WriteFile(part, []byte(`{"id"`+"\n"+whole), 0o600); err != nil {
				t.Fatal(err)
			}
			if said := f.follow(3, "--verify"); !strings.Contains(said, "line 1 of "+part+" is not a record") ||
				!strings.Contains(said, "--restart mends it") {
				t.Error(said)
			}
			if err := os.WriteFile(part, []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if said := some[i].follow(1, "--once"); !strings.Contains(said, `is another copy: {`) || !strings.Contains(said, "calgary") {
			t.Errorf("without the filter: %s", said)
		}
		// A restart leaves unchanged records alone.
		kept := func() any {
			if f.name == "folder" {
				return must(os.Stat(filepath.Join(f.args[1], "accounts", "01.ndjson")))(t).ModTime()
			}
			return w.sql(`SELECT updated_at::text FROM everything WHERE id = $1`, spreadID(8))[0]
		}
		before := kept()
		f.follow(4, "--restart", "--max-credits", "130")
		if said := f.follow(0, "--once"); !strings.Contains(said, "going on after 130 rows") {
			t.Error(said)
		}
		if f.equal("restarted", nil); before != kept() {
			t.Errorf("%s: the restart wrote what had not changed", f.name)
		}
	}

	es := must(elastic.New(elastic.Config{Addresses: w.config.ElasticsearchURL}))(t)
	if err := es.DeleteIndices(t.Context(), w.config.Names().Feed()); err != nil {
		t.Fatal(err)
	}
	w.eventually("the cursor is too old", func() bool { return len(w.changes("accounts", `{"since":"2024-01-01"}`).items) == 0 })
	for _, f := range all {
		w.eventually("the copy is too old", func() bool {
			status, _, said := f.atlas(append([]string{"follow", "accounts", "--once"}, f.args...)...)
			return status == 5 && strings.Contains(said, "--restart reads all accounts anew")
		})
	}
	w.index(0, "apply", "--accounts", w.file(`{"id":"`+spreadID(3)+`","deleted":true,"updated_at":"2024-03-01"}`))
	for _, f := range all {
		f.follow(0, "--once", "--restart")
		f.equal("after the feed began anew", nil)
	}
}

// Searches see a delta before its changes are published: --verify waits for them.
func TestFollowVerifiesWhileADeltaIsApplied(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": strings.Join(spread(0, 20, ""), "\n")})
	f := w.folder("verified")
	f.follow(0, "--once")

	writing, publish := make(chan struct{}), make(chan struct{})
	var held sync.Once
	through := w
	through.config.ElasticsearchURL = []string{holding(t, w.config.ElasticsearchURL[0], func(r *http.Request) {
		if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/"+w.config.Names().Feed()+"/") {
			held.Do(func() { close(writing) })
			<-publish
		}
	})}
	applied := make(chan struct{})
	go func() {
		defer close(applied)
		through.index(0, "apply", "--accounts", w.file(
			`{"id":"`+spreadID(1)+`","name":"Uno","updated_at":"2024-02-01"}`,
			`{"id":"`+spreadID(2)+`","deleted":true,"updated_at":"2024-02-01"}`,
			`{"id":"`+spreadID(30)+`","name":"New","updated_at":"2024-02-01"}`))
	}()
	select {
	case <-writing:
	case <-applied:
		t.Fatal("the delta was not held before its publication")
	}
	for _, want := range []string{
		"missing 1, extra 1, different 1", "no change of that was reported within 1ms",
		"while a load or a delta is under way, give more --wait",
	} {
		if said := f.follow(3, "--verify", "--wait", "1ms"); !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	command, said := f.process("--verify")
	w.eventually("it waits", func() bool { return strings.Contains(said.String(), "3 rows differ; waiting up to 2m0s") })
	close(publish)
	<-applied
	if err := command.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	f.equal("published", nil)
}

// holding is the address of a proxy that calls wait before each request.
func holding(t *testing.T, address string, wait func(*http.Request)) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(address))(t))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		wait(r)
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A killed or interrupted run is resumed at any point: the copy ends equal.
func TestFollowIsKilled(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	const rows = 500
	w.load(map[string]string{"accounts": strings.Join(spread(0, rows, ""), "\n")})
	for round, f := range w.copies("killed") {
		t.Run(f.name, func(t *testing.T) {
			f.t = t
			random, kills := rand.New(rand.NewPCG(1, uint64(round))), 0
			for i := range 12 {
				if i > 6 { // the first runs mostly read, these mostly follow
					w.index(0, "apply", "--accounts", w.file(
						fmt.Sprintf(`{"id":%q,"name":"Round %d of %d","updated_at":"2024-%02d-%02d"}`, spreadID(i), i, round, 3+round, i),
						fmt.Sprintf(`{"id":%q,"deleted":true,"updated_at":"2024-%02d-%02d"}`, spreadID(rows-i-round*100), 3+round, i)))
				}
				wait := time.Duration(random.IntN(150)) * time.Millisecond
				if i%2 == 0 {
					ctx, cancel := context.WithTimeout(t.Context(), wait)
					interrupted, stop := context.WithCancel(t.Context())
					context.AfterFunc(ctx, stop)
					run(
						interrupted,
						append([]string{"follow", "accounts", "--url", f.base, "--api-key", f.key}, f.args...),
						&bytes.Buffer{}, &bytes.Buffer{},
					)
					cancel()
					continue
				}
				command, _ := f.process()
				state := f.progress()
				for until := time.Now().Add(2 * time.Second); f.progress() == state && time.Now().Before(until); {
					time.Sleep(time.Millisecond) // polling interval
				}
				time.Sleep(wait / 10) // somewhere in the following work
				if err := command.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if _ = command.Wait(); command.ProcessState.Exited() {
					t.Fatal("ended before it could be killed")
				}
				kills++
			}
			f.follow(0, "--once")
			if f.equal(fmt.Sprintf("after %d kills", kills), nil); len(f.records()) < rows-100 {
				t.Errorf("%d records", len(f.records()))
			}
			f.goesOn()
		})
	}
}

// process starts `atlas follow accounts` as a process.
func (f followed) process(args ...string) (*exec.Cmd, *syncBuffer) {
	f.t.Helper()
	command := exec.CommandContext(f.t.Context(), os.Args[0], slices.Concat([]string{"follow", "accounts"}, f.args, args)...)
	command.Env = append(os.Environ(), runAsAtlas+"=1", "ATLAS_URL="+f.base, "ATLAS_API_KEY="+f.key)
	said := &syncBuffer{}
	command.Stderr = said
	if err := command.Start(); err != nil {
		f.t.Fatal(err)
	}
	return command, said
}

// progress is the state of the copy; "" before there is one.
func (f followed) progress() string {
	if f.name == "folder" {
		raw, _ := os.ReadFile(filepath.Join(f.args[1], "accounts", ".state"))
		return string(raw)
	}
	if f.sql(`SELECT coalesce(to_regclass($1)::text, '')`, f.args[3]+"_follow")[0] == "" {
		return ""
	}
	return strings.Join(f.sql(`SELECT state FROM `+f.args[3]+`_follow`), "")
}

// goesOn checks that a run without --once follows until it is interrupted, by itself.
func (f followed) goesOn() {
	f.t.Helper()
	command, said := f.process()
	w := f.writable
	w.index(
		0, "apply", "--accounts",
		w.file(`{"id":"`+spreadID(50)+`","name":"Late `+f.name+`","updated_at":"`+time.Now().UTC().Format(time.RFC3339Nano)+`"}`),
	)
	w.eventually("the process follows", func() bool { return strings.Contains(f.records()[spreadID(50)], "Late "+f.name) })
	if refused := f.follow(1, "--once"); !strings.Contains(refused, "another atlas follow writes") {
		f.t.Error(refused)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		f.t.Fatal(err)
	}
	if _ = command.Wait(); command.ProcessState.ExitCode() != 130 || !strings.Contains(said.String(), "interrupted after") ||
		strings.Count(said.String(), "following its changes until it is interrupted\n") != 1 {
		f.t.Errorf("status %d: %s", command.ProcessState.ExitCode(), said)
	}
	f.equal("followed on", nil)
}

// Errors of atlas follow, all reported at once.
func TestFollowRefuses(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"accounts": strings.Join(spread(0, 3, ""), "\n")})
	status, _, said := w.atlas(
		"follow", "things", "--table", "No-Name", "--max-credits", "0", "--wait", "25h", "--filter",
		`{"has_project":{}}`, "--filter", `{"a`,
	)
	for _, want := range []string{
		"<dataset> must be one of accounts", "--postgres", "--table must be", "--max-credits must be",
		"--wait must be 0s to 24h", "no changes of related records", `--filter {"a`,
	} {
		if status != 2 || !strings.Contains(said, want) {
			t.Errorf("%d, %q is not in %s", status, want, said)
		}
	}
	for _, f := range w.copies("refused") {
		if said := f.follow(2, "--filter", "has_project"); !strings.Contains(said, "no changes of related records") {
			t.Error(said)
		}
	}
	// Files that are not its own stay.
	f := w.folder("foreign")
	if err := os.MkdirAll(filepath.Join(f.args[1], "accounts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.args[1], "accounts", "mine.ndjson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := f.follow(1, "--once"); !strings.Contains(said, "no state that belongs to them") {
		t.Error(said)
	}
}
