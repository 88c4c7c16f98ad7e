//go:build attack

package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/scripts/experiments/figures"
	"atlas/scripts/experiments/rig"
)

// The second line of defence, alone: the conditions by which Atlas keeps to one
// workspace are taken out of its requests to Elasticsearch on their way, and
// statements without any are sent to Postgres in its role. Still nothing of
// another workspace is shown or changed.
func TestSecondLine(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "second-line", "the application's own workspace conditions taken away", seed)
	random := rand.New(rand.NewPCG(seed, 10))
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve(rig.PatientRedis)
	victim := newVictim(t, r, s, random)
	intruder := newIntruders(t, r, s, victim)[1]
	own := ownRecords(t, intruder, victim)
	if err := r.Settled(time.Minute); err != nil {
		t.Fatal(err)
	}
	before, err := victim.state(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}

	stripped := newStripper(t, r.Elasticsearch[0])
	open := r.Serve(rig.PatientRedis, "ATLAS_ELASTICSEARCH_URL="+stripped.URL)
	intruder.Base = open.Base
	searches, leaks, foreign, most := unfiltered(t, intruder, victim, own)
	f.Tell("searches of books and Views", float64(searches), "")
	f.AtLeast("conditions on the workspace that were taken out", float64(stripped.n.Load()), 30, "")
	f.AtLeast("matches of a book that holds one record", float64(most), 4, "") // else nothing was taken away
	f.Exactly("answers that hold anything of the other's", float64(leaks), 0, "")
	f.Exactly("records shown that are in the other's book only", float64(foreign), 0, "")

	statements, seen := bareStatements(t, r, intruder.Workspace, victim)
	f.AtLeast("statements without a condition, as the application's role", float64(statements), 40, "")
	f.Exactly("rows of the other's read or changed", float64(seen), 0, "")

	after, err := victim.state(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for part := range before {
		if before[part] != after[part] {
			changed++
			t.Errorf("%s of the victim changed", part)
		}
	}
	f.Exactly("parts of the other's state that changed", float64(changed), 0, fmt.Sprintf("of %d", len(before)))
}

// ownRecords gives the intruder a record of each dataset, in the book and, of
// contacts, in a View, and returns their ids.
func ownRecords(t *testing.T, i intruder, v *victim) []string {
	t.Helper()
	var own []string
	for _, d := range held {
		id := v.others[d][0]
		own = append(own, id)
		if _, err := i.Want(t.Context(), 200, "POST", "/workspace/"+d+"/upsert", object{singular(d) + "_id": id, "tags": []string{"own"}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := i.Want(t.Context(), 200, "POST", "/workspace/views/"+i.view+"/records/add", object{"record_id": own[slices.Index(held, "contacts")]}); err != nil {
		t.Fatal(err)
	}
	return own
}

// stripper stands before Elasticsearch and takes the condition on the workspace,
// and the routing by it, out of every search.
type stripper struct {
	*httptest.Server
	n atomic.Int64
}

var (
	workspaceTerm = regexp.MustCompile(`\{"term":\{"held\.workspace_id":"[0-9a-f-]{36}"\}\}`)
	routingHead   = regexp.MustCompile(`"routing":"[0-9a-f-]{36}",`)
)

func newStripper(t *testing.T, elasticsearch string) *stripper {
	t.Helper()
	to, err := url.Parse(elasticsearch)
	if err != nil {
		t.Fatal(err)
	}
	s := &stripper{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		if !strings.HasSuffix(r.In.URL.Path, "search") {
			return
		}
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			return // the request fails, and with it the search
		}
		if workspaceTerm.Match(body) {
			s.n.Add(1)
		}
		body = routingHead.ReplaceAll(workspaceTerm.ReplaceAll(body, []byte(`{"match_all":{}}`)), nil)
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		query := r.Out.URL.Query()
		query.Del("routing")
		r.Out.URL.RawQuery = query.Encode()
	}}
	s.Server = httptest.NewServer(http.HandlerFunc(proxy.ServeHTTP))
	t.Cleanup(s.Close)
	return s
}

// unfiltered searches all that the intruder can search of held records.
func unfiltered(t *testing.T, i intruder, v *victim, own []string) (searches, leaks, foreign, most int) {
	t.Helper()
	bodies := []object{
		{}, {"limit": 100, "sort": object{"field": "updated_at", "order": "desc"}}, {"filters": object{"tags": object{"value": bait}}},
		{"filters": object{"workspace_status": object{"value": bait}}}, {"filters": object{"notes": object{"value": bait}}}, {"query": "a"},
	}
	search := func(path string, body object) {
		a, err := i.Do(t.Context(), "POST", path, body)
		if err != nil {
			t.Fatal(err)
		}
		searches++
		if leak := v.leak(a, path+i.Workspace); leak != "" {
			leaks++
			t.Errorf("%s %v shows %s", path, body, leak)
		}
		if a.Status != 200 {
			return // by a sort that Views do not have
		}
		if strings.Contains(path, "/views/") {
			return // a Dynamic View shows global records, whoever holds them
		}
		most = max(most, a.Metadata().Total)
		ids, err := a.IDs()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if !slices.Contains(own, id) {
				foreign++
				t.Errorf("%s %v shows the record %s", path, body, id)
			}
		}
	}
	paths := []string{"/workspace/views/" + i.view + "/records/search"}
	for _, d := range held {
		paths = append(paths, "/workspace/"+d+"/search")
		a, err := i.Want(t.Context(), 200, "POST", "/workspace/views/upsert",
			object{"dataset": singular(d), "view_type": "dynamic", "name": "Dynamic", "definition": object{"version": 1, "q": "", "fields": object{}}})
		if err != nil {
			t.Fatal(err)
		}
		var made struct{ View struct{ ID string } }
		decode(t, a, &made)
		paths = append(paths, "/workspace/views/"+made.View.ID+"/records/search")
	}
	for _, path := range paths {
		for _, body := range bodies {
			search(path, body)
		}
	}
	return searches, leaks, foreign, most
}

