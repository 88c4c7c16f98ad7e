package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// transport answers the requests of an elastic.Client from a cluster.
type transport struct {
	link    *link
	cluster *cluster
	// name replaces random index names for histories.
	name func(string) string
}

type reply struct {
	status int
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close() // reads from memory
	}
	method, path := req.Method, strings.TrimPrefix(req.URL.Path, "/")
	r, err := do(req.Context(), t.link, toElasticsearch, t.describe(method, path, body), func() (reply, error) {
		status, answer, err := t.cluster.serve(method, path, body)
		if failed, ok := errors.AsType[*elasticError](err); ok {
			status, answer = failed.status, errorBody(failed)
		} else if err != nil {
			return reply{}, err
		}
		encoded, err := json.Marshal(answer)
		return reply{status, encoded}, err
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(r.status), StatusCode: r.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header:        http.Header{"X-Elastic-Product": {"Elasticsearch"}, "Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(r.body)),
		ContentLength: int64(len(r.body)),
	}, nil
}

type object = map[string]any

func errorBody(f *elasticError) object {
	cause := object{"type": f.kind, "reason": f.reason}
	return object{"status": f.status, "error": object{"type": f.kind, "reason": f.reason, "root_cause": []object{cause}}}
}

// serve executes a request.
func (c *cluster) serve(method, path string, body []byte) (status int, answer any, err error) {
	target, api, _ := strings.Cut(path, "/")
	switch {
	case path == "_aliases" && method == http.MethodPost:
		return c.serveAliasActions(body)
	case api == "" && method == http.MethodGet:
		return c.serveIndices(target)
	case api == "_bulk" && method == http.MethodPost:
		return c.serveBulk(target, body)
	case api == "_refresh" && method == http.MethodPost:
		list, err := c.resolve(target, false)
		if err != nil {
			return 0, nil, err
		}
		for _, i := range list {
			i.refresh()
		}
		return http.StatusOK, object{"_shards": object{"total": len(list), "successful": len(list), "failed": 0}}, nil
	case api == "_search" && method == http.MethodPost && bytes.Contains(body, []byte(`"sort":[{"held.version"`)):
		return c.serveHighest(target)
	case api == "" && method == http.MethodPut:
		var index struct {
			Aliases map[string]any `json:"aliases"`
		}
		if err := json.Unmarshal(body, &index); err != nil {
			return 0, nil, err
		}
		return http.StatusOK, object{"acknowledged": true, "index": target}, c.create(target, slices.Collect(maps.Keys(index.Aliases)))
	case api == "" && method == http.MethodDelete:
		c.delete(target)
		return http.StatusOK, object{"acknowledged": true}, nil
	}
	return 0, nil, fmt.Errorf("the model has no %s %s", method, path)
}

func (c *cluster) serveIndices(target string) (int, any, error) {
	list, err := c.resolve(target, true)
	answer := object{}
	for _, i := range list {
		aliases := object{}
		for _, a := range i.aliases {
			aliases[a] = object{}
		}
		answer[i.name] = object{"aliases": aliases, "settings": object{"index": object{"uuid": i.uuid}}}
	}
	return http.StatusOK, answer, err
}

func (c *cluster) serveAliasActions(body []byte) (int, any, error) {
	type target struct {
		Index string `json:"index"`
		Alias string `json:"alias"`
		Must  bool   `json:"must_exist"`
	}
	var request struct {
		Actions []map[string]target `json:"actions"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return 0, nil, err
	}
	var actions []aliasAction
	for _, action := range request.Actions {
		for verb, t := range action {
			actions = append(actions, aliasAction{t.Index, t.Alias, verb == "remove", t.Must})
		}
	}
	return http.StatusOK, object{"acknowledged": true}, c.changeAliases(actions)
}

// bulkItem is an item of a `_bulk` request.
type bulkItem struct {
	ID      string `json:"_id"`
	Routing string `json:"routing"`
	Version int64  `json:"version"`
	verb    string
	source  []byte
}

func bulkItems(body []byte) (items []bulkItem, err error) {
	for lines := bytes.SplitAfter(body, []byte("\n")); len(lines) > 1; {
		var action map[string]jsontext.Value
		if err := json.Unmarshal(lines[0], &action); err != nil {
			return nil, err
		}
		var item bulkItem
		for verb, of := range action {
			if err := json.Unmarshal(of, &item); err != nil {
				return nil, err
			}
			item.verb = verb
		}
		lines = lines[1:]
		if item.verb == "index" {
			item.source = bytes.TrimSuffix(lines[0], []byte("\n"))
			lines = lines[1:]
		}
		items = append(items, item)
	}
	return items, nil
}

func (c *cluster) serveBulk(alias string, body []byte) (int, any, error) {
	items, err := bulkItems(body)
	if err != nil {
		return 0, nil, err
	}
	// A delete with an external version creates a missing index, because require_alias
	// does not apply to deletes. A request with at least one other item creates none.
	deletions := !slices.ContainsFunc(items, func(item bulkItem) bool { return item.source != nil })
	if _, there := c.indices[alias]; !there && len(c.indicesOf(alias)) == 0 && deletions && len(items) > 0 {
		if err := c.create(alias, nil); err != nil {
			return 0, nil, err
		}
	}
	answers := make([]object, len(items))
	for n, item := range items {
		status, refused := c.write(alias, item.ID, item.Routing, item.Version, item.source)
		outcome := object{"status": status}
		if refused != nil {
			outcome["error"] = object{"type": refused.kind, "reason": refused.reason}
		}
		answers[n] = object{item.verb: outcome}
	}
	return http.StatusOK, object{"items": answers}, nil
}

func (c *cluster) serveHighest(target string) (int, any, error) {
	list, err := c.resolve(target, false)
	if err != nil {
		return 0, nil, err
	}
	most := int64(0)
	for _, i := range list {
		most = max(most, c.highestVersion(i))
	}
	hits := []object{}
	if most > 0 {
		hits = append(hits, object{"sort": []int64{most}})
	}
	return http.StatusOK, object{"hits": object{"hits": hits}}, nil
}

// describe is the name of a request in a history.
func (t *transport) describe(method, path string, body []byte) string {
	target, api, _ := strings.Cut(path, "/")
	if t.link.bus == nil {
		return ""
	}
	if path == "_aliases" {
		return "POST _aliases"
	}
	names := strings.Split(target, ",")
	for i := range names {
		names[i] = t.name(names[i])
	}
	what := method + " " + strings.Join(names, ",") + " " + api
	if api != "_bulk" {
		return what
	}
	items, err := bulkItems(body)
	if err != nil {
		return what + " " + err.Error()
	}
	var b strings.Builder
	b.WriteString(what)
	for _, item := range items {
		fmt.Fprintf(&b, " %s@%d", shortID(item.ID), item.Version)
		if item.source == nil {
			b.WriteString(" gone")
		}
	}
	return b.String()
}

// shortID is the id of a held document in a history: the last byte of workspace and
// record.
func shortID(id string) string {
	in, record, ok := strings.Cut(id, ":")
	if !ok || len(in) < 2 || len(record) < 2 {
		return id
	}
	return in[len(in)-2:] + ":" + record[len(record)-2:]
}
