package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
	searchdoc "atlas/search/document"
	"atlas/workspace/projection"
)

// globalRecord is a global record: its revision, and the number of its related records
// and signals.
type globalRecord struct {
	revision int
	children int64
	signals  [2]int64
}

func (g globalRecord) public(d catalog.Dataset, id string) jsontext.Value {
	if d == catalog.Accounts {
		return fmt.Appendf(nil, `{"id":%q,"name":"%s %d","account_types":["developer"],"projects_count":%d}`, id, d, g.revision, g.children)
	}
	return fmt.Appendf(nil, `{"id":%q,"name":"%s %d"}`, id, d, g.revision)
}

// Count implements document.Children.
func (g globalRecord) Count(catalog.Dataset) int64 { return g.children }

// Newest implements document.Children.
func (g globalRecord) Newest(of catalog.Dataset) (list []searchdoc.Child) {
	for n := range g.children {
		list = append(list, searchdoc.Child{Fragment: fmt.Appendf(nil, `{"id":"%s %d"}`, of, n)})
	}
	return list
}

// global is the model of *search.Engine: it reads the served generation.
type global struct {
	link    *link
	cluster *cluster
	names   mappings.Names
}

var _ projection.Global = (*global)(nil)

// serving returns the records of the served generation.
func (c *cluster) serving(alias string) (map[string]globalRecord, error) {
	behind := c.indicesOf(alias)
	if len(behind) != 1 {
		return nil, indexNotFound(alias)
	}
	return behind[0].global, nil
}

func (g *global) Lookup(ctx context.Context, d catalog.Dataset, ids []string) (map[string]jsontext.Value, error) {
	return lookup(ctx, g, "Lookup", d, ids, func(r globalRecord, id string) jsontext.Value { return r.public(d, id) })
}

func (g *global) Children(ctx context.Context, d catalog.Dataset, ids []string) (map[string]searchdoc.Children, error) {
	found, err := lookup(ctx, g, "Children", d, ids, func(r globalRecord, _ string) searchdoc.Children { return r })
	for _, id := range ids {
		if err == nil && found[id] == nil {
			found[id] = globalRecord{}
		}
	}
	return found, err
}

func (g *global) SignalCounts(ctx context.Context, accounts []string, _ time.Time, _ time.Duration) (map[string][2]int64, error) {
	return lookup(ctx, g, "SignalCounts", catalog.Accounts, accounts, func(r globalRecord, _ string) [2]int64 { return r.signals })
}

func lookup[T any](
	ctx context.Context,
	g *global,
	what string,
	d catalog.Dataset,
	ids []string,
	of func(globalRecord, string) T,
) (map[string]T, error) {
	if len(ids) == 0 {
		return map[string]T{}, nil
	}
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(" " + id[len(id)-2:])
	}
	return do(ctx, g.link, toElasticsearch, fmt.Sprintf("%s %s%s", what, d, b.String()), func() (map[string]T, error) {
		all, err := g.cluster.serving(g.names.Alias(string(d)))
		if err != nil {
			return nil, fault.BackendUnavailable(err, toElasticsearch.String())
		}
		found := map[string]T{}
		for _, id := range ids {
			if r, there := all[id]; there {
				found[id] = of(r, id)
			}
		}
		return found, nil
	})
}
