package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"atlas/client"
	"atlas/cmd/internal/server"
	"atlas/workspace/people"
)

// setClockBack sets the clock of a database back by a year: functions of the same names hide
// those of Postgres, also in triggers and defaults.
const setClockBack = `
	CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$ SELECT pg_catalog.clock_timestamp() - interval '365 days' $$;
	CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT pg_catalog.now() - interval '365 days' $$;
	DO $do$
	DECLARE r record;
	BEGIN
		EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
		FOR r IN SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proconfig IS NOT NULL LOOP
			EXECUTE format('ALTER FUNCTION %s SET search_path = public, pg_catalog, pg_temp', r.name);
		END LOOP;
		FOR r IN SELECT c.relname, a.attname FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
		         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.adnum
		         WHERE c.relnamespace = 'public'::regnamespace AND pg_get_expr(d.adbin, d.adrelid) IN ('clock_timestamp()', 'now()') LOOP
			EXECUTE format('ALTER TABLE public.%I ALTER %I SET DEFAULT public.clock_timestamp()', r.relname, r.attname);
		END LOOP;
	END $do$`

// Times in Postgres come from its clock, not from that of a server, a load or a command: one
// wrong clock, a year ahead, would postpone everything scheduled by a year, and be visible to
// clients.
func TestPostgresKeepsItsOwnTimes(t *testing.T) {
	t.Parallel()
	var db *pgx.Conn
	w := startWritable(t, func(c *server.Config) {
		c.SMTPURL, c.MailFrom, c.PublicURL = "smtp://127.0.0.1:9?tls=none", "atlas@example.com", "https://atlas.example"
		c.Webhooks.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		var err error
		if db, err = pgx.Connect(t.Context(), c.PostgresSystemURL); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close(t.Context()) })
		if _, err := db.Exec(t.Context(), setClockBack); err != nil {
			t.Fatal(err)
		}
	})
	ctx, c := t.Context(), w.client(w.key)
	call := func(path, token, body string) answer {
		t.Helper()
		a := w.call("POST", path, token, body)
		if a.status != 200 {
			t.Fatalf("POST %s %s: %d %s", path, body, a.status, a.raw)
		}
		return a
	}
	past := time.Now().AddDate(-2, 0, 0)
	w.load(map[string]string{
		"accounts": account(1, `,"name":"One"`) + "\n" + account(2, `,"name":"Two"`),
		"contacts": `{"id":"` + person + `","account_id":"` + firm + `","name":"P"}`,
		"projects": `{"id":"` + tower + `","name":"Tower"}`, "signals": event(1, past),
	})
	owner := w.user(people.Owner)
	must(c.Subscriptions.Upsert(ctx, "permit_issued", client.Delivery{Channels: []client.Channel{"email"}, Frequency: "daily"}))(t)
	hook := must(c.Webhooks.Upsert(ctx, "", receiveEvents(t).URL, "signal.arrived", "record.changed", "load.switched"))(t)
	must(c.Webhooks.Test(ctx, hook.ID))(t)
	must(c.Webhooks.Rotate(ctx, hook.ID))(t)
	w.index(0, "apply", "--signals", w.file(event(2, past)), "--accounts", w.file(`{"id":"`+other+`","merged_into":"`+firm+`"}`))
	call("/workspace/accounts/upsert", owner, `{"account_id":"`+firm+`","notes":"x","icp_tier":"tier_1"}`)
	call("/workspace/contacts/upsert", owner, `{"contact_id":"`+person+`","tags":["x"]}`)
	call("/workspace/invitations", owner, `{"email":"new@example.com","role":"member"}`)
	call("/workspace/skills/create", w.key, `{"scope":"workspace","name":"A skill","description":"x","content":"x"}`)
	view := struct{ View struct{ ID string } }{}
	if err := json.Unmarshal(
		call("/workspace/views/upsert", owner, `{"dataset":"account","view_type":"static","name":"V"}`).body.Data,
		&view,
	); err != nil {
		t.Fatal(err)
	}
	call("/workspace/views/"+view.View.ID+"/records/add", owner, `{"record_id":"`+firm+`"}`)
	call("/workspace/favorite-views/upsert", owner, `{"view_id":"`+view.View.ID+`"}`)
	call("/workspace/signal-queue/dismiss/batch", owner, `{"ids":["40000000-0000-4000-8000-000000000002"]}`)
	w.eventually("the account has a score", func() bool {
		return strings.Contains(string(w.call("GET", "/workspace/accounts/"+firm, w.key, "").raw), `"atlas_score":`)
	})
	w.eventually("digests have begun", func() (begun bool) {
		if err := db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM signal_digests)`).Scan(&begun); err != nil {
			t.Fatal(err)
		}
		return begun
	})

	rows, err := db.Query(ctx, `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'timestamp with time zone' ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range columns {
		var ahead, filled int
		// An expiry is up to 90 days ahead, an invitation's 7.
		if err := db.QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FILTER (WHERE %[1]s > public.clock_timestamp() + interval '100 days'), count(%[1]s) FROM %s`, in.Column, in.Table)).
			Scan(&ahead, &filled); err != nil {
			t.Fatal(err)
		}
		if ahead > 0 {
			t.Errorf("%s.%s is ahead of the clock of Postgres in %d of %d rows", in.Table, in.Column, ahead, filled)
		}
	}
}
