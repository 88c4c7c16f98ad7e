package views_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/book"
	"atlas/workspace/views"
)

func bodyOf(t testing.TB, text string) input.Value {
	t.Helper()
	v, issues := input.Decode([]byte(text))
	if len(issues) > 0 {
		t.Fatalf("%s: %v", text, issues)
	}
	return v
}

func TestViewChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	const whole = `"dataset":"account","view_type":"static","name":"n"`
	columns := func(n int, column string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(column, i)
		}
		return strings.Join(all, ",")
	}
	presentation := func(version, sorting, visibility string) string {
		return `{` + whole + `,"presentation":{"version":` + version + `,"sorting":` + sorting + `,"column_visibility":` + visibility + `}}`
	}
	for body, want := range map[string]string{
		`{}`: "dataset:invalid_type view_type:invalid_type name:invalid_type",
		`{"dataset":"accounts","view_type":"live","name":" "}`:                                                          "dataset:invalid_union view_type:invalid_union name:too_small",
		`{"dataset":"account","view_type":"dynamic","name":"n"}`:                                                        "definition:invalid_type",
		`{"dataset":"account","view_type":"dynamic","name":"","definition":[]}`:                                         "name:too_small definition:custom",
		`{"dataset":"account","view_type":"dynamic","name":"","definition":{"version":1,"q":1,"fields":{"city":[""]}}}`: "name:too_small definition.q:custom definition.fields.city.0:custom",
		`{` + whole + `,"user_id":1,"x":2}`:                                                                             ":unrecognized_keys",
		`{` + whole + `,"id":null}`:                                                                                     "id:invalid_type",
		`{"id":"x"}`:                                                                                                    "id:invalid_format",
		`{"dataset":"account","view_type":"static","name":"` + strings.Repeat("é", 121) + `"}`:                          "name:too_big",
		`{"dataset":"account","view_type":"static","name":"a\u0007b"}`:                                                  "name:invalid_format",
		`{` + whole + `,"revision":0}`:                                                                                  "revision:too_small",
		`{` + whole + `,"revision":"1"}`:                                                                                "revision:invalid_type",
		`{` + whole + `,"presentation":null}`:                                                                           "presentation:invalid_type",
		`{` + whole + `,"presentation":{}}`:                                                                             "presentation.version:invalid_type presentation.sorting:invalid_type presentation.column_visibility:invalid_type",
		presentation("2", "[]", "{}"):                                                                                   "presentation.version:invalid_union",
		presentation("1", "{}", "[]"):                                                                                   "presentation.sorting:invalid_type presentation.column_visibility:invalid_type",
		presentation(
			"1", `[{"id":"a"},{"desc":true},{"id":"a","desc":1,"x":1},1]`, "{}",
		): "presentation.sorting.0.desc:invalid_type presentation.sorting.1.id:invalid_type presentation.sorting.2.desc:invalid_type presentation.sorting.2:unrecognized_keys presentation.sorting.3:invalid_type",
		presentation("1", `[{"id":"","desc":true}]`, `{"a":"yes","":true}`): "presentation.sorting.0.id:too_small presentation.column_visibility.a:invalid_type presentation.column_visibility.:too_small",
		presentation(
			"1", `[{"id":"`+strings.Repeat("x", 201)+`","desc":true}]`, `{"`+strings.Repeat("y", 2001)+`":true}`,
		): "presentation.sorting.0.id:too_big presentation.column_visibility." +
			strings.Repeat("y", 256) + "…:too_big",
		presentation(
			"1", "["+columns(101, `{"id":"%d","desc":false}`)+"]", "{"+columns(101, `"%d":true`)+"}",
		): "presentation.sorting:too_big presentation.column_visibility:too_big",
	} {
		_, err := views.ParseChange(bodyOf(t, body))
		e, ok := err.(*fault.Error) //nolint:errorlint // it is made as one
		if !ok {
			t.Errorf("%.200s: accepted", body)
			continue
		}
		var got []string
		for _, i := range e.Issues {
			got = append(got, strings.Join(i.Path, ".")+":"+string(i.Code))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%.200s (-want +got):\n%s", body, diff)
		}
	}
}

