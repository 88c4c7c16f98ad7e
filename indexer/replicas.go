package indexer

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"atlas/internal/elastic"
	"atlas/search/query"
)

// replicasWhileLoading is how many copies the shards of an index have while it
// is filled. On a single node none: they could not be placed. In a cluster as
// many as once it is served: a shard without a copy is gone with its node, and
// what was acknowledged with it.
func (l *load) replicasWhileLoading(ctx context.Context) (replicas int, err error) {
	if l.Unreplicated || l.Settings.Replicas == 0 {
		return 0, nil
	}
	nodes := 0
	err = l.Retry.Do(ctx, func(ctx context.Context) error {
		nodes, err = dataNodes(ctx, l.Elastic)
		return err
	})
	if err != nil || nodes < 2 {
		return 0, err
	}
	return l.Settings.Replicas, nil
}

// copiesWithin bounds the wait for copies: empty ones are there in a moment, or
// there is no node to hold them.
const copiesWithin = 30 * time.Second

// awaitCopies gives the copies of new indices time to be there before anything
// is written: until then the loss of a node would be the loss of its shards.
// With fewer nodes than copies some never are, which is no reason not to load.
func (l *load) awaitCopies(ctx context.Context, replicas int) error {
	if replicas == 0 {
		return nil
	}
	var names []string
	for _, d := range query.Datasets {
		names = append(names, url.PathEscape(l.indexName(d)))
	}
	return l.Retry.Do(ctx, func(ctx context.Context) error {
		_, err := l.Elastic.Do(ctx, elastic.Request{
			Method: http.MethodGet, Path: "/_cluster/health/" + strings.Join(names, ","),
			Query: url.Values{"wait_for_status": {"green"}, "timeout": {strconv.Itoa(int(copiesWithin.Seconds())) + "s"}},
		})
		if e, ok := errors.AsType[*elastic.Error](err); ok && e.Status == http.StatusRequestTimeout {
			l.Log.Warn("not all copies of the new indices have a node; the loss of one may end the load", "replicas", replicas)
			return nil
		}
		return err
	})
}

// dataNodes is how many nodes can hold shards.
func dataNodes(ctx context.Context, es *elastic.Client) (int, error) {
	res, err := es.Do(ctx, elastic.Request{Method: http.MethodGet, Path: "/_cluster/health"})
	if err != nil {
		return 0, err
	}
	var health struct {
		DataNodes int `json:"number_of_data_nodes"`
	}
	return health.DataNodes, json.Unmarshal(res.Body, &health)
}
