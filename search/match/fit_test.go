package match

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"atlas/search/catalog"
	"atlas/search/match/labelled"
	"atlas/search/query"
)

var fit = flag.Bool("fit", false, "fit the weights to the labelled set and print them")

func firms(t testing.TB) []labelled.Firm {
	t.Helper()
	file, err := os.Open("../../indexer/permits/calgary-permits.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	firms, err := labelled.Firms(file)
	if err != nil {
		t.Fatal(err)
	}
	return firms
}

// memory finds candidates in memory, by letters in a row.
type memory struct {
	firms   []labelled.Firm
	records []Record
	grams   map[string][]int
}

func newMemory(firms []labelled.Firm) *memory {
	m := &memory{grams: map[string][]int{}}
	for _, f := range firms {
		r := Record{ID: f.ID, Name: f.Name, Phone: f.Phone, City: f.City, State: f.State}
		if f.Domain != "" {
			r.Domains = []string{f.Domain}
		}
		for _, g := range grams(r.Name, f.Domain, catalog.Phone(f.Phone)) {
			m.grams[g] = append(m.grams[g], len(m.records))
		}
		m.firms, m.records = append(m.firms, f), append(m.records, r)
	}
	return m
}

func grams(name, domain, phone string) []string {
	folded := " " + strings.Join(tokensOf(catalog.Fold(name)), " ") + " "
	var all []string
	for i := 0; i+3 <= len(folded); i++ {
		all = append(all, folded[i:i+3])
	}
	slices.Sort(all)
	return append(slices.Compact(all), "domain "+domain, "phone "+phone)
}

func (m *memory) candidates(in query.MatchInput) []Record {
	score := map[int]float64{}
	domain := catalog.Domain(in.Domain)
	if domain == "" {
		domain = domainOf(in.Email)
	}
	for _, g := range grams(in.Name, domain, catalog.Phone(in.Phone)) {
		if g == "domain " || g == "phone " {
			continue
		}
		for _, i := range m.grams[g] {
			score[i] += math.Log(1 + float64(len(m.records))/float64(len(m.grams[g])))
		}
	}
	var at []int
	for i := range score {
		at = append(at, i)
	}
	slices.SortFunc(at, func(a, b int) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b)) })
	var records []Record
	for _, i := range at[:min(len(at), 12)] {
		records = append(records, m.records[i])
	}
	return records
}

func (m *memory) answers(inputs []labelled.Input) []*labelled.Firm {
	answers := make([]*labelled.Firm, len(inputs))
	for i, in := range inputs {
		r := New(catalog.Accounts, in.MatchInput).Decide(m.candidates(in.MatchInput), query.DefaultMinConfidence, 1)
		if r.Status == Matched {
			at := slices.IndexFunc(m.firms, func(f labelled.Firm) bool { return f.ID == r.Candidates[0].ID })
			answers[i] = &m.firms[at]
		}
	}
	return answers
}

func parts(firms []labelled.Firm, of ...labelled.Part) []labelled.Firm {
	return slices.DeleteFunc(slices.Clone(firms), func(f labelled.Firm) bool { return !slices.Contains(of, f.Part) })
}

func TestFit(t *testing.T) {
	all := firms(t)
	m := newMemory(parts(all, labelled.Fitted))
	inputs := labelled.Inputs(all, labelled.Fitted, 1, 8)
	measured := labelled.Measure(inputs, m.answers(inputs))
	t.Logf("firms that the weights are fitted to:\n%s", measured)
	if !*fit {
		if f := measured.All; f.Precision() < 0.98 || f.Recall() < 0.9 {
			t.Errorf("precision %.4f, recall %.4f", f.Precision(), f.Recall())
		}
		return
	}
	t.Logf("wrong:\n%s\nmissed:\n%s", strings.Join(measured.Wrong, "\n"), strings.Join(measured.Missed, "\n"))
	var xs []vector
	var ys []float64
	for _, in := range inputs {
		s := New(catalog.Accounts, in.MatchInput)
		for _, r := range m.candidates(in.MatchInput) {
			v, _, forbidden := s.vector(r)
			if forbidden {
				continue
			}
			at := slices.IndexFunc(m.firms, func(f labelled.Firm) bool { return f.ID == r.ID })
			y := 0.0
			if m.firms[at].Same == in.Same {
				y = 1
			}
			xs, ys = append(xs, v), append(ys, y)
		}
	}
	w := fitted(ofFirms, xs, ys)
	fmt.Printf("bias: %.2f", w.bias)
	for i, x := range w.vector {
		fmt.Printf(", %d: %.2f (%.1f)", i, x, ofFirms.vector[i])
	}
	fmt.Println()
	ofFirms = w
	t.Logf("fitted anew:\n%s", labelled.Measure(inputs, m.answers(inputs)))
}

// fitted minimizes the log loss of pairs, and the distance from the previous weights.
func fitted(prior weights, xs []vector, ys []float64) weights {
	w := prior
	const rate, keep = 0.5, 0.0005
	for range 1500 {
		var bias float64
		var grad vector
		for i, x := range xs {
			d := logistic(w.of(x)) - ys[i]
			bias += d
			for j, v := range x {
				if v != 0 {
					grad[j] += d * v
				}
			}
		}
		n := float64(len(xs))
		w.bias -= rate * 20 * (bias/n + keep*(w.bias-prior.bias))
		for j := range grad {
			w.vector[j] -= rate * 20 * (grad[j]/n + keep*(w.vector[j]-prior.vector[j]))
		}
	}
	return w
}
