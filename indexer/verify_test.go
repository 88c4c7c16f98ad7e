package indexer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atlas/indexer"
	"atlas/indexer/verify"
	"atlas/internal/elastic/elastictest"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

func (w world) verify(t *testing.T, o verify.Options) (verify.Report, []verify.Difference) {
	t.Helper()
	var all []verify.Difference
	o.Elastic, o.Names, o.TempDir, o.Retry = w.elastic, w.names, w.temp, w.places().Retry
	o.Each = func(d verify.Difference) error {
		all = append(all, d)
		return nil
	}
	report, err := verify.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w.wantClean(t)
	return report, all
}

// put writes documents into the served index of a dataset, past every check.
func (w world) put(t *testing.T, dataset catalog.Dataset, documents map[string]string) {
	t.Helper()
	var body strings.Builder
	for id, doc := range documents {
		if doc == "" {
			fmt.Fprintf(&body, "{\"delete\":{\"_id\":%q}}\n", id)
		} else {
			fmt.Fprintf(&body, "{\"index\":{\"_id\":%q}}\n%s\n", id, doc)
		}
	}
	answer := w.do(t, http.MethodPost, "/"+w.names.Alias(string(dataset))+"/_bulk", body.String())
	if strings.Contains(answer, `"errors":true`) {
		t.Fatal(answer)
	}
}

