package peers

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"atlas/scripts/benchmark/load"
)

// Searchkit is the API of Searchkit in a Node server, in front of the indices of
// Elasticsearch.
type Searchkit struct {
	*node
	url    *url.URL
	client load.Client
}

//go:embed searchkit
var searchkitFiles embed.FS

// StartSearchkit installs the package in the user's cache folder, once per version,
// and starts the server. The error says what
// is missing.
func StartSearchkit(ctx context.Context, e *Elasticsearch, client load.Client) (*Searchkit, error) {
	n, err := startNode(ctx, searchkitFiles, "searchkit", "server.mjs", e.URL.String(), e.Prefix)
	if err != nil {
		return nil, err
	}
	s := &Searchkit{node: n, client: client}
	port, err := n.out.ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server of Searchkit does not start: %w", err), s.Stop())
	}
	s.url, err = url.Parse("http://127.0.0.1:" + strings.TrimSpace(port))
	return s, err
}

// Call returns the request of a question, as InstantSearch sends it.
func (s *Searchkit) Call(_ context.Context, q Question) (Call, error) {
	index, params := "projects", object{"hitsPerPage": PageSize, "query": q.Words}
	costs := []string{fmt.Sprintf("cost>=%d", q.MinCost)}
	switch q.Task {
	case Text:
	case Filter:
		index += "_cost_desc"
		params["facetFilters"], params["numericFilters"] = []string{"stage:" + q.Stage, "primary_use:" + q.PrimaryUse}, costs
	case Offset:
		if q.Row+PageSize > resultWindow {
			return Call{}, ErrCannot // Elasticsearch refuses it
		}
		index, params["page"] = "signals_occurred_at_desc", q.Row/PageSize
	case Facets:
		params["hitsPerPage"], params["numericFilters"], params["facets"], params["maxValuesPerFacet"] = 0, costs, FacetFields, mostValues
	default:
		return Call{}, ErrCannot
	}
	r := &load.Request{Method: http.MethodPost, URL: s.url, Header: http.Header{"Content-Type": {"application/json"}},
		Body: encode([]object{{"indexName": index, "params": params}})}
	return Call{
		Send: func(ctx context.Context, buf []byte) ([]byte, error) { return s.client.Do(ctx, r, buf) },
		Read: readSearchkit,
	}, nil
}

func readSearchkit(raw []byte) (a Answer, err error) {
	var answer struct {
		Results []struct {
			Hits   []struct{ ObjectID string }
			NbHits int
			Facets map[string]map[string]int
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return a, err
	}
	if len(answer.Results) != 1 {
		return a, fmt.Errorf("searchkit answered %.300s", raw)
	}
	r := answer.Results[0]
	a.Total, a.Facets = min(TotalCap, r.NbHits), r.Facets
	for _, h := range r.Hits {
		a.IDs = append(a.IDs, h.ObjectID)
	}
	return a, nil
}

// SearchkitVersion names the packages.
func SearchkitVersion() string {
	raw, err := searchkitFiles.ReadFile("searchkit/package.json")
	if err != nil {
		panic(err) // it is a part of this program
	}
	var p struct{ Dependencies map[string]string }
	if err := json.Unmarshal(raw, &p); err != nil {
		panic(err)
	}
	return "@searchkit/api " + p.Dependencies["@searchkit/api"] + " with searchkit " + p.Dependencies["searchkit"]
}
