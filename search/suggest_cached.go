package search

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/reading"
	"atlas/search/words"
)

// valueBytes bounds the cached values of a dataset, with countBytes for each.
const valueBytes = 64 << 20

// cachedValues caches the values of the dynamic enums of whole datasets until the datasets
// change, so that typing a letter rarely counts them. The zero value is ready.
type cachedValues struct {
	lock sync.Mutex
	of   map[catalog.Dataset]valuesOfVersion
}

type valuesOfVersion struct {
	version string
	values  []fieldValue
	// named are the values by their field and their words (Engine.Values).
	named map[string]reading.Value
}

// namedBytes is the size of an entry of named without its texts.
const namedBytes = 64

// Suggest returns the names and values with words that begin like the typed ones: by count
// descending, then by folded value, id and field. Counts and order are exact. Errors:
// Unavailable.
func (e *Engine) Suggest(ctx context.Context, r query.SuggestRequest) ([]query.Suggestion, error) {
	version, err := e.versionOf(ctx, e.at(r.Query, nil).index)
	if err != nil {
		return nil, err
	}
	return resultOf(ctx, e, operation[[]query.Suggestion]{
		workspace: r.Workspace, key: keyOf(version, func(w io.Writer) { describeSuggest(w, r) }), size: bytesOfSuggestions,
		run: func(ctx context.Context) ([]query.Suggestion, error) {
			return inFoldings(ctx, e, true, []query.Query{r.Query}, func(folded []query.Query) ([]query.Suggestion, error) {
				in := r
				in.Query, in.Typed = folded[0], catalog.TypedWords(r.Prefix, folded[0].Folding)
				return e.suggest(ctx, in, version)
			})
		},
	})
}

func bytesOfSuggestions(list []query.Suggestion) (bytes int) {
	for _, s := range list {
		bytes += countBytes + len(s.Value)
	}
	return bytes
}

func describeSuggest(w io.Writer, r query.SuggestRequest) {
	_, _ = fmt.Fprintf(w, "suggest %s %s %d", r.Dataset, r.Where, r.Limit)
	for _, f := range r.Fields {
		_, _ = fmt.Fprintf(w, " %s", f)
	}
	for _, word := range catalog.TypedWords(r.Prefix, catalog.CaseFolding) {
		_, _ = fmt.Fprintf(w, " %q", word.Text)
	}
}

// allValues returns the values of all dynamic enums of the dataset of a request, in a
// version of its records. Equal calls of a workspace share one run.
func (e *Engine) allValues(ctx context.Context, r query.SuggestRequest, version []byte) ([]fieldValue, error) {
	if values, there := e.values.get(r.Dataset, version); there {
		return values, nil
	}
	shared, err := e.cache.runs.do(ctx, r.Workspace+string(r.Dataset)+string(version), func(ctx context.Context) (any, error) {
		whole := query.SuggestRequest{Query: query.Query{Dataset: r.Dataset, Folding: r.Folding}, Workspace: r.Workspace}
		values, err := e.countValues(ctx, whole, query.DynamicFields(r.Dataset))
		if err == nil {
			e.values.put(r.Dataset, version, values)
		}
		return values, err
	})
	values, _ := shared.([]fieldValue)
	return values, err
}

// Values returns the values of the dynamic enums of datasets. Errors: Unavailable.
func (e *Engine) Values(ctx context.Context, workspace string, datasets ...catalog.Dataset) (reading.Lookup, error) {
	of := map[catalog.Dataset]map[string]reading.Value{}
	for _, d := range datasets {
		r := query.SuggestRequest{Query: query.Query{Dataset: d}, Fields: query.DynamicFields(d), Workspace: workspace}
		version, err := e.versionOf(ctx, e.at(r.Query, nil).index)
		if err != nil {
			return nil, err
		}
		if of[d] = e.values.names(d, version); of[d] != nil {
			continue
		}
		if of[d], err = inFoldings(ctx, e, true, []query.Query{r.Query}, func(folded []query.Query) (map[string]reading.Value, error) {
			in := r
			in.Query = folded[0]
			values, err := e.valuesOf(ctx, in, version)
			return named(values), err
		}); err != nil {
			return nil, err
		}
	}
	return func(d catalog.Dataset, key, folded string) (reading.Value, bool) {
		v, ok := of[d][key+" "+folded]
		return v, ok
	}, nil
}

// named are values by their field and their words; of equal ones that with the most
// records.
func named(values []fieldValue) map[string]reading.Value {
	all := make(map[string]reading.Value, len(values))
	for _, v := range values {
		key := v.field.Key + " " + strings.Join(words.Texts(v.folded), " ")
		if v.count > all[key].Count {
			all[key] = reading.Value{Spelling: v.spelling, Count: v.count}
		}
	}
	return all
}

func (k *cachedValues) names(d catalog.Dataset, version []byte) map[string]reading.Value {
	k.lock.Lock()
	defer k.lock.Unlock()
	if cached := k.of[d]; version != nil && cached.version == string(version) {
		return cached.named
	}
	return nil
}

func (k *cachedValues) get(d catalog.Dataset, version []byte) ([]fieldValue, bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	cached, there := k.of[d]
	return cached.values, there && cached.version == string(version)
}

func (k *cachedValues) put(d catalog.Dataset, version []byte, values []fieldValue) {
	size := 0
	for _, v := range values {
		size += countBytes + 2*len(v.folded) + len(v.spelling) + 16*len(v.words) + namedBytes
	}
	if size > valueBytes {
		return
	}
	of := named(values)
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.of == nil {
		k.of = map[catalog.Dataset]valuesOfVersion{}
	}
	k.of[d] = valuesOfVersion{string(version), values, of}
}
