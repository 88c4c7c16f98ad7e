//go:build attack

package attack

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

func itoa(n int) string { return strconv.Itoa(n) }

// place is a search that returns cursors.
type place struct {
	name, path string
	workspace  int
	body       object
}

// Cursors that are changed, truncated, combined, or of another search: every one is
// answered with 400.
func TestForgedCursors(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "forged-cursors", "cursors changed in every bit, cut, spliced, and of other searches", seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	s := r.Serve(rig.PatientRedis)
	other := r.Serve(rig.PatientRedis, "ATLAS_CURSOR_KEYS=a key that the first does not know")
	callers := []rig.Caller{s.By(r.Workspace(rig.Unlimited, "One")), s.By(r.Workspace(rig.Unlimited, "Two"))}
	places := cursorPlaces(t, callers)
	ask := func(c rig.Caller, p place, cursor any) rig.Answer {
		t.Helper()
		body := object{"search_after": cursor}
		for name, value := range p.body {
			body[name] = value
		}
		a, err := c.Do(t.Context(), "POST", p.path, body)
		rig.Check(t, err)
		return a
	}
	cursors := make([]string, len(places))
	for i, p := range places {
		a := ask(callers[p.workspace], p, nil)
		next := a.Metadata().SearchAfter
		if a.Status != 200 || next == nil {
			t.Fatalf("%s has no second page: %d %s", p.name, a.Status, a.Raw)
		}
		cursors[i] = *next
		if a := ask(callers[p.workspace], p, *next); a.Status != 200 {
			t.Fatalf("%s: its own cursor: %d %s", p.name, a.Status, a.Raw)
		}
	}
	tried, refused := 0, 0
	try := func(c rig.Caller, p place, cursor, what string) {
		t.Helper()
		tried++
		if a := ask(c, p, cursor); a.Status == 400 && a.Code() == "bad_request" {
			refused++
		} else {
			t.Errorf("%s: %s: %d %.300s", p.name, what, a.Status, a.Raw)
		}
	}
	for i, p := range places {
		c, own := callers[p.workspace], cursors[i]
		for what, cursor := range changedCursors(t, own) {
			try(c, p, cursor, what)
		}
		for j, q := range places {
			if i == j {
				continue
			}
			try(c, p, cursors[j], "the cursor of "+q.name)
			// Two workspaces that hold the same records have equal positions.
			if both := spliced(t, own, cursors[j]); both != own {
				try(c, p, both, "its own signature before the place of "+q.name)
			}
			try(c, p, spliced(t, cursors[j], own), "the signature of "+q.name+" before its own place")
		}
		c.Base = other.Base
		try(c, p, own, "at a server of another key")
	}
	f.Report("searches that gave cursors", float64(len(places)), "")
	f.AtLeast("forged ones", float64(tried), 5_000, "")
	f.Exactly("refused with 400 bad_request", float64(refused), float64(tried), "")
}

// cursorPlaces are searches of every base, dataset and kind of sort, in two workspaces
// that hold the same records.
func cursorPlaces(t *testing.T, callers []rig.Caller) (places []place) {
	t.Helper()
	add := func(workspace int, path string, body object) {
		body["limit"] = 2
		places = append(places, place{fmt.Sprintf("%s %v of workspace %d", path, body, workspace), path, workspace, body})
	}
	sorted := func(field, order string) object { return object{"sort": object{"field": field, "order": order}} }
	for _, d := range append(held, "signals") {
		add(0, "/data/"+d+"/search", sorted("created_at", "asc"))
	}
	add(0, "/data/accounts/search", sorted("name", "asc"))
	add(0, "/data/accounts/search", sorted("name", "desc"))
	add(0, "/data/accounts/search", object{"query": "a"})
	add(0, "/data/accounts/search", object{"query": "construction"})
	for workspace, c := range callers {
		for _, d := range held {
			ids, err := must(t, c, "POST", "/data/"+d+"/search", object{"limit": 5}).IDs()
			rig.Check(t, err)
			view := makeView(t, c, singular(d), "static", "Static")
			for _, id := range ids {
				must(t, c, "POST", "/workspace/"+d+"/upsert", object{singular(d) + "_id": id, "tags": []string{"x"}})
				must(t, c, "POST", "/workspace/views/"+view+"/records/add", object{"record_id": id})
			}
			add(workspace, "/workspace/"+d+"/search", sorted("updated_at", "desc"))
			add(workspace, "/workspace/views/"+view+"/records/search", sorted("name", "asc"))
		}
		add(workspace, "/workspace/views/"+makeView(t, c, "contact", "dynamic", "Dynamic")+"/records/search", sorted("name", "asc"))
	}
	return places
}

// makeView makes a Static View, or a Dynamic one of all records, and returns its id.
func makeView(t *testing.T, c rig.Caller, dataset, kind, name string) string {
	t.Helper()
	view := object{"dataset": dataset, "view_type": kind, "name": name}
	if kind == "dynamic" {
		view["definition"] = object{"version": 1, "q": "", "fields": object{}}
	}
	id, err := c.View(t.Context(), view)
	rig.Check(t, err)
	return id
}

// must sends a request that must succeed.
func must(t *testing.T, c rig.Caller, method, path string, body any) rig.Answer {
	t.Helper()
	a, err := c.Want(t.Context(), 200, method, path, body)
	rig.Check(t, err)
	return a
}

// signatureEnd is the end of a cursor's signature, in bytes: a version byte and an
// HMAC-SHA-256.
const signatureEnd = 1 + 32

// changedCursors returns changed copies of a cursor, by the kind of change.
func changedCursors(t *testing.T, cursor string) map[string]string {
	t.Helper()
	bytes, err := base64.RawURLEncoding.DecodeString(cursor)
	rig.Check(t, err)
	all := map[string]string{
		"empty": "", "padded": cursor + "=", "longer": cursor + "A",
		"with a line break": cursor[:10] + "\n" + cursor[10:], "in upper case": strings.ToUpper(cursor),
		"twice": cursor + cursor, "spaces": " " + cursor, "the signature alone": base64.RawURLEncoding.EncodeToString(bytes[:signatureEnd]),
		"the place alone": base64.RawURLEncoding.EncodeToString(bytes[signatureEnd:]), "no base64": "§" + cursor,
		"in the other alphabet": base64.RawStdEncoding.EncodeToString(append([]byte{0xff, 0xfe}, bytes...)),
	}
	for i := range bytes {
		for bit := range 8 {
			changed := append([]byte{}, bytes...)
			changed[i] ^= 1 << bit
			all[fmt.Sprintf("bit %d of byte %d", bit, i)] = base64.RawURLEncoding.EncodeToString(changed)
		}
		all["cut before byte "+itoa(i)] = base64.RawURLEncoding.EncodeToString(bytes[:i])
	}
	for version := range 256 {
		if changed := append([]byte{byte(version)}, bytes[1:]...); changed[0] != bytes[0] {
			all["version "+itoa(version)] = base64.RawURLEncoding.EncodeToString(changed)
		}
	}
	return all
}

// spliced combines the version and signature of one cursor with the position of
// another.
func spliced(t *testing.T, signature, place string) string {
	t.Helper()
	head, err1 := base64.RawURLEncoding.DecodeString(signature)
	tail, err2 := base64.RawURLEncoding.DecodeString(place)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return base64.RawURLEncoding.EncodeToString(append(append([]byte{}, head[:signatureEnd]...), tail[signatureEnd:]...))
}
