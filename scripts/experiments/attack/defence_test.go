//go:build attack

package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// The second line of defence alone. A proxy removes the conditions that limit requests
// to Elasticsearch to one workspace, and statements without such conditions are sent to
// Postgres in Atlas's role. Nothing of another workspace is shown or changed.
func TestSecondLine(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "second-line", "the application's own workspace conditions taken away", seed)
	random := rand.New(rand.NewPCG(seed, 10))
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve(rig.PatientRedis)
	victim := newVictim(t, r, s, random)
	intruder := newIntruders(t, r, s, victim)[1]
	own := ownRecords(t, intruder, victim)
	rig.Check(t, r.Settled(time.Minute))
	before, err := victim.state(t.Context(), r)
	rig.Check(t, err)

	var stripped atomic.Int64
	open := r.Serve(rig.PatientRedis, "ATLAS_ELASTICSEARCH_URL="+stripWorkspace(t, r.Elasticsearch[0], &stripped))
	intruder.Base = open.Base
	searches, leaks, foreign, most := unfiltered(t, intruder, victim, own)
	f.Report("searches of books and Views", float64(searches), "")
	f.AtLeast("conditions on the workspace that were taken out", float64(stripped.Load()), 30, "")
	f.AtLeast("matches of a book that holds one record", float64(most), 4, "") // else nothing was removed
	f.Exactly("answers that hold anything of the other's", float64(leaks), 0, "")
	f.Exactly("records shown that are in the other's book only", float64(foreign), 0, "")

	statements, seen := bareStatements(t, r, intruder.Workspace, victim)
	f.AtLeast("statements without a condition, as the application's role", float64(statements), 40, "")
	f.Exactly("rows of the other's read or changed", float64(seen), 0, "")

	changed := victim.changed(t, r, before)
	f.Exactly("parts of the other's state that changed", float64(changed), 0, fmt.Sprintf("of %d", len(before)))
}

// ownRecords adds a record of each dataset to the intruder's book and a contact to a
// View, and returns their ids.
func ownRecords(t *testing.T, i intruder, v *victim) []string {
	t.Helper()
	var own []string
	for _, d := range held {
		id := v.others[d][0]
		own = append(own, id)
		must(t, i.Caller, "POST", "/workspace/"+d+"/upsert", object{singular(d) + "_id": id, "tags": []string{"own"}})
	}
	must(t, i.Caller, "POST", "/workspace/views/"+i.view+"/records/add", object{"record_id": own[slices.Index(held, "contacts")]})
	return own
}

var (
	workspaceTerm = regexp.MustCompile(`\{"term":\{"held\.workspace_id":"[0-9a-f-]{36}"\}\}`)
	routingHead   = regexp.MustCompile(`"routing":"[0-9a-f-]{36}",`)
)

// stripWorkspace returns the address of a proxy before Elasticsearch that removes the
// condition on the workspace and its routing from every search; n counts the searches.
func stripWorkspace(t *testing.T, elasticsearch string, n *atomic.Int64) string {
	t.Helper()
	return rig.Tap(t, elasticsearch, func(r *http.Request, body []byte) []byte {
		if !strings.HasSuffix(r.URL.Path, "search") {
			return body
		}
		if workspaceTerm.Match(body) {
			n.Add(1)
		}
		query := r.URL.Query()
		query.Del("routing")
		r.URL.RawQuery = query.Encode()
		return routingHead.ReplaceAll(workspaceTerm.ReplaceAll(body, []byte(`{"match_all":{}}`)), nil)
	}, nil)
}

// unfiltered searches all held records that the intruder can search.
func unfiltered(t *testing.T, i intruder, v *victim, own []string) (searches, leaks, foreign, most int) {
	t.Helper()
	bodies := []object{
		{}, {"limit": 100, "sort": object{"field": "updated_at", "order": "desc"}}, {"filters": object{"tags": object{"value": bait}}},
		{"filters": object{"workspace_status": object{"value": bait}}}, {"filters": object{"notes": object{"value": bait}}}, {"query": "a"},
	}
	search := func(path string, body object) {
		a, err := i.Do(t.Context(), "POST", path, body)
		rig.Check(t, err)
		searches++
		if leak := v.leak(a, path+i.Workspace); leak != "" {
			leaks++
			t.Errorf("%s %v shows %s", path, body, leak)
		}
		if a.Status != 200 {
			return // a sort that Views do not have
		}
		if strings.Contains(path, "/views/") {
			return // a Dynamic View shows all global records
		}
		most = max(most, a.Metadata().Total)
		ids, err := a.IDs()
		rig.Check(t, err)
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
		paths = append(paths, "/workspace/views/"+makeView(t, i.Caller, singular(d), "dynamic", "Dynamic")+"/records/search")
	}
	for _, path := range paths {
		for _, body := range bodies {
			search(path, body)
		}
	}
	return searches, leaks, foreign, most
}

// bareStatements reads, changes and deletes all rows of every table, as Atlas's role in
// the intruder's workspace and in none, and inserts rows for the victim. Changes are
// rolled back.
func bareStatements(t *testing.T, r *rig.Rig, in string, v *victim) (statements, seen int) {
	t.Helper()
	address := ""
	for _, setting := range r.Environment() {
		if a, ok := strings.CutPrefix(setting, "ATLAS_POSTGRES_URL="); ok {
			address = a
		}
	}
	conn, err := pgx.Connect(t.Context(), address)
	rig.Check(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	tables, err := r.Texts(t.Context(), `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'goose_db_version'`)
	rig.Check(t, err)
	owned, err := workspaceTables(t.Context(), r)
	if err != nil || len(owned) < 8 {
		t.Fatalf("tables of workspaces: %v, %v", owned, err)
	}
	// run returns the rows of a statement as texts, or the SQLSTATE of its error.
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
		copies, err := r.Texts(t.Context(), "SELECT row_to_json(t)::text FROM "+table+" t WHERE workspace_id = $1 LIMIT 1", v.ID)
		rig.Check(t, err)
		for _, row := range copies {
			quoted := "'" + strings.ReplaceAll(row, "'", "''") + "'"
			if _, code := run(
				in,
				"INSERT INTO "+table+" SELECT * FROM json_populate_record(NULL::"+table+", "+quoted+") RETURNING 'written'",
			); code != "42501" {
				seen++
				t.Errorf("a row of the other's put into %s: refused by %q", table, code)
			}
		}
	}
	return statements, seen
}

var errRollBack = errors.New("rolled back")
