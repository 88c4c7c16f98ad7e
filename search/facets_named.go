package search

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/query"
)

// DefaultNamesAtOnce is the usual Engine.NamesAtOnce, the most rows of a search.
const DefaultNamesAtOnce = 10_000

// idsAtOnce is how many ids one aggregation counts: 2 MB of a request.
const idsAtOnce = 50_000

func (e *Engine) namesAtOnce() int {
	if e.NamesAtOnce > 0 {
		return e.NamesAtOnce
	}
	return DefaultNamesAtOnce
}

// namedAccounts are the accounts whose names a prefix selects.
type namedAccounts struct {
	ids []string
	// more, if not nil, means that there are further accounts, after the row with these
	// sort values.
	more jsontext.Value
	// listed is how many ids of matching records are listed in that case.
	listed int
}

// accountRow is the part of an account that facets read.
type accountRow struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func accountRows(rows []hit) ([]accountRow, error) {
	all := make([]accountRow, len(rows))
	for i, row := range rows {
		if err := unmarshal(row.source, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// findNames reads the next accounts that the prefix of a facet selects. Elasticsearch finds
// names that begin all words of the prefix; here names are dropped in which a completed
// word does not occur whole.
func (e *Engine) findNames(ctx context.Context, f *query.Facet, found *namedAccounts) error {
	words := catalog.Words(f.PrefixText())
	if len(words) == 0 {
		return nil
	}
	most := e.namesAtOnce()
	c := newCompiler(512)
	c.raw(`{"query":{"bool":{"filter":[`)
	for _, word := range words {
		c.term(suggestTermsPath, word).raw(`,`)
	}
	c.closeList().raw(`]}},"size":`).integer(most).raw(`,"track_total_hits":false,"_source":["id","name"],"sort":[`)
	for _, path := range TiebreakPaths {
		c.raw(`{`).text(path).raw(`:"asc"},`)
	}
	c.closeList().raw(`]`)
	if found.more != nil {
		c.raw(`,"search_after":`)
		c.b = append(c.b, found.more...)
	}
	results, err := e.multi(ctx, e.global(catalog.Accounts, c.raw(`}`).b))
	if err != nil {
		return err
	}
	rows := results[0].rows
	accounts, err := accountRows(rows)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if f.Matches(catalog.Fold(a.Name)) {
			found.ids = append(found.ids, a.ID)
		}
	}
	found.more = nil
	if len(rows) == most {
		found.more = slices.Clone(rows[most-1].sort)
	}
	return nil
}

// byName reports whether the facet selects ids by the names of their accounts.
func (t *tally) byName() bool { return t.facet.Field.IsID() && t.facet.Prefix != nil }

// named searches for the accounts of the facets that select ids by name. If they are too
// many for one round trip, the first count lists the ids of the matching records instead,
// which may be few.
func (r *facetRun) named(ctx context.Context) error {
	for i := range r.tallies {
		if t := &r.tallies[i]; t.byName() {
			t.accounts.listed = r.engine.namesAtOnce()
			if err := r.engine.findNames(ctx, t.facet, &t.accounts); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropUnselected drops the listed ids of accounts that the facet does not select.
func (r *facetRun) dropUnselected(ctx context.Context, t *tally) error {
	ids := make([]string, 0, len(t.values))
	for id := range t.values {
		ids = append(ids, id)
	}
	names, err := r.engine.namesOf(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if name, known := names[id]; !known || !t.facet.Matches(catalog.Fold(name)) {
			delete(t.values, id)
		}
	}
	return nil
}

// countNamed counts the ids of all accounts that the facet selects, a part of them in each
// round trip.
func (r *facetRun) countNamed(ctx context.Context, t *tally) error {
	for t.accounts.more != nil {
		if err := r.engine.findNames(ctx, t.facet, &t.accounts); err != nil {
			return err
		}
	}
	t.clear()
	for ids := range slices.Chunk(t.accounts.ids, idsAtOnce) {
		whole, err := r.count1(ctx, t, t.topAmong(ids, allValues))
		if err != nil {
			return err
		}
		if !whole {
			return inexact()
		}
	}
	return nil
}

// namesOf returns the names of accounts by id, without accounts that do not exist.
func (e *Engine) namesOf(ctx context.Context, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	id, _ := catalog.FieldNamed(catalog.Accounts, "id")
	for some := range slices.Chunk(ids, DefaultNamesAtOnce) {
		c := newCompiler(64 * len(some))
		c.raw(`{"query":`)
		c.terms(Root.ExactPath(&id), some)
		c.raw(`,"size":`).integer(len(some)).raw(`,"_source":["id","name"],"track_total_hits":false}`)
		res, err := e.multi(ctx, e.global(catalog.Accounts, c.b))
		if err != nil {
			return nil, err
		}
		accounts, err := accountRows(res[0].rows)
		if err != nil {
			return nil, err
		}
		for _, a := range accounts {
			names[a.ID] = a.Name
		}
	}
	return names, nil
}
