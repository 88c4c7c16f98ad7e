package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

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

// sendWays send the documents of a file into an index, and count them.
var sendWays = map[string]func(c *sendCmd, ctx context.Context, index string, from io.Reader) (int64, error){bareWay: (*sendCmd).bare}

// send finishes each file completely before it begins the next one.
func (c *sendCmd) send(ctx context.Context) (sent []sentFile, err error) {
	way, there := sendWays[c.Way]
	if !there {
		return nil, fmt.Errorf("%s is not in this program: scripts/bench builds it with -tags esutil", c.Way)
	}
	for i, path := range c.Files {
		began := time.Now()
		file, err := os.Open(path) // #nosec G304 -- a file of the benchmark
		if err != nil {
			return nil, err
		}
		n, err := way(c, ctx, c.Indices[i], bufio.NewReaderSize(file, 1<<20))
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
