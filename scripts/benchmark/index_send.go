package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elastic/go-elasticsearch/v8"
	"github.com/elastic/go-elasticsearch/v8/esutil"
	"golang.org/x/sync/errgroup"

	"atlas/scripts/benchmark/load"
)

// sendCmd sends files of documents, one after the other, each into its own index. It
// runs as a separate process, so that its use of CPU and memory is distinct from that
// of the benchmark.
type sendCmd struct {
	Way         string   `required:"" enum:"bare,esutil"`
	Files       []string `name:"file" required:"" sep:"none" type:"existingfile"`
	URL         string   `name:"url" required:""`
	Indices     []string `name:"index" required:"" sep:"none"`
	Connections int      `required:""`
	BatchBytes  int      `required:""`
}

// sentFile is what sendCmd prints for each file.
type sentFile struct {
	Documents int64 `json:"documents"`
	// Seconds from before the file was opened until the last document was
	// acknowledged.
	Seconds float64 `json:"seconds"`
}

// Validate pairs files and indices.
func (c *sendCmd) Validate() error {
	if len(c.Files) != len(c.Indices) {
		return errors.New("each file has an index")
	}
	return nil
}

// Run sends, and prints what it sent.
func (c *sendCmd) Run(ctx context.Context) error {
	sent, err := c.send(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sent)
}

// send finishes each file completely before it begins the next one.
func (c *sendCmd) send(ctx context.Context) (sent []sentFile, err error) {
	ways := map[string]func(context.Context, string, io.Reader) (int64, error){bareWay: c.bare, esutilWay: c.esutil}
	for i, path := range c.Files {
		began := time.Now()
		file, err := os.Open(path) // #nosec G304 -- a file of the benchmark
		if err != nil {
			return nil, err
		}
		n, err := ways[c.Way](ctx, c.Indices[i], bufio.NewReaderSize(file, 1<<20))
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		sent = append(sent, sentFile{n, time.Since(began).Seconds()})
	}
	return sent, nil
}

// bare posts each body unchanged, and checks only that Elasticsearch accepted all
// of it.
func (c *sendCmd) bare(ctx context.Context, index string, from io.Reader) (sent int64, err error) {
	target, err := url.Parse(c.URL + "/" + index + "/_bulk?filter_path=errors")
	if err != nil {
		return 0, err
	}
	client := load.NewClient(c.Connections)
	defer client.CloseIdleConnections()
	header := http.Header{"Content-Type": {"application/x-ndjson"}}
	var buffers sync.Pool
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.Connections)
	for ctx.Err() == nil {
		buf, kept := buffers.Get().(*[]byte)
		if !kept {
			buf = new([]byte)
		}
		body, documents, err := readFrame(from, *buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, errors.Join(err, group.Wait())
		}
		sent += int64(documents)
		group.Go(func() error {
			answer, err := client.Do(ctx, &load.Request{Method: http.MethodPost, URL: target, Header: header, Body: body}, nil)
			if err == nil && string(answer) != `{"errors":false}` {
				err = fmt.Errorf("elasticsearch answered %.500s", answer)
			}
			buffers.Put(&body)
			return err
		})
	}
	return sent, group.Wait()
}

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
