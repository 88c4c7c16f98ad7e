package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/match/labelled"
	"atlas/search/query"
)

// Persons by the rules of the labelled set. Candidates are all records with an equal word of
// the name, an equal address or an equal phone number.
func TestPersons(t *testing.T) {
	t.Parallel()
	persons := labelled.Persons(4711, 2_000)
	blocks := map[string][]int{}
	blocksOf := func(name, email, phone string) []string {
		var all []string
		for _, w := range strings.Fields(catalog.Fold(strings.NewReplacer(",", " ", ".", " ").Replace(name))) {
			if len(w) > 1 {
				all = append(all, w)
			}
		}
		return append(all, "email "+catalog.Fold(email), "phone "+catalog.Phone(phone))
	}
	records := make([]Record, len(persons))
	for i, p := range persons {
		records[i] = Record{ID: p.ID, Name: p.Name, Email: p.Email, Phone: p.Phone, City: p.City}
		for _, b := range blocksOf(p.Name, p.Email, p.Phone) {
			blocks[b] = append(blocks[b], i)
		}
	}
	inputs := labelled.PersonInputs(persons, 4712)
	answers := make([]*labelled.Firm, len(inputs))
	for i, in := range inputs {
		var at []int
		for _, b := range blocksOf(in.Name, in.Email, in.Phone) {
			if b != "email " && b != "phone " {
				at = append(at, blocks[b]...)
			}
		}
		slices.Sort(at)
		var candidates []Record
		for _, j := range slices.Compact(at) {
			candidates = append(candidates, records[j])
		}
		if r := New(catalog.Contacts, in.MatchInput).Decide(candidates, query.DefaultMinConfidence, 1); r.Status == Matched {
			answers[i] = &labelled.Firm{Same: r.Candidates[0].ID, Name: fmt.Sprint(r.Candidates[0])}
		}
	}
	m := labelled.Measure(inputs, answers)
	t.Logf("persons:\n%s", m)
	if f := m.All; f.Precision() < 0.98 {
		t.Errorf("precision %.4f, recall %.4f; wrong:\n%s", f.Precision(), f.Recall(), strings.Join(m.Wrong, "\n"))
	}
}
