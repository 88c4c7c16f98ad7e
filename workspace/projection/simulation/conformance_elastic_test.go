package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
	"atlas/internal/elastic/elastictest"
	"atlas/search/searchtest"
)

// searchCluster is Elasticsearch or its model.
type searchCluster struct {
	*elastic.Client
	prefix string
	// visible lists the documents that a search of an index sees: ids with versions.
	visible func(t *testing.T, index string) []string
	flush   func(t *testing.T, index string)
	// uuids are the ids of indices in the order of their first appearance.
	uuids []string
}

// The model of Elasticsearch behaves like Elasticsearch: the same calls, chosen by a
// seed, have the same results.
func TestElasticsearchConforms(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			real, model := realCluster(t), modelCluster(t)
			var ran []string
			for n := range 100 {
				choices := func() *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) } // #nosec G115 G404 -- to be repeated
				want, got := real.step(t, choices()), model.step(t, choices())
				ran = append(ran, want)
				if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Fatalf("after\n%s\n(-Elasticsearch +model):\n%s", strings.Join(ran, "\n"), diff)
				}
			}
		})
	}
}

func realCluster(t *testing.T) *searchCluster {
	t.Helper()
	c := &searchCluster{Client: searchtest.NewClient(t, backends.Elasticsearch(t)), prefix: "test-" + uuid.NewString() + "-"}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		left, err := c.Indices(ctx, c.prefix+"*")
		if err == nil {
			err = c.DeleteIndices(ctx, slices.Collect(maps.Keys(left))...)
		}
		if err != nil {
			t.Error(err)
		}
	})
	c.visible = func(t *testing.T, index string) (list []string) {
		t.Helper()
		res, err := c.Do(t.Context(), elastictest.Request{
			Method: http.MethodPost, Path: "/" + index + "/_search", Body: []byte(`{"size":100,"version":true}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Hits struct {
				Hits []struct {
					ID      string `json:"_id"`
					Version int64  `json:"_version"`
				} `json:"hits"`
			} `json:"hits"`
		}
		if err := json.Unmarshal(res.Body, &answer); err != nil {
			t.Fatal(err)
		}
		for _, hit := range answer.Hits.Hits {
			list = append(list, fmt.Sprintf("%s@%d", hit.ID, hit.Version))
		}
		slices.Sort(list)
		return list
	}
	c.flush = func(t *testing.T, index string) {
		t.Helper()
		if _, err := c.Do(
			t.Context(), elastictest.Request{Method: http.MethodPost, Path: "/" + index + "/_flush"}, elastic.OrMissing,
		); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func modelCluster(t *testing.T) *searchCluster {
	t.Helper()
	model := newCluster(time.Now, func() time.Duration { return time.Hour })
	client, err := elastic.New(elastic.Config{
		Addresses: []string{"http://model:9200"},
		Transport: &transport{link: &link{name: "case"}, cluster: model, name: func(name string) string { return name }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &searchCluster{
		Client: client, prefix: "test-",
		visible: func(t *testing.T, index string) (list []string) {
			t.Helper()
			for id, doc := range model.indices[index].visible {
				list = append(list, fmt.Sprintf("%s@%d", id, doc.version))
			}
			slices.Sort(list)
			return list
		},
		flush: func(_ *testing.T, index string) {
			if i := model.indices[index]; i != nil {
				i.forgetDeletes()
			}
		},
	}
}

// step makes a call chosen by r and returns its result.
func (c *searchCluster) step(t *testing.T, r *rand.Rand) string {
	t.Helper()
	ctx := t.Context()
	index := func() string { return c.prefix + fmt.Sprint("index-", r.IntN(3)) }
	alias := func() string { return c.prefix + fmt.Sprint("alias-", r.IntN(2)) }
	switch n := r.IntN(20); {
	case n < 2:
		write := alias()
		body := fmt.Sprintf(`{"settings":{"index":{"refresh_interval":"-1","number_of_replicas":0}},"aliases":{%q:{}},
			"mappings":{"properties":{"held":{"properties":{"version":{"type":"long"}}}}}}`, write)
		return "create" + c.failed(c.CreateIndex(ctx, index(), []byte(body)))
	case n < 3:
		return "delete" + c.failed(c.DeleteIndices(ctx, index(), c.prefix+"not-there"))
	case n < 5:
		changes := []elastic.AliasChange{{Index: index(), Alias: alias()}, {Index: index(), Alias: alias(), Remove: r.IntN(2) == 0}}
		return "aliases" + c.failed(c.ChangeAliases(ctx, changes))
	case n < 6:
		gone := index()
		c.flush(t, gone)
		return "flush"
	case n < 13:
		return c.bulk(ctx, alias(), r)
	case n < 15:
		of := index()
		if r.IntN(2) == 0 {
			of = c.prefix + "*"
		}
		return "refresh" + c.failed(c.Refresh(ctx, of))
	default:
		return c.describe(t, index())
	}
}

func (c *searchCluster) bulk(ctx context.Context, alias string, r *rand.Rand) string {
	var batch elastic.Batch
	for range 1 + r.IntN(3) {
		id, version := fmt.Sprint("document-", r.IntN(2)), int64(1+r.IntN(8))
		if r.IntN(4) == 0 {
			batch.DeleteAt(id, "routing", version)
		} else {
			batch.IndexAt(id, "routing", version, fmt.Appendf(nil, `{"held":{"version":%d}}`, version))
		}
	}
	refused, err := c.Bulk(ctx, alias, &batch, elastic.Retry{For: time.Second})
	slices.SortFunc(refused, func(a, b elastic.Refusal) int { return a.Position - b.Position })
	var b strings.Builder
	for _, no := range refused {
		fmt.Fprint(&b, " ", no.Position, " ", no.Status, " ", no.Type)
	}
	return "bulk" + c.failed(err) + b.String()
}

// describe lists the indices and the documents that searches of one see.
func (c *searchCluster) describe(t *testing.T, index string) string {
	t.Helper()
	indices, err := c.Indices(t.Context(), c.prefix+"index-*", c.prefix+"not-there")
	var b strings.Builder
	b.WriteString("look" + c.failed(err))
	for _, name := range slices.Sorted(maps.Keys(indices)) {
		i := indices[name]
		if !slices.Contains(c.uuids, i.UUID) {
			c.uuids = append(c.uuids, i.UUID)
		}
		fmt.Fprintf(
			&b, "\n%s %d %v", strings.TrimPrefix(name, c.prefix), slices.Index(c.uuids, i.UUID),
			strings.ReplaceAll(fmt.Sprint(i.Aliases), c.prefix, ""),
		)
	}
	if _, there := indices[index]; !there {
		return b.String()
	}
	res, err := c.Do(t.Context(), elastictest.Request{
		Method: http.MethodPost, Path: "/" + index + "/_search", Query: url.Values{"filter_path": {"hits.hits.sort"}},
		Body: []byte(`{"size":1,"track_total_hits":false,"_source":false,"sort":[{"held.version":{"order":"desc","missing":"_last"}}]}`),
	})
	fmt.Fprintf(
		&b, "\n%v highest%s %s", c.visible(t, index), c.failed(err),
		strings.Replace(string(res.Body), `{"hits":{"hits":[]}}`, "{}", 1),
	)
	return b.String()
}

// failed is the status and type of an error.
func (c *searchCluster) failed(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*elastic.Error](err); ok {
		return fmt.Sprint(" ", e.Status, " ", e.Type)
	}
	return " " + err.Error()
}
