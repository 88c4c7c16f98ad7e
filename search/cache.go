package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/shares"
)

const (
	// cachedFor is how long results are cached if their indices do not change.
	cachedFor = 10 * time.Second
	// cachedBytes bounds the texts of all cached results, with countBytes for each count.
	cachedBytes = 16 << 20
	countBytes  = 200
)

// cachedResults caches results of operations that are not charged. The zero value is ready.
type cachedResults struct {
	places  shares.Shares
	runs    sharedRuns[any]
	lock    sync.Mutex
	results map[string]cachedResult
	bytes   int
}

type cachedResult struct {
	result any
	bytes  int
	until  time.Time
}

const (
	// countsAtOnce is how many operations count records at once on a server; others wait.
	// An answer of Elasticsearch can list valuesInAll values.
	countsAtOnce = 8
	// countsOfWorkspace is how many of them may be of one workspace.
	countsOfWorkspace = countsAtOnce / 2
)

// countPlace waits for one of the countsAtOnce places. Errors: Unavailable when ctx ends
// first.
func countPlace(ctx context.Context, slots *shares.Shares, workspace string) (release func(), err error) {
	if release, err = slots.Acquire(ctx, workspace, 1, countsOfWorkspace, countsAtOnce); err != nil {
		return nil, fault.BackendUnavailable(err, "elasticsearch")
	}
	return release, nil
}

// operation computes a result that can be cached.
type operation[T any] struct {
	// workspace is the caller's. Workspaces share cached results, but no runs.
	workspace string
	// key is the result of keyOf.
	key string
	// counts means that run counts many records, and needs one of the countsAtOnce places.
	counts bool
	// size is an estimate of the bytes of a result.
	size func(T) int
	run  func(context.Context) (T, error)
}

// resultOf returns the result of an operation. Equal operations of a workspace share one
// run. Errors: those of run; Unavailable when ctx ends, or no place is free in time.
func resultOf[T any](ctx context.Context, e *Engine, o operation[T]) (T, error) {
	if o.key == "" {
		return o.result(ctx, e)
	}
	if cached, there := e.cache.get(o.key); there {
		return cached.(T), nil
	}
	r, err := e.cache.runs.do(ctx, o.workspace+o.key, func(ctx context.Context) (any, error) { return o.result(ctx, e) })
	computed, _ := r.(T)
	return computed, err
}

// result runs the operation, unless another workspace has meanwhile cached its result.
func (o operation[T]) result(ctx context.Context, e *Engine) (none T, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	if o.counts {
		release, err := countPlace(ctx, &e.cache.places, o.workspace)
		if err != nil {
			return none, err
		}
		defer release()
		if cached, there := e.cache.get(o.key); there {
			return cached.(T), nil
		}
	}
	computed, err := o.run(ctx)
	if err == nil && o.key != "" {
		e.cache.put(o.key, computed, o.size(computed))
	}
	return computed, err
}

func (k *cachedResults) get(key string) (any, bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	r, there := k.results[key]
	return r.result, there && time.Now().Before(r.until)
}

func (k *cachedResults) put(key string, computed any, size int) {
	now := time.Now()
	r := cachedResult{computed, countBytes + size, now.Add(cachedFor)}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.bytes+r.bytes > cachedBytes {
		for old, result := range k.results {
			if now.After(result.until) {
				k.bytes -= result.bytes
				delete(k.results, old)
			}
		}
	}
	if k.bytes+r.bytes > cachedBytes || k.results == nil {
		k.results, k.bytes = map[string]cachedResult{}, 0
	}
	k.bytes += r.bytes - k.results[key].bytes
	k.results[key] = r
}

// keyOf identifies a request, as describe writes it, on records of a version; "" means that
// the version is not known, and nothing is cached.
func keyOf(version []byte, describe func(io.Writer)) string {
	if version == nil {
		return ""
	}
	h := sha256.New()
	_, _ = h.Write(version)
	describe(h)
	return string(h.Sum(nil))
}

// versionOf identifies what searches of the indices see at present: the indices, and how
// often each of their shards was refreshed. It is nil if the server lacks the privilege
// `monitor`, which reading it needs (docs/operators.md).
func (e *Engine) versionOf(ctx context.Context, indices ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout+grace)
	defer cancel()
	res, err := e.Elastic.Do(ctx, esapi.IndicesStatsRequest{
		Index: indices, Metric: []string{"refresh"}, Level: "shards",
		FilterPath: []string{"_shards.failed", "indices.*.uuid", "indices.*.shards.*.routing.node", "indices.*.shards.*.refresh.external_total"},
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
