package feed_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"atlas/indexer/feed"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/changes"
	"atlas/search/document"
)

var names = mappings.Names{Prefix: "model-"}

// victim is the call at which a process is killed, before it takes effect or, with late, after;
// never for the zero point.
type victim struct {
	kill func(error)
	late bool

	lock   sync.Mutex
	at     point
	calls  []string
	killed bool
}

// point is a call: the nth of all, or of those with a name. The first is 1.
type point struct {
	name string
	nth  int
}

func (v *victim) dead() bool {
	v.lock.Lock()
	defer v.lock.Unlock()
	return v.killed
}

// do makes a call.
func (v *victim) do(name string, call func() error) error {
	v.lock.Lock()
	was := v.killed
	v.calls = append(v.calls, name)
	if n := len(v.calls); v.at.name == "" {
		v.killed = v.killed || n == v.at.nth
	} else if v.at.name == name {
		v.at.nth--
		v.killed = v.killed || v.at.nth == 0
	}
	is := v.killed
	v.lock.Unlock()
	switch {
	case !is:
		return call()
	case !was && v.late:
		_ = call()
	}
	v.kill(errKilled)
	return errKilled
}

// statements are the calls of Postgres that change something, or begin to.
type statements struct {
	feed.Store
	*victim
}

func (s statements) FeedState(ctx context.Context) (state changes.State, err error) {
	err = s.do("FeedState", func() error { state, err = s.Store.FeedState(ctx); return err })
	return state, err
}

func (s statements) BeginChanges(ctx context.Context, writer string, origin *string, resume bool) error {
	return s.do("BeginChanges", func() error { return s.Store.BeginChanges(ctx, writer, origin, resume) })
}

func (s statements) MarkFeed(ctx context.Context, generations []string) error {
	return s.do("MarkFeed", func() error { return s.Store.MarkFeed(ctx, generations) })
}

func (s statements) AppendChanges(ctx context.Context, writer string, list []changes.Change) error {
	return s.do("AppendChanges", func() error { return s.Store.AppendChanges(ctx, writer, list) })
}

func (s statements) PreparePublication(ctx context.Context, writer string) (id uuid.UUID, err error) {
	err = s.do("PreparePublication", func() error { id, err = s.Store.PreparePublication(ctx, writer); return err })
	return id, err
}

func (s statements) Publish(ctx context.Context, writer string, id uuid.UUID) error {
	return s.do("Publish", func() error { return s.Store.Publish(ctx, writer, id) })
}

func (s statements) EndChanges(ctx context.Context, writer string) error {
	return s.do("EndChanges", func() error { return s.Store.EndChanges(ctx, writer) })
}

func (s statements) StartFeedOver(ctx context.Context, id, accepted uuid.UUID, generation string) error {
	return s.do("StartFeedOver", func() error { return s.Store.StartFeedOver(ctx, id, accepted, generation) })
}

// accounts are those of a generation. Searches see them as of the last refresh.
type accounts struct{ live, seen map[string]doc }

// cluster is a model of Elasticsearch: generations of accounts, which one is served, and
// the document of the last publication. The other datasets are empty.
type cluster struct {
	lock        sync.Mutex
	generations map[string]*accounts
	serves      string
	marked      bool // the aliases are
	stored      []byte
	seqNo       int64 // of kept
	backup      *cluster
}

func newCluster() *cluster { return &cluster{generations: map[string]*accounts{}} }

func (c *cluster) served() *accounts { return c.generations[c.serves] }

func (c *cluster) newest() string { return slices.Max(slices.Collect(maps.Keys(c.generations))) }

func (c *cluster) fill(name string, docs map[string]doc) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.generations[name] = &accounts{docs, maps.Clone(docs)}
}

func (c *cluster) serve(name string, marked bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.serves, c.marked = name, marked
}

func (c *cluster) write(list []edit) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, e := range list {
		if c.served().live[e.id] = e.is; e.is.public == "" {
			delete(c.served().live, e.id)
		}
	}
}

func (c *cluster) refresh() { c.refreshIndex(names.Alias(string(catalog.Accounts))) }

// refreshIndex refreshes an index, or the one that an alias is of.
func (c *cluster) refreshIndex(index string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for name, of := range c.generations {
		if alias := names.Alias(string(catalog.Accounts)); index == names.Generation(string(catalog.Accounts), name) ||
			index == alias && name == c.serves {
			of.seen = maps.Clone(of.live)
		}
	}
}

