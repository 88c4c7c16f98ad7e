package search

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"atlas/internal/fault"
	"atlas/search/query"
)

const (
	// suggestionBytes bounds the texts of all kept suggestions, with countBytes for each.
	suggestionBytes = 4 << 20
	// valueBytes bounds the values of a dataset that are kept, counted in the same way.
	valueBytes = 64 << 20
)

// keptSuggestions keeps suggestions for seconds, and the values of the dynamic enums of
// whole datasets until they change, so that a key pressed rarely counts them. It runs
// equal requests that are under way once.
type keptSuggestions struct {
	flight singleflight.Group
	lock   sync.Mutex
	lists  map[string]keptList
	bytes  int
	counts map[query.Dataset]keptValues
}

type keptList struct {
	list  []query.Suggestion
	until time.Time
}

// keptValues are those of all records of a version.
type keptValues struct {
	version string
	values  []fieldValue
}

func (k *keptSuggestions) suggest(ctx context.Context, e *Engine, r query.SuggestRequest) ([]query.Suggestion, error) {
	version, err := e.versionOf(ctx, query.FacetSearch{Sets: []query.Query{r.Query}})
	if err != nil {
		return nil, err
	}
	if version == nil {
		return e.suggest(ctx, r, nil)
	}
	key := suggestKey(r, version)
	if list, there := k.get(key); there {
		return list, nil
	}
	return shared(ctx, &k.flight, key, func(ctx context.Context) ([]query.Suggestion, error) {
		list, err := e.suggest(ctx, r, version)
		if err == nil {
			k.put(key, list)
		}
		return list, err
	})
}

// shared runs equal calls that are under way once. The run does not end with the call
// that started it.
func shared[T any](ctx context.Context, flight *singleflight.Group, key string, run func(context.Context) (T, error)) (T, error) {
	running := flight.DoChan(key, func() (any, error) { return run(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		var none T
		return none, fault.BackendUnavailable(ctx.Err(), "elasticsearch")
	case r := <-running:
		got, _ := r.Val.(T)
		return got, r.Err
	}
}

// suggestKey identifies a request of records of a version.
func suggestKey(r query.SuggestRequest, version []byte) string {
	h := sha256.New()
	_, _ = h.Write(version)
	_, _ = fmt.Fprintf(h, "\n%s %s %d", r.Dataset, r.Where, r.Limit)
	for _, f := range r.Fields {
		_, _ = fmt.Fprintf(h, " %s", f)
	}
	for _, w := range r.Typed {
		_, _ = fmt.Fprintf(h, " %q", w.Text)
	}
	return string(h.Sum(nil))
}

func (k *keptSuggestions) get(key string) ([]query.Suggestion, bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	kept, there := k.lists[key]
	return kept.list, there && time.Now().Before(kept.until)
}

func (k *keptSuggestions) put(key string, list []query.Suggestion) {
	size := countBytes
	for _, s := range list {
		size += countBytes + len(s.Value)
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.lists == nil || k.bytes+size > suggestionBytes {
		k.lists, k.bytes = map[string]keptList{}, 0
	}
	if _, there := k.lists[key]; !there {
		k.bytes += size
	}
	k.lists[key] = keptList{list, time.Now().Add(keptFor)}
}

// allValues returns the values of all dynamic enums of a dataset of a version.
func (k *keptSuggestions) allValues(ctx context.Context, e *Engine, d query.Dataset, version []byte) ([]fieldValue, error) {
	k.lock.Lock()
	kept := k.counts[d]
	k.lock.Unlock()
	if kept.version == string(version) {
		return kept.values, nil
	}
	return shared(ctx, &k.flight, string(d)+string(version), func(ctx context.Context) ([]fieldValue, error) {
		values, err := e.countValues(ctx, query.Query{Dataset: d}, query.DynamicFields(d))
		if err == nil {
			k.putValues(d, keptValues{string(version), values})
		}
		return values, err
	})
}

func (k *keptSuggestions) putValues(d query.Dataset, kept keptValues) {
	size := 0
	for _, v := range kept.values {
		size += countBytes + len(v.folded) + len(v.spelling) + 16*len(v.words)
	}
	if size > valueBytes {
		return
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.counts == nil {
		k.counts = map[query.Dataset]keptValues{}
	}
	k.counts[d] = kept
}