func TestViewChangesThatAreTaken(t *testing.T) {
	t.Parallel()
	columns := `{"version":1,"sorting":[{"id":"name","desc":true}],"column_visibility":{"city":false}}`
	for _, body := range []string{
		`{"dataset":"contact","view_type":"static","name":"  ` + strings.Repeat("é", 120) + `  "}`,
		`{"dataset":"project","view_type":"dynamic","name":"n","definition":{"anything":1},"presentation":` + columns + `}`,
		`{"dataset":"project","view_type":"static","name":"n","presentation":{"version":1,"sorting":[],"column_visibility":{"` + strings.Repeat("é", 2000) + `":true}}}`,
		`{"id":"0190aaaa-0000-7000-8000-00000000000f"}`,
		`{"id":"0190aaaa-0000-7000-8000-00000000000f","name":"m","revision":3,"definition":null}`,
	} {
		if _, err := views.ParseChange(bodyOf(t, body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	c, err := views.ParseChange(bodyOf(t, `{"dataset":"account","view_type":"static","name":" N ","presentation":`+columns+`}`))
	if err != nil || c.Name != "N" || c.Dataset != catalog.Accounts || c.ID != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	stored, err := json.Marshal(c.Presentation)
	if err != nil || string(stored) != columns {
		t.Errorf("the presentation is stored as %s, %v", stored, err)
	}
}

func TestViewAsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	position := 2
	v := views.View{
		ID:        views.ID(uuid.MustParse("0190aaaa-0000-7000-8000-000000000001")),
		Workspace: workspace.ID(uuid.MustParse("0190aaaa-0000-7000-8000-000000000002")),
		Dataset:   catalog.Contacts, Type: views.Static, Name: "<Crew>", Revision: 3, CreatedAt: at, UpdatedAt: at, Position: &position, Records: 7,
		UpdatedBy: workspace.UserID(uuid.MustParse("0190aaaa-0000-7000-8000-000000000003")),
	}
	want := `{"id":"0190aaaa-0000-7000-8000-000000000001","workspace_id":"0190aaaa-0000-7000-8000-000000000002","dataset":"contact","view_type":"static",` +
		`"name":"\u003cCrew\u003e","definition":{"version":1},"presentation":{"version":1,"sorting":[],"column_visibility":{}},"revision":3,` +
		`"created_by":null,"updated_by":"0190aaaa-0000-7000-8000-000000000003","created_at":"2024-03-01T12:00:00.000Z","updated_at":"2024-03-01T12:00:00.000Z",` +
		`"is_favorite":true,"favorite_position":2,"record_count":7}`
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	v.Type, v.Definition, v.Position = views.Dynamic, views.Definition{Dynamic: true}, nil
	got, err = json.Marshal(v)
	if err != nil || strings.Contains(string(got), "record_count") ||
		!strings.Contains(string(got), `"is_favorite":false,"favorite_position":null`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestViewRows(t *testing.T) {
	t.Parallel()
	o := &book.Overlay{
		Values: book.Values{"icp_tier": "tier_1", "workspace_status": "call \"back\"", "tags": []string{"a", "<b>"}},
		Score:  42, UpdatedAt: time.Date(2024, 3, 1, 12, 0, 0, 5_000_000, time.UTC),
	}
	const record = `{"id":"i","name":"n","account_types":["owner"],"domains":[],"email":null,"city":"C","updated_at":"x"}`
	type values map[string]string // the others are null
	for _, c := range []struct {
		d    catalog.Dataset
		o    *book.Overlay
		want values
	}{
		{catalog.Accounts, nil, values{"account_types": `["owner"]`}},
		{catalog.Accounts, o, values{
			"account_types": `["owner"]`, "icp_tier": `"tier_1"`, "atlas_score": "42", "workspace_status": `"call \"back\""`,
			"tags": `["a","\u003cb\u003e"]`, "updated_at": `"2024-03-01T12:00:00.005Z"`,
		}},
		{catalog.Contacts, nil, nil},
		{catalog.Contacts, &book.Overlay{UpdatedAt: o.UpdatedAt}, values{"tags": "[]", "updated_at": `"2024-03-01T12:00:00.005Z"`}},
		{catalog.Projects, nil, values{"city": `"C"`}},
	} {
		names := catalog.Names(catalog.RowFields(c.d, catalog.ViewRow))
		if names[0] != "id" || names[1] != "name" {
			t.Fatalf("rows begin with %v", names[:2])
		}
		want := `{"id":"i","name":"n"`
		for _, name := range names[2:] {
			value, known := c.want[name]
			if !known {
				value = "null"
			}
			want += fmt.Sprintf(`,%q:%s`, name, value)
		}
		got, err := book.LayoutOf(c.d, catalog.ViewRow, catalog.FieldSet{}).Row([]byte(record), c.o)
		if err != nil || string(got) != want+"}" {
			t.Errorf("%s: %v\n got %s\nwant %s}", c.d, err, got, want)
		}
	}
}

func view(n int) views.ID {
	return views.ID(uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)))
}

func TestArrangingFavorites(t *testing.T) {
	t.Parallel()
	at := func(n, position int) views.FavoriteChange {
		return views.FavoriteChange{View: view(n), Position: &position}
	}
	favorite := func(n int) views.FavoriteChange { return views.FavoriteChange{View: view(n)} }
	type changes = []views.FavoriteChange
	for _, c := range []struct {
		name    string
		order   []int
		changes changes
		want    []int
	}{
		{"appended", []int{1, 2}, changes{favorite(3)}, []int{1, 2, 3}},
		{"kept", []int{1, 2, 3}, changes{favorite(2)}, []int{1, 2, 3}},
		{"inserted", []int{1, 2, 3}, changes{at(4, 1)}, []int{1, 4, 2, 3}},
		{"moved down", []int{1, 2, 3}, changes{at(1, 2)}, []int{2, 3, 1}},
		{"moved up", []int{1, 2, 3}, changes{at(3, 0)}, []int{3, 1, 2}},
		{"where it is", []int{1, 2, 3}, changes{at(2, 1)}, []int{1, 2, 3}},
		{"past the end", []int{1, 2}, changes{at(3, 99), at(1, 1<<50)}, []int{2, 3, 1}},
		{"the first", nil, changes{at(1, 7)}, []int{1}},
		{"reversed", []int{1, 2, 3}, changes{at(1, 2), at(2, 1), at(3, 0)}, []int{3, 2, 1}},
		{"others fill the gaps", []int{1, 2, 3, 4}, changes{at(4, 2), at(1, 0)}, []int{1, 2, 4, 3}},
		{"the last of each counts", []int{1, 2, 3}, changes{at(3, 0), at(1, 2), at(3, 1)}, []int{2, 3, 1}},
		{"the last has no position", []int{1, 2, 3}, changes{at(3, 0), favorite(3)}, []int{1, 2, 3}},
		{"new ones in their order", []int{1}, changes{favorite(3), favorite(2), at(4, 0)}, []int{4, 1, 3, 2}},
		{"a tie in the order of the changes", []int{1, 2}, changes{at(3, 1), at(4, 1)}, []int{1, 3, 4, 2}},
	} {
		order := make([]views.ID, len(c.order))
		for i, n := range c.order {
			order[i] = view(n)
		}
		want := make([]views.ID, len(c.want))
		for i, n := range c.want {
			want[i] = view(n)
		}
		if got := views.Arranged(slices.Clone(order), c.changes); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
	}
}

// TestArrangedIsDense: every change keeps each Favorite exactly once. Favorites with
// distinct positions within the list get them.
func TestArrangedIsDense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 12, rapid.ID[int]).Draw(t, "order")
		order := make([]views.ID, len(old))
		want := map[views.ID]bool{}
		for i, n := range old {
			order[i] = view(n)
			want[view(n)] = true
		}
		changed := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 12, rapid.ID[int]).Draw(t, "changed")
		places := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}).Draw(t, "places")
		var changes []views.FavoriteChange
		for i, n := range changed {
			changes = append(changes, views.FavoriteChange{View: view(n), Position: &places[i]})
			want[view(n)] = true
		}
		got := views.Arranged(order, changes)
		if len(got) != len(want) {
			t.Fatalf("%d of %d", len(got), len(want))
		}
		for _, id := range got {
			if !want[id] {
				t.Fatalf("%s stands there twice, or unasked", id)
			}
			delete(want, id)
		}
		if len(got) < len(places) {
			return // some positions are past the end
		}
		for _, c := range changes {
			if got[*c.Position] != c.View {
				t.Fatalf("%s is not at %d", c.View, *c.Position)
			}
		}
	})
}

func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	for _, record := range []string{``, `[]`, `"x"`, `{"id"`, `{"id":`, `{"name":"n"`, `{"id":"i","name":}`} {
		if row, err := book.LayoutOf(
			catalog.Accounts, catalog.ViewRow, catalog.FieldSet{},
		).Row([]byte(record), nil); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s became %s, %v", record, row, err)
		}
	}
	for _, record := range []string{`{}`, `{"id":null}`, `{"id":"x"}`, `{"id":1}`} {
		if id, err := book.RecordID([]byte(record)); fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s has the id %s, %v", record, id, err)
		}
	}
	id, err := book.RecordID([]byte(`{"name":"\u00e9","id":"0190aaaa-0000-7000-8000-000000000001"}`))
	if err != nil || id.String() != "0190aaaa-0000-7000-8000-000000000001" {
		t.Errorf("%s, %v", id, err)
	}
}