// visible are the public records that searches see.
func (c *cluster) visible() map[string]string {
	c.lock.Lock()
	defer c.lock.Unlock()
	all := map[string]string{}
	for id, is := range c.served().seen {
		all[id] = is.public
	}
	return all
}

func (c *cluster) clone() *cluster {
	c.lock.Lock()
	defer c.lock.Unlock()
	twin := &cluster{generations: map[string]*accounts{}, serves: c.serves, marked: c.marked, stored: c.stored, seqNo: c.seqNo}
	for name, of := range c.generations {
		twin.generations[name] = &accounts{maps.Clone(of.live), maps.Clone(of.seen)}
	}
	return twin
}

// bring restores a backup, which is used once.
func (c *cluster) bring(b *cluster) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.generations, c.serves, c.marked, c.stored, c.seqNo, c.backup = b.generations, b.serves, b.marked, b.stored, b.seqNo, nil
}

// transport answers requests from the model.
type transport struct {
	*victim
	cluster *cluster
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	var status int
	var answer any
	err := t.do(r.Method+" "+actionOf(r.URL.Path), func() error { status, answer = t.cluster.answer(r.Method, r.URL, body); return nil })
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: status, Request: r, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(bytes.NewReader(text)),
		Header: http.Header{"Content-Type": {"application/json"}, "X-Elastic-Product": {"Elasticsearch"}},
	}, err
}

// actionOf is the action of a path, whatever index it names.
func actionOf(path string) string {
	_, action, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return action
}

type object = map[string]any

func (c *cluster) answer(method string, at *url.URL, body []byte) (status int, answer any) {
	target, action, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
	if action == "_refresh" {
		c.refreshIndex(target)
		return http.StatusOK, object{"_shards": object{"total": 1, "failed": 0}}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	switch {
	case at.Path == "/_aliases":
		if !bytes.Contains(body, []byte(names.Generation(string(catalog.Accounts), c.serves)+`"`)) {
			return http.StatusNotFound, object{"error": object{"type": "aliases_not_found_exception"}}
		}
		c.marked = true
		return http.StatusOK, object{}
	case action == "_search":
		return c.search(target, body)
	case action == "_doc/last" && method == http.MethodPut:
		if is := strconv.FormatInt(c.seqNo, 10); c.stored == nil == (at.Query().Get("op_type") == "") ||
			c.stored != nil && at.Query().Get("if_seq_no") != is {
			return http.StatusConflict, object{"error": object{"type": "version_conflict_engine_exception"}}
		}
		c.stored, c.seqNo = body, c.seqNo+1
		return http.StatusOK, object{}
	case action == "_doc/last" && c.stored == nil:
		return http.StatusNotFound, object{"found": false}
	case action == "_doc/last":
		return http.StatusOK, object{"_seq_no": c.seqNo, "_primary_term": 1, "_source": json.RawMessage(c.stored)}
	case method == http.MethodPut: // the index of publications
		return http.StatusOK, object{}
	}
	indices := object{}
	for name := range c.generations {
		for _, d := range catalog.Datasets {
			if alias := names.Alias(string(d)); target == alias+"*" {
				aliases := object{}
				if name == c.serves {
					aliases[alias] = object{"is_write_index": c.marked}
				}
				indices[names.Generation(string(d), name)] = object{"aliases": aliases}
			}
		}
	}
	return http.StatusOK, indices
}

// search answers the searches of a comparison: ids from one to before another with their
// digests, or the records of ids.
func (c *cluster) search(index string, body []byte) (status int, answer any) {
	var s struct {
		Query struct {
			Range struct{ ID struct{ Gte, Lt string } }
			Terms struct{ ID []string }
		}
		Size int
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return http.StatusBadRequest, object{"error": object{"type": "parsing_exception"}}
	}
	hits := []object{}
	for name, of := range c.generations {
		if index != names.Generation(string(catalog.Accounts), name) {
			continue
		}
		for id, is := range of.seen {
			in := slices.Contains(s.Query.Terms.ID, id)
			if bounds := s.Query.Range.ID; s.Query.Terms.ID == nil {
				in = id >= bounds.Gte && id < cmp.Or(bounds.Lt, "g")
			}
			if in && len(hits) < s.Size {
				hits = append(hits, object{
					"_id": id, "_source": json.RawMessage(is.public),
					"fields": object{"id": []string{id}, document.DigestField: []int64{is.digest}},
				})
			}
		}
	}
	return http.StatusOK, object{"hits": object{"hits": hits}}
}
