package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
)

// pair is a request of a client and the one that the service makes of it.
type pair struct {
	search  search
	service *call
	direct  *call
	// records is how many the page has; cursor tells that it is not the first.
	records int
	cursor  bool
}

// Shares of requests that go on from an earlier page, in percent: so many of
// those that have a next page are followed, each by up to so many pages.
const (
	followed    = 8
	followPages = 4
)

// prepare draws so many different requests and sends each once through a
// service whose requests to Elasticsearch are recorded. A page whose ids are
// not those that Elasticsearch gave is an error.
func (i *installation) prepare(ctx context.Context, requests int, seed uint64) (pairs []*pair, err error) {
	from, err := drawSample(i.records(), i.dataset.Records, seed)
	if err != nil {
		return nil, err
	}
	err = i.recorded(ctx, func(ctx context.Context, rec *recorder, base string) error {
		p := preparer{installation: i, recorder: rec, base: base, client: newClient(1), mix: newMix(from, seed)}
		defer p.client.close()
		random := rand.New(rand.NewPCG(seed, 0x6f72646572))
		for len(p.pairs) < requests {
			if err := p.chain(ctx, random, requests); err != nil {
				return err
			}
			if n := len(p.pairs); n%500 == 0 {
				say("prepared %d of %d requests", n, requests)
			}
		}
		// A page and the next ones are not sent in a row later.
		random.Shuffle(len(p.pairs), func(i, j int) { p.pairs[i], p.pairs[j] = p.pairs[j], p.pairs[i] })
		pairs = p.pairs
		return nil
	})
	return pairs, err
}

