package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"atlas/internal/elastic/elastictest"
	"atlas/search/catalog"
	"atlas/search/document"
	"atlas/search/searchtest"
)

// Each dataset has this many records that do not change, and this many that are
// changed, deleted and created during the paging.
const steady, moving = 400, 300

// letterOf is the letter of a dataset's ids.
var letterOf = map[catalog.Dataset]string{catalog.Accounts: "a", catalog.Contacts: "c", catalog.Projects: "p", catalog.Signals: "s"}

// anyRecord makes a record with few different values, so that most are ties, and
// many unknown ones.
func anyRecord(t testing.TB, d catalog.Dataset, n int, random *rand.Rand) document.Record {
	var members []string
	for _, f := range catalog.Fields(d) {
		if f.Derive != nil || !f.Required && f.Type != catalog.Time && random.IntN(4) == 0 {
			continue
		}
		var value string
		switch {
		case f.Name == "id":
			value = quote(searchtest.ID(letterOf[d], n))
		case f.Vocabulary != nil && f.Type == catalog.Strings:
			value = `["` + f.Vocabulary[random.IntN(len(f.Vocabulary))].Value + `"]`
		case f.Vocabulary != nil:
			value = quote(f.Vocabulary[random.IntN(len(f.Vocabulary))].Value)
		case f.IsID() && f.Type == catalog.UUID:
			value = quote(searchtest.ID(letterOf[parentOf(d, f.Name)], random.IntN(steady)))
		case f.IsID():
			value = "[" + quote(searchtest.ID(letterOf[parentOf(d, f.Name)], random.IntN(steady))) + "]"
		case f.Type == catalog.String:
			value = quote([]string{"Ärger", "arger", "Zoë", "acme", "Łódź", "Straße"}[random.IntN(6)] + strings.Repeat("!", random.IntN(3)))
		case f.Type == catalog.Strings:
			value = `["x.example"]`
		case f.Type == catalog.Integer:
			value = fmt.Sprint(random.IntN(30) - 5)
		case f.Type == catalog.Double:
			value = fmt.Sprint(float64(random.IntN(30)) / 4)
		case f.Type == catalog.Time:
			value = fmt.Sprintf(`"2024-01-%02dT00:00:00.%03dZ"`, 1+random.IntN(28), random.IntN(3))
		}
		members = append(members, fmt.Sprintf("%q:%s", f.Name, value))
	}
	return searchtest.Record(t, d, "{"+strings.Join(members, ",")+"}")
}

func parentOf(d catalog.Dataset, link string) catalog.Dataset {
	for _, r := range catalog.Relations {
		if r.Child == d && r.Link == link {
			return r.Parent
		}
	}
	return ""
}

// mover writes the moving records of all datasets over and over.
type mover struct {
	indices searchtest.Indices
	random  *rand.Rand
	rounds  int
}

// round changes some of the moving records of each dataset.
func (m *mover) round(t testing.TB) error {
	d := catalog.Datasets[m.rounds%len(catalog.Datasets)]
	m.rounds++
	var body strings.Builder
	for n := range moving {
		switch id := searchtest.ID(letterOf[d], steady+n); m.random.IntN(5) {
		case 0:
			fmt.Fprintf(&body, `{"delete":{"_id":%q}}`+"\n", id)
		case 1, 2:
			doc := document.Build(anyRecord(t, d, steady+n, m.random), document.None{})
			fmt.Fprintf(&body, `{"index":{"_id":%q}}`+"\n%s\n", id, doc)
		}
	}
	_, err := m.indices.Client.Do(t.Context(), elastictest.Request{
		Method: http.MethodPost, Path: "/" + m.indices.Names.Alias(string(d)) + "/_bulk",
		Query: map[string][]string{"refresh": {"true"}}, Body: []byte(body.String()),
	})
	return err
}

// Paging by every sort finds the records that do not change exactly once, whatever
// is written and deleted meanwhile.
func TestPagingWhileOthersWrite(t *testing.T) {
	t.Parallel()
	e, x := newEngine(t)
	random := rand.New(rand.NewPCG(1, 2))
	w := searchtest.NewWorld()
	for _, d := range catalog.Datasets {
		for n := range steady + moving {
			w.Add(anyRecord(t, d, n, random))
		}
	}
	x.Load(t, w)

	// The writer runs only while pages are read: each page wakes it, and one in ten waits until it
	// has ended the round before.
	m := &mover{indices: x, random: random}
	pages := make(chan struct{}, 1)
	var writing sync.WaitGroup
	writing.Go(func() {
		for range pages {
			if err := m.round(t); err != nil {
				t.Error(err)
			}
		}
	})
	data := dataSearch(e)
	var read atomic.Int64
	find := func(ctx context.Context, d catalog.Dataset, body []byte) (searchtest.Page, error) {
		if read.Add(1)%10 == 0 {
			pages <- struct{}{}
		} else {
			select {
			case pages <- struct{}{}:
			default:
			}
		}
		return data(ctx, d, body)
	}
	t.Run("sorts", func(t *testing.T) {
		for _, d := range catalog.Datasets {
			for i, f := range catalog.SortFields(d, catalog.Data) {
				orders := []string{"asc", "desc"}
				if testing.Short() { // by turns: a walk reads the same pages either way
					orders = orders[i%2 : i%2+1]
				}
				for _, order := range orders {
					t.Run(fmt.Sprint(d, " ", f.Name, " ", order), func(t *testing.T) {
						t.Parallel()
						limit := 37
						if testing.Short() {
							limit = 100
						}
						body := fmt.Sprintf(`{"sort":{"field":%q,"order":%q}}`, f.Name, order)
						checkSteady(t, w, d, searchtest.Walk(t, d, []byte(body), limit, -1, find), f, order == "desc")
					})
				}
			}
		}
	})
	close(pages)
	writing.Wait()
	if m.rounds < 10 {
		t.Errorf("only %d rounds of writing went on meanwhile", m.rounds)
	}
}

// checkSteady fails unless the unchanged records are there, each once, in order.
func checkSteady(t *testing.T, w *searchtest.World, d catalog.Dataset, walked []string, f catalog.Field, desc bool) {
	t.Helper()
	stays := map[string]bool{}
	var records []document.Record
	for _, r := range w.Records(d)[:steady] {
		stays[r.ID()] = true
		records = append(records, r)
	}
	var got []string
	for _, id := range walked {
		if stays[id] {
			got = append(got, id)
		}
	}
	want := inOrder(records, f, desc)
	if len(got) != len(want) {
		t.Errorf("%d rows of the %d records that stayed", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d of those that stayed is %s, want %s", i, got[i], want[i])
		}
	}
}
