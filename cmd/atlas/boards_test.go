package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/client"
)

// A board is saved from a file, listed, shown, counted, changed and deleted. A tile without
// its View says so, and the others are counted.
func (s *service) boardsCommand(t *testing.T) {
	c := s.client(s.key)
	view := must(c.Views.Upsert(t.Context(), client.ViewUpsert{Dataset: "account", Type: client.ViewStatic, Name: "Gone from the board"}))(t)
	want := must(c.Projects.Facets(t.Context(), client.FacetRequest{Filters: client.Filters{"stage": client.AnyOf("permitted")}}))(t)
	file := filepath.Join(t.TempDir(), "board.json")
	write := func(board any) {
		t.Helper()
		if err := os.WriteFile(file, must(json.Marshal(board))(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := func(args ...string) string {
		t.Helper()
		status, out, errs := s.atlas(append([]string{"boards"}, args...)...)
		if status != 0 {
			t.Fatalf("%v: %d %s", args, status, errs)
		}
		return out
	}
	read := func(text string) (board client.Board) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &board); err != nil {
			t.Fatal(err)
		}
		return board
	}
	permitted := `"filters":{"stage":{"value":["permitted"]}}`
	write(client.Board{Name: "Night \x1b[31mboard", Tiles: []client.Tile{}})
	if status, _, errs := s.atlas("boards", "save", file); status != 2 || !strings.Contains(errs, "name") {
		t.Errorf("%d %s", status, errs)
	}
	write(client.Board{Name: "Night board", Tiles: []client.Tile{
		{Kind: client.TileChart, Title: "By city\u202e", Dataset: "projects", Of: client.TileOfData,
			Request: []byte(`{` + permitted + `,"facets":[{"field":"city"}]}`)},
		{Kind: client.TilePivot, Title: "By use", Dataset: "projects", Of: client.TileOfData,
			Request: []byte(`{` + permitted + `,"rows":{"field":"primary_use"}}`)},
		{Kind: client.TileChart, Title: "Ours", Dataset: "accounts", Of: client.TileOfBook, Request: []byte(`{"facets":[{"field":"icp_tier"}]}`)},
		{Kind: client.TileView, Title: "List", Dataset: "accounts", Of: client.TileOfView, ViewID: view.ID, Request: []byte(`{}`)},
	}})
	made := read(good("save", file, "--json"))
	if out := good("list"); !strings.HasPrefix(out, "ID ") || !strings.Contains(out, made.ID+"  Night board  4      1") {
		t.Errorf("%s", out)
	}
	if out := good("show", made.ID); !strings.Contains(out, "By city\uFFFD  chart  projects  data") || !strings.Contains(out, view.ID) {
		t.Errorf("%s", out)
	}
	// The printed board can be saved unchanged.
	if err := os.WriteFile(file, []byte(good("show", made.ID, "--json")), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := read(good("save", file, "--json")); again.Revision != 1 {
		t.Errorf("revision %d of the same board", again.Revision)
	}
	if err := c.Views.Delete(t.Context(), view.ID); err != nil {
		t.Fatal(err)
	}
	var counted []struct {
		Title string
		Count *int64
		Error string
	}
	if err := json.Unmarshal([]byte(good("show", made.ID, "--counts", "--json")), &counted); err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int64{}
	for _, tile := range counted {
		if tile.Count != nil {
			numbers[tile.Title] = *tile.Count
		} else if tile.Title != "List" || !strings.Contains(tile.Error, "View") {
			t.Errorf("%+v", tile)
		}
	}
	delete(numbers, "Ours")
	if diff := cmp.Diff(map[string]int64{"By city\u202e": want.Count, "By use": want.Count}, numbers); diff != "" || len(counted) != 4 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Somebody else changes it: the file has the former revision.
	changed := must(c.Boards.Upsert(t.Context(), client.Board{ID: made.ID, Name: "Day board"}))(t)
	if status, out, errs := s.atlas("boards", "save", file); status != 1 || out != "" || !strings.Contains(errs, "revision 2, not 1") {
		t.Errorf("%d %s%s", status, out, errs)
	}
	if now := must(c.Boards.Get(t.Context(), made.ID))(t); now.Name != changed.Name {
		t.Errorf("%q", now.Name)
	}
	if out := good("delete", made.ID); out != "deleted "+made.ID+"\n" {
		t.Errorf("%s", out)
	}
	for _, args := range [][]string{{"show", made.ID}, {"delete", made.ID}} {
		status, out, errs := s.atlas(append([]string{"boards"}, args...)...)
		if status != 1 || out != "" || !strings.Contains(errs, "no board "+made.ID) {
			t.Errorf("%v: %d %s%s", args, status, out, errs)
		}
	}
	if err := os.WriteFile(file, []byte(`["no board"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		`{"id":"` + made.ID + `","tiels":[]}`:        `it has no "tiels"; did you mean "tiles"?`,
		`{"name":"B","tiles":[{"titel":"T"}]}`:       `it has no "titel"; did you mean "title"?`,
		`{"name":"B","xyz":1}`:                       `it has no "xyz"` + "\n",
		`{"name":"B","tiles":[]} {"name":"Another"}`: "something follows the board",
	} {
		other := filepath.Join(t.TempDir(), "other.json")
		if err := os.WriteFile(other, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, out, errs := s.atlas("boards", "save", other); status == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s%s, want %q", content, status, out, errs, want)
		}
	}
	for want, args := range map[string][]string{
		"must be the id of a board": {"show", "Day board"}, "is no board": {"save", file},
		"no such file": {"save", file + ".nowhere"},
	} {
		if status, out, errs := s.atlas(append([]string{"boards"}, args...)...); status == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: %d %s%s, want %q", args, status, out, errs, want)
		}
	}
}