// recorded has do its work with a service whose searches of Elasticsearch are
// recorded.
func (i *installation) recorded(ctx context.Context, do func(ctx context.Context, rec *recorder, base string) error) (err error) {
	rec, err := newRecorder(ctx, i.stack.ElasticsearchURL)
	if err != nil {
		return err
	}
	defer rec.close()
	s, err := i.serve(ctx, rec.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	return do(ctx, rec, s.base)
}

// straight are the requests of Elasticsearch that the service makes of calls,
// each of which has been made before: one for each.
func (i *installation) straight(ctx context.Context, calls []*call) (directs []*call, err error) {
	c := newClient(1)
	defer c.close()
	err = i.recorded(ctx, func(ctx context.Context, rec *recorder, base string) error {
		to, err := url.Parse(base)
		if err != nil {
			return err
		}
		for _, one := range calls {
			there := *one
			at := *one.url
			at.Host = to.Host
			there.url = &at
			rec.take()
			if _, err := c.check(ctx, &there, nil); err != nil {
				return err
			}
			direct, _, err := rec.only()
			if err != nil {
				return fmt.Errorf("%s: %w", one.body, err)
			}
			directs = append(directs, direct)
		}
		return nil
	})
	return directs, err
}

type preparer struct {
	*installation
	recorder *recorder
	base     string
	client   client
	mix      *mix
	pairs    []*pair
	buf      []byte
}

// chain prepares a new request and, sometimes, some pages after it.
func (p *preparer) chain(ctx context.Context, random *rand.Rand, most int) error {
	s := p.mix.next()
	next, err := p.one(ctx, s)
	if err != nil || random.IntN(100) >= followed {
		return err
	}
	for range 1 + random.IntN(followPages) {
		if next == "" || len(p.pairs) >= most {
			break
		}
		s.body = maps.Clone(s.body)
		delete(s.body, "offset")
		s.body["search_after"] = next
		if !p.mix.isNew(s) {
			break
		}
		if next, err = p.one(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// one sends a request, compares the answers and adds the pair. It returns the
// next page's cursor.
func (p *preparer) one(ctx context.Context, s search) (next string, err error) {
	service, err := p.serviceCall(p.base, s.path(), s.encode())
	if err != nil {
		return "", err
	}
	p.recorder.take()
	answer, status, err := p.client.do(ctx, service, p.buf)
	if err != nil {
		return "", err
	}
	p.buf = answer
	if status != http.StatusOK {
		return "", fmt.Errorf("%s answered %d to %s: %.1000s", s.path(), status, service.body, answer)
	}
	service.expect(answer)
	direct, told, err := p.recorder.only()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", s.path(), service.body, err)
	}
	page, err := readPage(answer)
	if err != nil {
		return "", err
	}
	hits, err := readHits(told)
	if err != nil {
		return "", err
	}
	if want := hits[:min(len(hits), s.limit())]; !slices.Equal(page.ids(), want) {
		return "", fmt.Errorf("%s %s: the service answered %v, Elasticsearch %v", s.path(), service.body, page.ids(), want)
	}
	_, cursor := s.body["search_after"]
	p.pairs = append(p.pairs, &pair{search: s, service: service, direct: direct, records: len(page.Data), cursor: cursor})
	return page.Metadata.SearchAfter, nil
}

// serviceCall is a POST with the workspace's key.
func (i *installation) serviceCall(base, path string, body []byte) (*call, error) {
	u, err := url.Parse(base + path)
	if err != nil {
		return nil, err
	}
	return &call{method: http.MethodPost, url: u, body: body, header: http.Header{
		"Authorization": {"Bearer " + i.key}, "Content-Type": {"application/json"},
	}}, nil
}

// page is what of a search's answer is looked at.
type page struct {
	Data []struct {
		ID string `json:"id"`
	} `json:"data"`
	Metadata struct {
		SearchAfter string `json:"search_after"`
	} `json:"metadata"`
}

func readPage(answer []byte) (p page, err error) {
	if err := json.Unmarshal(answer, &p); err != nil {
		return p, fmt.Errorf("the service answered no page: %w: %.300s", err, answer)
	}
	return p, nil
}

func (p page) ids() []string {
	ids := make([]string, len(p.Data))
	for i, r := range p.Data {
		ids[i] = r.ID
	}
	return ids
}

// readHits returns the ids of the records that Elasticsearch answered.
func readHits(answer []byte) ([]string, error) {
	var a struct {
		Hits struct {
			Hits []struct {
				Source struct {
					ID string `json:"id"`
				} `json:"_source"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("elasticsearch answered no hits: %w: %.300s", err, answer)
	}
	ids := make([]string, len(a.Hits.Hits))
	for i, h := range a.Hits.Hits {
		ids[i] = h.Source.ID
	}
	return ids, nil
}

// aim sends the clients' requests to another service from now on.
func aim(pairs []*pair, base string) error {
	for _, p := range pairs {
		u, err := url.Parse(base + p.search.path())
		if err != nil {
			return err
		}
		p.service.url = u
	}
	return nil
}

// requestFacts says what the requests of a run are like.
type requestFacts struct {
	Requests int `json:"requests"`
	// DifferentBodies counts the bodies that Elasticsearch gets.
	DifferentBodies int     `json:"different_elasticsearch_bodies"`
	WithQuery       int     `json:"with_query"`
	WithFilters     int     `json:"with_filters"`
	WithRelations   int     `json:"with_relations"`
	WithSort        int     `json:"with_sort"`
	WithCursor      int     `json:"with_cursor"`
	WithoutRecords  int     `json:"without_records"`
	RecordsAPage    float64 `json:"records_a_page"`
	BytesAnAnswer   float64 `json:"bytes_an_answer"`
}

func factsOf(pairs []*pair) requestFacts {
	f := requestFacts{Requests: len(pairs)}
	bodies := map[string]bool{}
	for _, p := range pairs {
		bodies[p.direct.url.Path+"\n"+string(p.direct.body)] = true
		for key, n := range map[string]*int{"query": &f.WithQuery, "filters": &f.WithFilters, "relations": &f.WithRelations, "sort": &f.WithSort} {
			if _, ok := p.search.body[key]; ok {
				*n++
			}
		}
		if p.cursor {
			f.WithCursor++
		}
		if p.records == 0 {
			f.WithoutRecords++
		}
		f.RecordsAPage += float64(p.records) / float64(len(pairs))
		f.BytesAnAnswer += float64(p.service.size) / float64(len(pairs))
	}
	f.DifferentBodies = len(bodies)
	return f
}

func (f requestFacts) String() string {
	share := func(n int) string { return fmt.Sprintf("%d %%", (100*n+f.Requests/2)/f.Requests) }
	return fmt.Sprintf("%d different requests: %s with a query, %s with filters, %s with relations, %s with a sort, %s further pages by cursor, %s without a match; %.0f records and %.1f KiB an answer",
		f.Requests, share(f.WithQuery), share(f.WithFilters), share(f.WithRelations), share(f.WithSort), share(f.WithCursor), share(f.WithoutRecords),
		f.RecordsAPage, f.BytesAnAnswer/1024)
}
