package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"atlas/client"
)

// After a merge the API names the target, a follower follows, and the workspace's data moves
// to the target within seconds.
func TestMerges(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	const (
		one   = "10000000-0000-4000-8000-000000000001"
		two   = "10000000-0000-4000-8000-000000000002"
		three = "10000000-0000-4000-8000-000000000003"
	)
	w.load(map[string]string{
		"accounts": account(1, `,"name":"One"`) + "\n" + account(2, `,"name":"Two"`) + "\n" + account(3, `,"name":"Three"`),
	})
	c := w.client(w.key)
	ctx := t.Context()
	copies := w.copies("merged")
	for _, f := range copies {
		f.follow(0, "--once")
	}
	start := w.changes("accounts", `{}`)
	if a := w.call("POST", "/workspace/accounts/upsert/batch", w.key, `{"inputs":[
		{"account_id":"`+one+`","notes":"Of one","tags":["a"],"icp_tier":"tier_1"},{"account_id":"`+two+`","notes":"Of two","tags":["b"]}]}`); a.status != http.StatusOK {
		t.Fatal(a.status, string(a.raw))
	}
	view, err := c.Views.Upsert(ctx, client.ViewUpsert{Dataset: "account", Type: "static", Name: "List"})
	if err != nil {
		t.Fatal(err)
	}
	if a := w.call("POST", "/workspace/views/"+view.ID+"/records/add", w.key, `{"record_id":"`+one+`"}`); a.status != http.StatusOK {
		t.Fatal(a.status, string(a.raw))
	}

	w.index(0, "apply", "--accounts", w.file(`{"id":"`+one+`","merged_into":"`+two+`"}`))
	w.index(0, "apply", "--accounts", w.file(`{"id":"`+two+`","merged_into":"`+three+`"}`))
	p := w.changes("accounts", `{"cursor":"`+start.meta.Next+`"}`)
	if want := []string{"merge 1", "merge 2"}; !slices.Equal(p.ops(), want) || p.items[0].Into != two || p.items[1].Into != three {
		t.Errorf("%s", p.raw)
	}
	for _, f := range copies {
		f.follow(0, "--once")
		f.equal("after the merges", nil)
	}
	wantMerged := func(what string, err error) {
		t.Helper()
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.MergedInto != three || !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrRecordNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, id := range []string{one, two} {
		_, err = c.Accounts.Get(ctx, id)
		wantMerged("get", err)
	}
	batch, err := c.Accounts.GetAll(ctx, []string{one, three}, client.Shown{})
	if err != nil || batch.Items[1].Err != nil {
		t.Fatal(err, batch)
	}
	wantMerged("get in a batch", batch.Items[0].Err)
	_, err = c.Accounts.Get(ctx, "10000000-0000-4000-8000-000000000009")
	if e, ok := errors.AsType[*client.Error](err); !ok || e.MergedInto != "" || !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a record that never was: %v", err)
	}
	if a := w.call("POST", "/workspace/accounts/upsert", w.key, `{"account_id":"`+one+`"}`); a.status != http.StatusNotFound ||
		!strings.Contains(string(a.raw), `"merged_into":"`+three+`"`) {
		t.Errorf("into the book: %d %s", a.status, a.raw)
	}

	var row answer
	w.eventually("the holdings move", func() bool {
		row = w.call("GET", "/workspace/accounts/"+three, w.key, "")
		a := w.call("POST", "/workspace/views/"+view.ID+"/records/search", w.key, `{}`)
		return row.status == http.StatusOK && strings.Contains(string(row.raw), "Of one") &&
			strings.Contains(string(row.raw), "Of two") && strings.Contains(string(a.raw), three)
	})
	var held struct {
		Tier  string `json:"icp_tier"`
		Notes string
		Tags  []string
	}
	if err := json.Unmarshal(row.body.Data, &held); err != nil || held.Tier != "tier_1" || len(held.Tags) != 2 ||
		!strings.Contains(held.Notes, "Of two") || !strings.Contains(held.Notes, "Of one") {
		t.Errorf("%v %s", err, row.raw)
	}
	if a := w.call("GET", "/workspace/accounts/"+one, w.key, ""); a.status != http.StatusNotFound ||
		!strings.Contains(string(a.raw), `"merged_into":"`+three+`"`) {
		t.Errorf("in the book: %d %s", a.status, a.raw)
	}
	said, _ := operatorCLI{t, w.config.PostgresSystemURL}.run(0, "workspace", "merged-overlays", w.pro.ID.String(), "--json")
	if strings.Count(said, `"into_id"`) != 1 || !strings.Contains(said, "Of ") {
		t.Errorf("merged overlays: %s", said)
	}
	if a := w.call("POST", "/workspace/accounts/search", w.key, `{}`); strings.Count(string(a.raw), `"account_types"`) != 1 {
		t.Errorf("the book: %s", a.raw)
	}
}
