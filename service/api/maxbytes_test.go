package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atlas/internal/elastic/elastictest"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/searchtest"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A page ends before the record that would exceed max_bytes, with at least one record, and
// costs its records. The walk over such pages has each record once.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	const n, most = 12, 1000
	w := newWorld(t)
	in := w.workspace(t, "Acme", workspace.Pro, 1_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}, Scopes: workspace.AllScopes()})
	data := searchtest.NewWorld()
	var ids, saved []string
	for i := range n {
		id, text := searchtest.ID("c", i), strings.Repeat("é", i*i*6) // the last ones are longer than a page
		ids = append(ids, id)
		data.Add(searchtest.Record(t, catalog.Contacts, fmt.Sprintf(`{"id":%q,"name":"Person %d","title":%q}`, id, i, text)))
		if i < n/2 {
			data.Add(
				searchtest.Record(
					t,
					catalog.Projects,
					fmt.Sprintf(`{"id":%q,"name":"Tower","contact_ids":[%q]}`, searchtest.ID("p", i), id),
				),
			)
		} else {
			saved = append(saved, fmt.Sprintf(`{"contact_id":%q}`, id))
		}
	}
	w.load(t, data)
	w.holds(t)
	w.call(t, key, "POST", "/workspace/contacts/upsert/batch", `{"inputs":[`+strings.Join(saved, ",")+`]}`).into(t, nil, nil)
	var view struct{ View struct{ ID string } }
	// It reads global and held records, and merges them.
	w.call(t, key, "POST", "/workspace/views/upsert", `{"dataset":"contact","view_type":"dynamic","name":"All","definition":{"version":1,"q":"","fields":{}}}`).
		into(t, &view, nil)

	for path, want := range map[string][]string{
		"/data/contacts/search":                                ids,
		"/workspace/contacts/search":                           ids[n/2:],
		"/workspace/views/" + view.View.ID + "/records/search": ids,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var found []string
			pages, after := 0, "null"
			for after != "" {
				var rows []json.RawMessage
				var m struct {
					Credits int
					After   *string `json:"search_after"`
				}
				a := w.call(
					t,
					key,
					"POST",
					path,
					fmt.Sprintf(
						`{"limit":%d,"max_bytes":%d,"search_after":%s,"sort":{"field":"name","order":"asc"},"fields":["name","title"]}`,
						n-1,
						most,
						after,
					),
				)
				if strings.HasPrefix(path, "/workspace/views") {
					var of struct{ Records []json.RawMessage }
					a.into(t, &of, &m)
					rows = of.Records
				} else {
					a.into(t, &rows, &m)
				}
				bytes := 0
				for _, row := range rows {
					var record struct{ ID string }
					fatal(t, json.Unmarshal(row, &record))
					found = append(found, record.ID)
					bytes += len(row)
				}
				if bytes > most && len(rows) > 1 || len(rows) == 0 {
					t.Errorf("%d records of %d bytes", len(rows), bytes)
				}
				if m.Credits != len(rows) || a.header.Get("X-Credits-Charged") != fmt.Sprint(len(rows)) {
					t.Errorf("%d records cost %d", len(rows), m.Credits)
				}
				after = ""
				if m.After != nil {
					after = fmt.Sprintf("%q", *m.After)
				}
				pages++
			}
			slices.Sort(found)
			if diff := cmp.Diff(slices.Sorted(slices.Values(want)), found); diff != "" || pages < 4 {
				t.Errorf("in %d pages (-want +got):\n%s", pages, diff)
			}
		})
	}

	t.Run("batch", func(t *testing.T) {
		t.Parallel()
		var found []string
		for left := ids; len(left) > 0; {
			list, err := json.Marshal(left)
			fatal(t, err)
			a := w.call(t, key, "POST", "/data/contacts/get/batch", fmt.Sprintf(`{"ids":%s,"fields":["title"],"max_bytes":%d}`, list, most))
			var batch gotBatch
			var m struct{ Credits, Remaining int }
			a.into(t, &batch, &m)
			for _, r := range batch.Results {
				found = append(found, r.ID)
			}
			if m.Credits != len(batch.Results) || len(batch.Results)+m.Remaining != len(left) || len(batch.Results) == 0 {
				t.Fatalf("%d of %d ids, %+v", len(batch.Results), len(left), m)
			}
			left = left[len(batch.Results):]
		}
		if diff := cmp.Diff(ids, found); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	for _, bad := range []string{"999", "10000001", `"1000"`, "1000.5"} {
		for path, body := range map[string]string{"search": `{"max_bytes":%s}`, "get/batch": `{"ids":["` + ids[0] + `"],"max_bytes":%s}`} {
			if a := w.call(t, key, "POST", "/data/contacts/"+path, fmt.Sprintf(body, bad)); a.status != http.StatusBadRequest ||
				a.code() != "validation" {
				t.Errorf("%s %s: %d %s", path, bad, a.status, a.text)
			}
		}
	}
}

// A replay is no longer than the first answer could be, also if its records have grown since.
// Records that do not fit are listed, and cost nothing.
func TestMaxBytesOfRepetitions(t *testing.T) {
	t.Parallel()
	w, key := gets(t, 1000)
	var ids, inputs []string
	for i := 1; i <= 5; i++ {
		ids = append(ids, searchtest.ID("a", i))
		inputs = append(inputs, fmt.Sprintf(`{"ref":"%d","name":"Firm %[1]d"}`, i))
	}
	list, err := json.Marshal(ids)
	fatal(t, err)
	requests := []struct{ path, body string }{
		{"/data/accounts/search", `{"max_bytes":1000,"fields":["description"]}`},
		{"/data/accounts/get/batch", fmt.Sprintf(`{"max_bytes":1000,"fields":["description"],"ids":%s}`, list)},
		{
			"/data/accounts/match",
			`{"max_bytes":1000,"fields":["description"],"min_confidence":0,"inputs":[` + strings.Join(inputs, ",") + `]}`,
		},
	}
	for _, r := range requests {
		if a := w.keyed(t, key, "once", "POST", r.path, r.body); a.status != http.StatusOK || a.header.Get("X-Credits-Charged") != "5" {
			t.Fatalf("%s: %d %v %s", r.path, a.status, a.header, a.text)
		}
	}
	engine := w.server.Search.(*search.Engine)
	for _, id := range ids {
		body := fmt.Sprintf(`{"doc":{"description":%q}}`, strings.Repeat("x", 400))
		_, err := engine.Elastic.Do(t.Context(), elastictest.Request{
			Method: http.MethodPost,
			Path:   "/" + engine.Names.Alias(string(catalog.Accounts)) + "/_update/" + id + "?refresh=true",
			Body:   []byte(body),
		})
		fatal(t, err)
	}
	for _, r := range requests {
		a := w.keyed(t, key, "once", "POST", r.path, r.body)
		replayed(t, r.path, a)
		var m struct {
			Remaining int
			LeftOut   []string `json:"left_out"`
		}
		a.into(t, nil, &m)
		if n := strings.Count(a.text, "xxx\""); n != 2 || m.Remaining+len(m.LeftOut) != 3 || a.header.Get("X-Credits-Charged") != "0" {
			t.Errorf("%s: %d records, %+v, %v: %s", r.path, n, m, a.header, a.text)
		}
		if m.LeftOut != nil {
			if diff := cmp.Diff(ids[2:], m.LeftOut); diff != "" {
				t.Errorf("%s (-want +got):\n%s", r.path, diff)
			}
		}
	}
}