// do sends a request to Elasticsearch.
func (w world) do(t *testing.T, method, path, body string) string {
	t.Helper()
	res, err := w.elastic.Do(t.Context(), elastictest.Request{Method: method, Path: path, Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return string(res.Body)
}

// relatedFiles is a folder in which each record is related to others; suffix ends
// some texts.
func relatedFiles(suffix string) map[string]string {
	return map[string]string{
		"accounts": lines(`{"id":"`+account(1)+`","name":"Firm 1"}`, `{"id":"`+account(2)+`","name":"Firm 2","updated_at":"2024-01-01"}`,
			`{"id":"`+account(2)+`","name":"Old","updated_at":"2023-01-01"}`, `{"id":"no id"}`),
		"contacts": lines(`{"id":"` + contact(1) + `","name":"Anna` + suffix + `","account_id":"` + account(1) +
			`","updated_at":"2024-01-01","created_at":"2024-01-01"}`),
		"projects": lines(
			`{"id":"`+project(1)+`","name":"Tower","cost":12345678.25,"sqft":1e21,"latitude":-0.5,"account_ids":["`+account(1)+`"],"contact_ids":["`+contact(1)+`"]}`,
			`{"id":"`+project(2)+`","name":"Łódź \"q\" <x>\u2028","stories":9007199254740992}`,
		),
		"signals": lines(
			`{"id":"` + signal(1) + `","title":"Filed","signal_type":"permit_filed","occurred_at":"2024-05-05","project_id":"` +
				project(1) + `","account_ids":["` + account(1) + `"]}`,
		),
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := folder(t, relatedFiles(""))
	o := verify.Options{Dir: dir}
	o.Elastic, o.Names = w.elastic, w.names
	if _, err := verify.Run(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("before any load: %v", err)
	}
	load := w.options(dir)
	load.Now = func() time.Time { return loadedAt.Add(987 * time.Millisecond) } // of which the name has the seconds
	loaded := w.load(t, load)

	report, differences := w.verify(t, o)
	if len(differences) > 0 || !report.Equal || report.Generation != loaded.Generation || report.Rejected() != 1 {
		t.Errorf("%+v %+v", report, differences)
	}
	accounts := report.Datasets[3]
	want := verify.DatasetReport{
		Dataset: catalog.Accounts, File: "accounts.ndjson", Index: w.names.Generation("accounts", loaded.Generation),
		Lines: 4, Rejected: 1, Replaced: 1, Records: 2, Documents: 2, Matching: 2,
	}
	if diff := cmp.Diff(want, accounts); diff != "" {
		t.Error(diff)
	}

	// Everything that can be wrong, once.
	other := map[catalog.Dataset]map[string]string{}
	_, err := indexer.Documents(
		t.Context(),
		indexer.DocumentOptions{Dir: folder(t, relatedFiles("!")), TempDir: t.TempDir(), LoadedAt: loadedAt},
		func(d catalog.Dataset, batch []indexer.Document) error {
			if other[d] == nil {
				other[d] = map[string]string{}
			}
			for _, doc := range batch {
				other[d][doc.ID] = string(doc.JSON)
			}
			return nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	// The nested contact is another one's, and nothing else of the firm.
	w.put(t, catalog.Accounts, map[string]string{
		account(1): other[catalog.Accounts][account(1)],
		account(7): strings.ReplaceAll(other[catalog.Accounts][account(2)], account(2), account(7)),
	})
	w.put(t, catalog.Contacts, map[string]string{contact(1): other[catalog.Contacts][contact(1)]})
	w.put(t, catalog.Projects, map[string]string{project(1): "", "nameless": `{"name":"nobody"}`})
	w.put(t, catalog.Signals, map[string]string{"elsewhere": other[catalog.Signals][signal(1)], signal(1): ""})

	report, differences = w.verify(t, verify.Options{Dir: dir, Generation: loaded.Generation})
	text := func(s string) json.RawMessage { return json.RawMessage(`"` + s + `"`) }
	type field struct {
		Field         string
		Source, Index json.RawMessage
	}
	got := map[string][]field{}
	for _, d := range differences {
		key := fmt.Sprintf("%s %s %s %s:%d", d.Dataset, d.Kind, d.ID, d.File, d.Line)
		got[key] = nil
		for _, f := range d.Fields {
			got[key] = append(got[key], field{f.Field, json.RawMessage(f.Source), json.RawMessage(f.Index)})
		}
	}
	wantAll := map[string][]field{
		"accounts different " + account(1) + " accounts.ndjson:1": {{Field: "ix"}},
		"accounts extra " + account(7) + " :0":                    nil,
		"contacts different " + contact(1) + " contacts.ndjson:1": {{"name", text("Anna"), text("Anna!")}},
		"projects missing " + project(1) + " projects.ndjson:1":   nil,
		"signals different " + signal(1) + " signals.ndjson:1":    {{"_id", text(signal(1)), text("elsewhere")}},
	}
	if diff := cmp.Diff(wantAll, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(report.Differences, differences); diff != "" || report.Equal {
		t.Error(report.Equal, diff)
	}
	// Of the document without an id nothing but the count is known.
	if p := report.Datasets[1]; p.Extra != 1 || p.Missing != 1 || p.Matching != 1 || p.Documents != 2 || len(report.Notes) != 1 {
		t.Errorf("%+v %v", p, report.Notes)
	}

	stop := errors.New("enough")
	o.Each = func(verify.Difference) error { return stop }
	if _, err := verify.Run(t.Context(), o); !errors.Is(err, stop) {
		t.Errorf("after an error of Each: %v", err)
	}
	o.Generation = "20200101t000000z-abcdef"
	if _, err := verify.Run(t.Context(), o); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("an unknown generation: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Generation = ""
	if _, err := verify.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The documents that Elasticsearch refused during the load are exactly the missing ones.
func TestVerifyFindsTheDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := folder(t, relatedFiles(""))
	o := w.options(dir)
	poison := project(2)
	o.Elastic = through(t, func(rw http.ResponseWriter, r *http.Request, body []byte) bool {
		if !isBulk(r) || !strings.Contains(string(body), `"_id":"`+poison+`"`) {
			return false
		}
		w.withoutItem(t, rw, r, body, poison)
		return true
	}, nil)
	report, err := indexer.Load(t.Context(), o)
	if err != nil || report.LeftOut() != 2 {
		t.Fatalf("%+v %v", report, err)
	}
	verified, differences := w.verify(t, verify.Options{Dir: dir})
	want := []verify.Difference{{Dataset: catalog.Projects, Kind: verify.Missing, ID: poison, File: "projects.ndjson", Line: 2}}
	if diff := cmp.Diff(want, differences); diff != "" || verified.Equal {
		t.Error(verified.Equal, diff)
	}
}

// withoutItem sends a _bulk request without one document, and answers that the document was
// refused.
func (w world) withoutItem(t *testing.T, rw http.ResponseWriter, r *http.Request, body []byte, id string) {
	var left, items []string
	all := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	for i := 0; i < len(all); i += 2 {
		if strings.Contains(all[i], id) {
			items = append(items, `{"index":{"status":400,"error":{"type":"document_parsing_exception","reason":"poison"}}}`)
			continue
		}
		items = append(items, `{"index":{"status":201}}`)
		left = append(left, all[i], all[i+1])
	}
	if len(left) > 0 {
		path, query := r.URL.Path, r.URL.Query()
		query.Del("filter_path")
		request := elastictest.Request{Method: r.Method, Path: path, Query: query, Body: []byte(strings.Join(left, "\n") + "\n")}
		if res, err := w.elastic.Do(r.Context(), request); err != nil || strings.Contains(string(res.Body), `"errors":true`) {
			t.Errorf("%s %v", res.Body, err)
		}
	}
	rw.Header().Set("X-Elastic-Product", "Elasticsearch")
	rw.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(rw, `{"items":[%s]}`, strings.Join(items, ","))
}

// Whatever is removed and added, across the limits of the compared ranges, exactly that is
// reported.
func TestVerifyFindsRandomDamage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const size = 2_300
	dir := folder(t, simple(size))
	w.load(t, w.options(dir))
	random := rand.New(rand.NewPCG(1, 2))
	model, damage := map[string]verify.DifferenceKind{}, map[string]string{}
	whole := w.record(t, "accounts", account(1))
	doc := func(n int, name string) string {
		r := maps.Clone(whole)
		r["id"], r["name"] = account(n), name
		raw, _ := json.Marshal(r)
		return string(raw)
	}
	for range 150 {
		n := random.IntN(size)
		// Windows begin and end at the 1000th record.
		switch random.IntN(4) {
		case 0:
			n = 998 + random.IntN(5)
		case 1:
			n = 1998 + random.IntN(5)
		}
		if random.IntN(2) == 0 {
			model[account(n)], damage[account(n)] = verify.Missing, ""
		} else {
			model[account(n)], damage[account(n)] = verify.Different, doc(n, "X")
		}
	}
	// More extra documents in one range than a search returns, and some after all
	// others.
	for n := size + 10; n < size+1_500; n++ {
		model[account(n)], damage[account(n)] = verify.Extra, doc(n, "Y")
	}
	w.put(t, catalog.Accounts, damage)
	report, differences := w.verify(t, verify.Options{Dir: dir, Workers: 3})
	got := map[string]verify.DifferenceKind{}
	for _, d := range differences {
		got[d.ID] = d.Kind
	}
	if diff := cmp.Diff(model, got); diff != "" || len(got) != len(differences) {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(differences, func(a, b verify.Difference) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("not in the order of ids")
	}
	row := report.Datasets[3]
	if row.Missing+row.Different+row.Matching != size || row.Matching+row.Different+row.Extra != row.Documents ||
		len(report.Differences) != verify.MaxDifferences {
		t.Errorf("%+v, %d listed", row, len(report.Differences))
	}
}
