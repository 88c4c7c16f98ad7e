package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/search/query"
)

const (
	// keptFor is how long facets are kept if their indices do not change.
	keptFor = 10 * time.Second
	// keptBytes bounds the texts of all kept facets, with countBytes for each count.
	keptBytes  = 16 << 20
	countBytes = 200
)

// keptFacets keeps facets for the version of their indices, and runs equal requests
// that are under way once.
type keptFacets struct {
	slots   facetSlots
	runs    sharedRuns[query.Facets]
	lock    sync.Mutex
	results map[string]keptResult
	bytes   int
}

type keptResult struct {
	facets query.Facets
	bytes  int
	until  time.Time
}

func (k *keptFacets) facets(ctx context.Context, e *Engine, s query.FacetSearch) (query.Facets, error) {
	version, err := e.versionOf(ctx, s)
	if err != nil {
		return query.Facets{}, err
	}
	if version == nil {
		return k.count(ctx, e, s, "")
	}
	key := keyOf(s, version)
	if facets, there := k.get(key); there {
		return facets, nil
	}
	// A run takes a slot of the workspace that started it, so workspaces share no runs.
	return k.runs.do(ctx, s.Workspace+key, func(ctx context.Context) (query.Facets, error) {
		return k.count(ctx, e, s, key)
	})
}

// count counts when there is a slot, unless another workspace's request has meanwhile
// counted the same. It keeps the result by a key; "" means that it cannot be kept.
func (k *keptFacets) count(ctx context.Context, e *Engine, s query.FacetSearch, key string) (query.Facets, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	release, err := k.slots.take(ctx, s.Workspace)
	if err != nil {
		return query.Facets{}, err
	}
	defer release()
	if facets, there := k.get(key); there {
		return facets, nil
	}
	facets, err := e.facets(ctx, s)
	if err == nil && key != "" {
		k.put(key, facets)
	}
	return facets, err
}

func (k *keptFacets) get(key string) (query.Facets, bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	r, there := k.results[key]
	return r.facets, there && time.Now().Before(r.until)
}

func (k *keptFacets) put(key string, facets query.Facets) {
	now := time.Now()
	r := keptResult{facets, countBytes + len(facets.DidYouMean), now.Add(keptFor)}
	for _, f := range facets.Facets {
		switch f := f.(type) {
		case query.ValueCounts:
			for _, v := range f.Values {
				r.bytes += countBytes + len(v.Value)
				if v.Label != nil {
					r.bytes += len(*v.Label)
				}
			}
		case query.BucketCounts:
			r.bytes += countBytes * len(f.Buckets)
		case query.CellCounts:
			r.bytes += countBytes * len(f.Geo)
		}
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.bytes+r.bytes > keptBytes {
		for old, kept := range k.results {
			if now.After(kept.until) {
				k.bytes -= kept.bytes
				delete(k.results, old)
			}
		}
	}
	if k.bytes+r.bytes > keptBytes || k.results == nil {
		k.results, k.bytes = map[string]keptResult{}, 0
	}
	k.bytes += r.bytes - k.results[key].bytes
	k.results[key] = r
}

// versionOf identifies what searches of the indices see at present: the indices, and how
// often each of their shards was refreshed. It is nil if the server may not read it,
// which needs the privilege `monitor` (docs/operators.md).
func (e *Engine) versionOf(ctx context.Context, s query.FacetSearch) ([]byte, error) {
	var indices []string
	for _, q := range s.Searches() {
		indices = append(indices, e.at(q, nil).index)
	}
	if slices.ContainsFunc(s.Request.Facets, func(f query.Facet) bool { return f.Field.IsID() }) {
		indices = append(indices, e.Names.Alias(string(query.Accounts)))
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	res, err := e.Elastic.Do(ctx, elastic.Request{
		Method: http.MethodGet, Path: "/" + strings.Join(indices, ",") + "/_stats/refresh",
		Query: url.Values{"level": {"shards"}, "filter_path": {"_shards.failed,indices.*.uuid,indices.*.shards.*.routing.node,indices.*.shards.*.refresh.external_total"}},
	})
	if refused, ok := errors.AsType[*elastic.Error](err); ok && refused.Status == http.StatusForbidden {
		return nil, nil
	}
	if err != nil {
		return nil, searchFault(err)
	}
	if !bytes.Contains(res.Body, []byte(`"failed":0`)) {
		return nil, fault.BackendUnavailable(fmt.Errorf("the version of an index is not known: %.500s", res.Body), "elasticsearch")
	}
	return res.Body, nil
}

// keyOf identifies a search of indices of a version.
func keyOf(s query.FacetSearch, version []byte) string {
	var b strings.Builder
	b.Write(version)
	for _, q := range s.Searches() {
		fmt.Fprintf(&b, "\n%s %t %q %q %s %q %t", q.Dataset, q.Held, q.Generation, q.Base.Workspace, q.Where, query.Fold(q.Text), q.Typos)
	}
	fmt.Fprintf(&b, "\n%q", s.Request.Own)
	for _, f := range s.Request.Facets {
		fmt.Fprintf(&b, "\n%s %d %q %s %d %d %t", f.Field, f.Limit, f.Prefix, f.Interval, f.Buckets, f.Precision, f.CountOwn)
		for _, r := range f.Ranges {
			fmt.Fprintf(&b, " %s:%s", r.From, r.To)
		}
		if f.Measure != nil {
			fmt.Fprintf(&b, " %s %s", f.Measure.Of, f.Measure.Field)
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return string(sum[:])
}