// bareStatements reads, changes and deletes all rows of every table, as Atlas's
// role in the intruder's workspace and in none, and puts the victim's own rows
// there. What was changed is rolled back.
func bareStatements(t *testing.T, r *rig.Rig, in string, v *victim) (statements, seen int) {
	t.Helper()
	address := ""
	for _, setting := range r.Environment() {
		if a, ok := strings.CutPrefix(setting, "ATLAS_POSTGRES_URL="); ok {
			address = a
		}
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tables, err := texts(t.Context(), r, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	owned, err := workspaceTables(t.Context(), r)
	if err != nil || len(owned) < 8 {
		t.Fatalf("tables of workspaces: %v, %v", owned, err)
	}
	// run answers the rows of a statement as texts, or the code of what refused it.
	run := func(workspace, sql string) (rows []string, code string) {
		statements++
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if workspace != "" {
				if _, err := tx.Exec(t.Context(), "SELECT set_config('atlas.workspace_id', $1, true)", workspace); err != nil {
					return err
				}
			}
			found, err := tx.Query(t.Context(), sql)
			if err != nil {
				return err
			}
			if rows, err = pgx.CollectRows(found, pgx.RowTo[string]); err != nil {
				return err
			}
			return errRollBack
		})
		var refused *pgconn.PgError
		if errors.As(err, &refused) {
			if refused.Code != "42501" && !strings.HasPrefix(refused.Code, "23") { // insufficient_privilege; a constraint
				t.Errorf("%s: %v", sql, err)
			}
			return nil, refused.Code
		}
		if !errors.Is(err, errRollBack) {
			t.Fatalf("%s: %v", sql, err)
		}
		return rows, ""
	}
	its := func(what string, rows []string) {
		for _, row := range rows {
			if lower := strings.ToLower(row); strings.Contains(lower, v.ID) || strings.Contains(lower, secretMark) {
				seen++
				t.Errorf("%s: %.300s", what, row)
			}
		}
	}
	for _, table := range tables {
		each := slices.Contains(owned, table)
		for _, workspace := range []string{"", in} {
			rows, _ := run(workspace, "SELECT t::text FROM "+table+" t")
			its("reading "+table, rows)
			if !each {
				continue // rows of no workspace, and the table of workspaces, which the role may not write
			}
			rows, _ = run(workspace, "UPDATE "+table+" t SET workspace_id = workspace_id RETURNING t::text")
			its("changing "+table, rows)
			rows, _ = run(workspace, "DELETE FROM "+table+" t RETURNING t::text")
			its("deleting from "+table, rows)
		}
		if !each {
			continue
		}
		copies, err := texts(t.Context(), r, "SELECT row_to_json(t)::text FROM "+table+" t WHERE workspace_id = $1 LIMIT 1", v.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range copies {
			quoted := "'" + strings.ReplaceAll(row, "'", "''") + "'"
			if _, code := run(in, "INSERT INTO "+table+" SELECT * FROM json_populate_record(NULL::"+table+", "+quoted+") RETURNING 'written'"); code != "42501" {
				seen++
				t.Errorf("a row of the other's put into %s: refused by %q", table, code)
			}
		}
	}
	return statements, seen
}

var errRollBack = errors.New("rolled back")
