package indexer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"

	"atlas/internal/elastic"
	"atlas/search/catalog"
)

// replicasWhileLoading is the number of replicas of an index while it is filled. On
// a single node it is 0, because replicas could not be placed. In a cluster it is
// that of the served index: without a replica, a shard is lost with its node,
// including acknowledged documents.
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

// replicaTimeout bounds the wait for replicas: empty ones are placed at once, or
// there is no node for them.
const replicaTimeout = 30 * time.Second

// awaitReplicas waits until the replicas of new indices are placed, before anything is
// written: until then the loss of a node loses its shards. With fewer nodes than replicas
// some are never placed, and the load continues.
func (l *load) awaitReplicas(ctx context.Context, replicas int) error {
	if replicas == 0 {
		return nil
	}
	var names []string
	for _, d := range catalog.Datasets {
		names = append(names, l.indexName(d))
	}
	return l.Retry.Do(ctx, func(ctx context.Context) error {
		_, err := l.Elastic.Do(ctx, esapi.ClusterHealthRequest{Index: names, WaitForStatus: "green", Timeout: replicaTimeout})
		if e, ok := errors.AsType[*elastic.Error](err); ok && e.Status == http.StatusRequestTimeout {
			l.Log.Warn("not all copies of the new indices have a node; the loss of one may end the load", "replicas", replicas)
			return nil
		}
		return err
	})
}

// dataNodes is the number of nodes that can hold shards.
func dataNodes(ctx context.Context, es *elastic.Client) (int, error) {
	res, err := es.Do(ctx, esapi.ClusterHealthRequest{})
	if err != nil {
		return 0, err
	}
	var health struct {
		DataNodes int `json:"number_of_data_nodes"`
	}
	return health.DataNodes, json.Unmarshal(res.Body, &health)
}
