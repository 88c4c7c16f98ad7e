package search_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/mappings"
	"atlas/search"
	"atlas/search/catalog"
	"atlas/search/match"
	"atlas/search/match/labelled"
	"atlas/search/query"
	"atlas/search/searchtest"
)

var (
	measureMatch = flag.Bool("measure-match", false, "measure matching with more inputs, and searching by name beside it")
	matchSeed    = flag.Uint64("match-seed", 20, "seed of the inputs of matching")
)

// matchIndex is an engine on an index with the firms of the permits.
func matchIndex(t testing.TB) (*search.Engine, []labelled.Firm) {
	t.Helper()
	file, err := os.Open("../indexer/permits/calgary-permits.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	firms, err := labelled.Firms(file)
	if err != nil {
		t.Fatal(err)
	}
	w := searchtest.NewWorld()
	for _, f := range firms {
		if f.Part == labelled.Absent || f.Part == labelled.AbsentFitted {
			continue
		}
		values := map[string]any{"id": f.ID, "name": f.Name, "city": f.City, "state": f.State}
		if f.Domain != "" {
			values["domains"] = []string{f.Domain}
		}
		if f.Phone != "" {
			values["phone"] = f.Phone
		}
		text, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		w.Add(searchtest.Record(t, catalog.Accounts, string(text)))
	}
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{})
	x.Load(t, w)
	return &search.Engine{Elastic: x.Client, Names: x.Names, Cursors: newCursors(t), Timeout: 30 * time.Second}, firms
}

func firmOf(firms []labelled.Firm, id string) *labelled.Firm {
	at := slices.IndexFunc(firms, func(f labelled.Firm) bool { return f.ID == id })
	return &firms[at]
}

func TestMatch(t *testing.T) {
	t.Parallel()
	e, firms := matchIndex(t)
	t.Run("figures", func(t *testing.T) { matchFigures(t, e, firms) })
	t.Run("bounds", func(t *testing.T) { matchBounds(t, e) })
}

// matchFigures measures with firms that the weights were not fitted to.
func matchFigures(t *testing.T, e *search.Engine, firms []labelled.Firm) {
	perFirm := 2
	if *measureMatch {
		perFirm = 10
	}
	inputs := labelled.Inputs(firms, labelled.HeldOut, *matchSeed, perFirm)
	answers := make([]*labelled.Firm, 0, len(inputs))
	sure := map[int][2]int{} // by tenths of the confidence: candidates, and how many are right
	for some := range slices.Chunk(inputs, query.MaxMatchInputs) {
		r := query.MatchRequest{Dataset: catalog.Accounts, MinConfidence: query.DefaultMinConfidence, Candidates: 1}
		if *measureMatch {
			r.MinConfidence = 0.05
		}
		for _, in := range some {
			r.Inputs = append(r.Inputs, in.MatchInput)
		}
		found, err := e.FindMatches(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range found {
			if len(f.Candidates) == 0 {
				answers = append(answers, nil)
				continue
			}
			firm, c := firmOf(firms, f.Candidates[0].ID), f.Candidates[0].Confidence
			n := sure[int(c*20)]
			if n[0]++; firm.Same == some[i].Same {
				n[1]++
			}
			if sure[int(c*20)] = n; f.Status == match.Matched && c >= query.DefaultMinConfidence {
				answers = append(answers, firm)
			} else {
				answers = append(answers, nil)
			}
		}
	}
	m := labelled.Measure(inputs, answers)
	t.Logf("match:\n%s", m)
	if f := m.All; f.Precision() < 0.98 || f.Recall() < 0.9 || f.Positive < 400 {
		t.Errorf(
			"precision %.4f, recall %.4f; wrong:\n%s\nmissed:\n%s", f.Precision(), f.Recall(),
			strings.Join(m.Wrong, "\n"), strings.Join(m.Missed, "\n"),
		)
	}
	if !*measureMatch {
		return
	}
	t.Logf("wrong:\n%s\nmissed:\n%s", strings.Join(m.Wrong, "\n"), strings.Join(m.Missed, "\n"))
	for i := range 20 {
		if n := sure[i]; n[0] > 0 {
			t.Logf("confidence %.2f to %.2f: %d first candidates, right %.3f", float64(i)/20, float64(i+1)/20, n[0], float64(n[1])/float64(n[0]))
		}
	}
	for _, typos := range []string{"off", "auto"} {
		t.Logf("search by name, typos %s:\n%s", typos, labelled.Measure(inputs, byName(t, e, firms, inputs, typos)))
	}
}

// byName takes the first hit of a search by the name.
func byName(t *testing.T, e *search.Engine, firms []labelled.Firm, inputs []labelled.Input, typos string) []*labelled.Firm {
	answers := make([]*labelled.Firm, len(inputs))
	for i, in := range inputs {
		if in.Name == "" {
			continue
		}
		body, err := json.Marshal(map[string]any{"query": in.Name, "limit": 1, "typos": typos})
		if err != nil {
			t.Fatal(err)
		}
		page, err := e.Search(t.Context(), parse(t, catalog.Accounts, dataBase, string(body)))
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows) > 0 {
			var r struct{ ID string }
			if err := json.Unmarshal(page.Rows[0], &r); err != nil {
				t.Fatal(err)
			}
			answers[i] = firmOf(firms, r.ID)
		}
	}
	return answers
}

// matchBounds sends inputs that mean to hurt: long, equal, empty after folding, of one
// letter.
func matchBounds(t *testing.T, e *search.Engine) {
	long := strings.Repeat("construction homes ", 52)
	for name, text := range map[string]func(i int) string{
		"long":          func(int) string { return long },
		"one long word": func(i int) string { return strings.Repeat("a", 990) + fmt.Sprint(i) },
		"many letters":  func(i int) string { return strings.Repeat("a ", 490) + fmt.Sprint(i) },
		"punctuation":   func(int) string { return strings.Repeat("-/()&.", 160) },
		"aliases":       func(i int) string { return strings.Repeat("Trico o/a ", 90) + fmt.Sprint(i) },
		"beyond ASCII":  func(i int) string { return strings.Repeat("ﷺ 建築 Å", 100) + fmt.Sprint(i) },
		"one letter":    func(int) string { return "a" },
		"stop words":    func(int) string { return "the and of" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range query.Matched {
				r := query.MatchRequest{Dataset: d, MinConfidence: 0, Candidates: query.MaxMatchCandidates}
				for i := range query.MaxMatchInputs {
					in := query.MatchInput{
						Ref: fmt.Sprint(i), Name: text(i), Domain: text(i), Email: text(i) + "@" + text(i),
						Phone: text(i), City: text(i), State: text(i),
					}
					r.Inputs = append(r.Inputs, in)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				found, err := e.FindMatches(ctx, r)
				cancel()
				if err != nil || len(found) != len(r.Inputs) {
					t.Errorf("%s: %d results, %v", d, len(found), err)
				}
			}
		})
	}
}
