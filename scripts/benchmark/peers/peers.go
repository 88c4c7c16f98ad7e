// Package peers has the programs that a user could pick instead of Atlas, filled with
// the same records: Postgres full text search, Elasticsearch by hand, and Searchkit's
// API in front of that Elasticsearch. Each answers the same questions.
//
// It starts no backend, except Searchkit's server, and measures nothing.
package peers

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// Task is a kind of question.
type Task string

// The tasks. Each question asks for PageSize records, except Facets.
const (
	// Text looks for projects that have all words, by relevance.
	Text Task = "full text search"
	// Filter looks for projects by stage, primary use and lowest cost, by cost.
	Filter Task = "filter and sort"
	// Related looks for accounts that have such a project, by name.
	Related Task = "relation"
	// Offset is a page of signals by the number of its first row.
	Offset Task = "page by offset"
	// Cursor is a page of signals that continues after a known row.
	Cursor Task = "page by cursor"
	// Facets counts the projects of at least a cost by stage, primary use and city.
	Facets Task = "facet counts"
)

// PageSize is the number of records on a page.
const PageSize = 25

// TotalCap bounds the totals that are compared, because Atlas counts no further.
const TotalCap = 1_000

// FacetFields are the fields that Facets counts by.
var FacetFields = []string{"stage", "primary_use", "city"}

// Question is one request in terms of the data.
type Question struct {
	Task Task
	// Words are those that Text looks for.
	Words string
	// Stage, PrimaryUse and MinCost are conditions on a project.
	Stage, PrimaryUse string
	MinCost           int
	// Row is the number of rows before a page of signals by occurred_at, the newest
	// first.
	Row int
}

// Answer is what the answers of all peers have in common.
type Answer struct {
	// Total is the number of matches, at most TotalCap.
	Total int
	// IDs of the records on the page.
	IDs []string
	// Facets counts the matches by field and value.
	Facets map[string]map[string]int
}

// Call is a question in the form of a peer. Any goroutine may use it.
type Call struct {
	// Send returns the bytes of the answer, in buf if they fit.
	Send func(ctx context.Context, buf []byte) ([]byte, error)
	// Read decodes an answer.
	Read func(raw []byte) (Answer, error)
}

// ErrCannot says that a peer cannot answer a question.
var ErrCannot = errors.New("the peer cannot answer this")

// Project is what questions are drawn from.
type Project struct {
	Name       string
	Stage      string
	PrimaryUse string `json:"primary_use"`
	Cost       float64
}

// ReadProjects returns about most projects with all of these values, at equal
// distances in the file of the folder.
func ReadProjects(dir string, have int64, most int) (all []Project, err error) {
	every := max(1, have/int64(most))
	err = ndjson.EachLine(dir, string(catalog.Projects), func(n int64, line []byte) error {
		if n%every != 0 {
			return nil
		}
		var p Project
		if err := json.Unmarshal(line, &p); err != nil {
			return err
		}
		if p.Stage != "" && p.PrimaryUse != "" && p.Cost > 0 {
			all = append(all, p)
		}
		return nil
	})
	return all, err
}

// Draw returns n different questions of a task about some projects, the same ones
// for the same seed.
func Draw(task Task, from []Project, n int, seed uint64) (all []Question) {
	random := rand.New(rand.NewPCG(seed, uint64(len(task)))) // #nosec G404 -- a seed repeats it
	seen := map[Question]bool{}
	for try := 0; len(all) < n && try < 100*n; try++ {
		p := from[random.IntN(len(from))]
		q := Question{Task: task}
		switch task {
		case Text:
			q.Words = words(random, p.Name)
		case Filter, Related:
			q.Stage, q.PrimaryUse, q.MinCost = p.Stage, p.PrimaryUse, int(p.Cost/2)
		case Facets:
			q.MinCost = int(p.Cost / 2)
		}
		if !seen[q] && (task != Text || q.Words != "") {
			seen[q] = true
			all = append(all, q)
		}
	}
	return all
}

// words are one or two consecutive words of a name, half of them in lower case.
func words(random *rand.Rand, name string) string {
	all := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	all = slices.DeleteFunc(all, func(w string) bool { return len(w) < 3 })
	if len(all) == 0 {
		return ""
	}
	n := 1 + random.IntN(min(2, len(all)))
	from := random.IntN(len(all) - n + 1)
	chosen := strings.Join(all[from:from+n], " ")
	if random.IntN(2) == 0 {
		return strings.ToLower(chosen)
	}
	return chosen
}

// Pages returns n questions for pages of signals, the last one at a row and the others
// on the pages before it, in ascending order.
func Pages(task Task, row, n int) (all []Question) {
	for i := n - 1; i >= 0; i-- {
		all = append(all, Question{Task: task, Row: row - i*PageSize})
	}
	return all
}
