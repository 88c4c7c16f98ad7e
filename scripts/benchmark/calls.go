package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/scripts/benchmark/load"
	"atlas/scripts/benchmark/mix"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
	"atlas/search/query"
)

// request returns a POST request with the workspace's key.
func request(server *rig.Server, key, path, body string) *load.Request {
	return &load.Request{Method: http.MethodPost, URL: must(url.Parse(server.Base + path)), Body: []byte(body), Header: http.Header{
		"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"},
	}}
}

// send sends a request, which must succeed, and decodes the answer unless into is
// nil. The returned request can be sent again and must get the same answer.
func (s *serving) send(path, body string, into any) *load.Request {
	r, _ := s.timed(path, body, into)
	return r
}

// timed is send, and also returns how long the answer took.
func (s *serving) timed(path, body string, into any) (*load.Request, time.Duration) {
	r := request(s.server, s.key, path, body)
	began := time.Now()
	answer, err := s.client.Do(s.ctx, r, nil)
	took := time.Since(began)
	check(err)
	r.Expect(answer)
	if into != nil {
		check(json.Unmarshal(answer, into))
	}
	return r, took
}

// page is the part of a search's answer that the benchmark uses. For a View the
// records are in a member of its data.
type page struct {
	Data     rows
	Metadata struct {
		SearchAfter string `json:"search_after"`
	}
}

// rows are the ids of a page.
type rows []string

// UnmarshalJSON implements json.Unmarshaler.
func (r *rows) UnmarshalJSON(raw []byte) error {
	type record struct{ ID string }
	var view struct{ Records []record }
	err := json.Unmarshal(raw, &view.Records)
	if err != nil {
		err = json.Unmarshal(raw, &view)
	}
	for _, one := range view.Records {
		*r = append(*r, one.ID)
	}
	return err
}

// pageSize is the number of records on a measured page.
const pageSize = 25

// search runs a search. Its page must have this many records; 0 means any number.
func (s *serving) search(path string, body map[string]any, records int) (*load.Request, page) {
	var p page
	raw := string(must(json.Marshal(body)))
	r := s.send(path, raw, &p)
	if records > 0 && len(p.Data) != records {
		failf("%s answered %d of %d records to %s", path, len(p.Data), records, raw)
	}
	return r, p
}

// next adds a cursor, unless empty, to a copy of a body.
func next(body map[string]any, limit int, cursor string) map[string]any {
	more := map[string]any{"limit": limit}
	for name, value := range body {
		more[name] = value
	}
	if cursor != "" {
		more["search_after"] = cursor
	}
	return more
}

// batchSize is the maximum number of items in a batch.
const batchSize = 100

// sendBatch sends items as one batch, each of which must succeed.
func (s *serving) sendBatch(ctx context.Context, path string, items []string) (time.Duration, error) {
	r := request(s.server, s.key, path, `{"inputs":[`+strings.Join(items, ",")+`]}`)
	began := time.Now()
	raw, err := s.client.Do(ctx, r, nil)
	took := time.Since(began)
	var answer struct{ Metadata struct{ Succeeded int } }
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err == nil && answer.Metadata.Succeeded != len(items) {
		err = fmt.Errorf("%s: %d of %d items succeeded", path, answer.Metadata.Succeeded, len(items))
	}
	return took, err
}

// fillers is the number of concurrent batches while a book or View is filled.
const fillers = 4

// sendAll sends items in batches. It returns how many seconds that took, and how
// many more passed until all were projected.
func (s *serving) sendAll(path string, items []string) (filled, projected float64) {
	began := time.Now()
	group, ctx := errgroup.WithContext(s.ctx)
	group.SetLimit(fillers)
	for batch := range slices.Chunk(items, batchSize) {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { _, err := s.sendBatch(ctx, path, batch); return err })
	}
	check(group.Wait())
	filled = time.Since(began).Seconds()
	began = time.Now()
	s.projected()
	return filled, time.Since(began).Seconds()
}

// projectedWithin bounds the wait for projection.
const projectedWithin = 20 * time.Minute

// projected waits until no held record of any workspace is pending.
func (s *serving) projected() {
	s.await(projectedWithin, "no held record is pending", func() error {
		n, err := s.Number(s.ctx, `SELECT count(*) FROM held_records WHERE projected_version IS DISTINCT FROM version`)
		if err == nil && n > 0 {
			time.Sleep(200 * time.Millisecond)
			err = fmt.Errorf("%d are", n)
		}
		return err
	})
}

// recordIDs pages through a dataset and returns at most this many ids.
func (s *serving) recordIDs(d catalog.Dataset, most int) (ids []string) {
	path := mix.Search{Dataset: d}.Path()
	for cursor := ""; len(ids) < most; {
		_, p := s.search(path, next(nil, query.MaxLimit, cursor), 0)
		ids = append(ids, p.Data...)
		if cursor = p.Metadata.SearchAfter; cursor == "" {
			break
		}
	}
	return ids[:min(len(ids), most)]
}

// spaced returns n of the ids, at equal distances.
func spaced(ids []string, n int) []string {
	some := make([]string, n)
	for i := range some {
		some[i] = ids[i*len(ids)/n]
	}
	return some
}

// order is a dataset and a sort of it.
type order struct {
	dataset catalog.Dataset
	field   string
	desc    bool
}

func (o order) direction() string {
	if o.desc {
		return "desc"
	}
	return "asc"
}

// walk pages through an order. It returns the requests for the given pages, which
// must ascend, and the ids of the last one. All pages must be full.
func (s *serving) walk(o order, pages []int, limit int) (requests []*load.Request, last []string) {
	path, body := mix.Search{Dataset: o.dataset}.Path(), map[string]any{"sort": map[string]any{"field": o.field, "order": o.direction()}}
	cursor, seen := "", 0
	for _, n := range pages {
		for before := (n - 1) * limit; seen < before; {
			many := min(before-seen, query.MaxLimit)
			_, p := s.search(path, next(body, many, cursor), many)
			seen, cursor = seen+many, p.Metadata.SearchAfter
		}
		r, p := s.search(path, next(body, limit, cursor), limit)
		requests, last = append(requests, r), p.Data
	}
	return requests, last
}
