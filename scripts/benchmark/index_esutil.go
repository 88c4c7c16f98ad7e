//go:build esutil

// The Elasticsearch client takes longer to compile than Atlas: only scripts/bench has it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/elastic/go-elasticsearch/v8"
	"github.com/elastic/go-elasticsearch/v8/esutil"
)

func init() { sendWays[esutilWay] = (*sendCmd).esutil }

// esutil passes the documents one by one to the client library's own indexer.
func (c *sendCmd) esutil(ctx context.Context, index string, from io.Reader) (int64, error) {
	client, err := elasticsearch.NewClient(elasticsearch.Config{
		Addresses: []string{c.URL},
		Transport: &http.Transport{MaxConnsPerHost: c.Connections, MaxIdleConnsPerHost: c.Connections, DisableCompression: true},
	})
	if err != nil {
		return 0, err
	}
	var failure atomic.Pointer[error]
	failed := func(err error) { failure.CompareAndSwap(nil, &err) }
	indexer, err := esutil.NewBulkIndexer(esutil.BulkIndexerConfig{
		Client: client, Index: index, NumWorkers: c.Connections, FlushBytes: c.BatchBytes,
		OnError: func(_ context.Context, err error) { failed(err) },
	})
	if err != nil {
		return 0, err
	}
	for {
		// The indexer keeps its documents until it flushes them.
		body, documents, err := readFrame(from, nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		for range documents {
			action, rest, _ := bytes.Cut(body, []byte("\n"))
			doc, next, _ := bytes.Cut(rest, []byte("\n"))
			body = next
			id := action[len(`{"index":{"_id":"`) : len(action)-len(`"}}`)]
			err := indexer.Add(ctx, esutil.BulkIndexerItem{
				Action: "index", DocumentID: string(id), Body: bytes.NewReader(doc),
				OnFailure: func(_ context.Context, _ esutil.BulkIndexerItem, res esutil.BulkIndexerResponseItem, err error) {
					failed(errors.Join(err, fmt.Errorf("%d %s: %s", res.Status, res.Error.Type, res.Error.Reason)))
				},
			})
			if err != nil {
				return 0, err
			}
		}
	}
	if err := indexer.Close(ctx); err != nil {
		return 0, err
	}
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return int64(indexer.Stats().NumIndexed), nil // #nosec G115 -- counts documents
}
