package elastic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// CreateIndex creates an index from a body with settings, mappings, aliases.
func (c *Client) CreateIndex(ctx context.Context, index string, body []byte) error {
	_, err := c.Do(ctx, esapi.IndicesCreateRequest{Index: index, Body: bytes.NewReader(body)})
	return err
}

// EnsureIndex is CreateIndex where the index may be there already.
func (c *Client) EnsureIndex(ctx context.Context, index string, body []byte) error {
	err := c.CreateIndex(ctx, index, body)
	if e, ok := errors.AsType[*Error](err); ok && e.Type == "resource_already_exists_exception" {
		return nil
	}
	return err
}

// DeleteIndices deletes indices by their full names; missing ones are not an error.
func (c *Client) DeleteIndices(ctx context.Context, indices ...string) error {
	if len(indices) == 0 {
		return nil
	}
	_, err := c.Do(
		ctx,
		esapi.IndicesDeleteRequest{Index: indices, IgnoreUnavailable: esapi.BoolPtr(true), ExpandWildcards: "none"},
		OrMissing,
	)
	return err
}

// PutIndexSettings changes dynamic settings of indices, named as under `index`.
func (c *Client) PutIndexSettings(ctx context.Context, settings map[string]any, indices ...string) error {
	body, err := json.Marshal(map[string]any{"index": settings})
	if err != nil {
		return err
	}
	_, err = c.Do(ctx, esapi.IndicesPutSettingsRequest{Index: indices, Body: bytes.NewReader(body)})
	return err
}

// refreshTimeout bounds a refresh: after a load it covers the whole index.
const refreshTimeout = 2 * time.Minute

// Refresh makes everything that was written to the indices searchable. A shard
// that fails is an error.
func (c *Client) Refresh(ctx context.Context, indices ...string) error {
	res, err := c.Do(ctx, esapi.IndicesRefreshRequest{Index: indices}, Within(refreshTimeout))
	if err != nil {
		return err
	}
	return checkShards(res.Body)
}

// MergeSegments lets the segments of every shard of an index be merged to at most this
// number, in the background.
func (c *Client) MergeSegments(ctx context.Context, index string, most int) error {
	_, err := c.Do(
		ctx,
		esapi.IndicesForcemergeRequest{Index: []string{index}, MaxNumSegments: &most, WaitForCompletion: esapi.BoolPtr(false)},
	)
	return err
}

// ExpungeDeletes lets every segment with deleted documents be rewritten without them, in
// the background.
func (c *Client) ExpungeDeletes(ctx context.Context, index string) error {
	// By default segments with few deleted documents are not rewritten.
	if err := c.PutIndexSettings(ctx, map[string]any{"merge.policy.expunge_deletes_allowed": "0"}, index); err != nil {
		return err
	}
	_, err := c.Do(
		ctx,
		esapi.IndicesForcemergeRequest{Index: []string{index}, OnlyExpungeDeletes: esapi.BoolPtr(true), WaitForCompletion: esapi.BoolPtr(false)},
	)
	return err
}

// Count returns how many documents an index or alias has, as of its last
// refresh. A shard that fails is an error, never a smaller count.
func (c *Client) Count(ctx context.Context, index string) (int64, error) {
	return c.CountOf(ctx, index, map[string]any{"match_all": map[string]any{}})
}

// CountOf is Count of the documents that a query finds.
func (c *Client) CountOf(ctx context.Context, index string, query map[string]any) (int64, error) {
	body, err := json.Marshal(map[string]any{"query": query}, json.Deterministic(true))
	if err != nil {
		return 0, err
	}
	res, err := c.Do(ctx, esapi.CountRequest{Index: []string{index}, Body: bytes.NewReader(body)})
	if err != nil {
		return 0, err
	}
	if err := checkShards(res.Body); err != nil {
		return 0, err
	}
	var answer struct {
		Count int64 `json:"count"`
	}
	return answer.Count, json.Unmarshal(res.Body, &answer)
}

// checkShards returns a transient error when shards failed.
func checkShards(body []byte) error {
	var answer struct {
		Shards struct {
			Total  int `json:"total"`
			Failed int `json:"failed"`
		} `json:"_shards"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("elasticsearch: %w", err)
	}
	if answer.Shards.Failed > 0 {
		return &Error{http.StatusServiceUnavailable, "partial_shards",
			fmt.Sprintf("%d of %d shards failed", answer.Shards.Failed, answer.Shards.Total)}
	}
	return nil
}

// Index identifies an index.
type Index struct {
	// UUID is Elasticsearch's own id. An index that was deleted and recreated, or restored,
	// under the same name has another one.
	UUID string
	// Aliases are sorted.
	Aliases []string
	// Marked are those that were added with a mark.
	Marked []string
}

// Indices returns the indices whose names match one of the patterns (`*` matches
// anything), by name.
func (c *Client) Indices(ctx context.Context, patterns ...string) (map[string]Index, error) {
	res, err := c.Do(ctx, esapi.IndicesGetRequest{
		Index:             patterns,
		ExpandWildcards:   "all",
		IgnoreUnavailable: esapi.BoolPtr(true),
		FilterPath:        []string{"*.aliases", "*.settings.index.uuid"},
	}, OrMissing)
	if err != nil || res.Status == http.StatusNotFound {
		return nil, err
	}
	var answer map[string]struct {
		Aliases map[string]struct {
			WriteIndex bool `json:"is_write_index"`
		} `json:"aliases"`
		Settings struct {
			Index struct {
				UUID string `json:"uuid"`
			} `json:"index"`
		} `json:"settings"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return nil, fmt.Errorf("elasticsearch: %w", err)
	}
	indices := make(map[string]Index, len(answer))
	for name, a := range answer {
		index := Index{UUID: a.Settings.Index.UUID, Aliases: slices.Sorted(maps.Keys(a.Aliases))}
		for _, alias := range index.Aliases {
			if a.Aliases[alias].WriteIndex {
				index.Marked = append(index.Marked, alias)
			}
		}
		indices[name] = index
	}
	return indices, nil
}

// Aliases returns the indices whose names match a pattern, each with its
// aliases.
func (c *Client) Aliases(ctx context.Context, pattern string) (map[string][]string, error) {
	found, err := c.Indices(ctx, pattern)
	if err != nil || found == nil {
		return nil, err
	}
	aliases := make(map[string][]string, len(found))
	for name, index := range found {
		aliases[name] = index.Aliases
	}
	return aliases, nil
}

// AliasChange adds an alias to an index or removes it.
type AliasChange struct {
	Index, Alias string
	// Remove means that the alias is removed. It must exist.
	Remove bool
	// Mark adds the alias with a mark, which is lost if another program removes the alias
	// and adds it back. The mark is is_write_index, so an alias of one index behaves the
	// same with and without it.
	Mark bool
}

// ChangeAliases makes all changes in one step, or none.
func (c *Client) ChangeAliases(ctx context.Context, changes []AliasChange) error {
	type target struct {
		Index      string `json:"index"`
		Alias      string `json:"alias"`
		MustExist  bool   `json:"must_exist,omitzero"`
		WriteIndex bool   `json:"is_write_index,omitzero"`
	}
	actions := make([]map[string]target, 0, len(changes))
	for _, change := range changes {
		verb := "add"
		if change.Remove {
			verb = "remove"
		}
		actions = append(actions, map[string]target{verb: {change.Index, change.Alias, change.Remove, change.Mark}})
	}
	body, err := json.Marshal(map[string]any{"actions": actions})
	if err != nil {
		return err
	}
	_, err = c.Do(ctx, esapi.IndicesUpdateAliasesRequest{Body: bytes.NewReader(body)})
	return err
}

// MappingMeta is mappings._meta of an index.
type MappingMeta struct {
	Version string `json:"version"`
	Folding int    `json:"folding"`
	// Sources are what the sources of the records say about their data, nil without.
	Sources jsontext.Value `json:"sources,omitempty"`
}

// PutMappingMeta replaces mappings._meta of an index.
func (c *Client) PutMappingMeta(ctx context.Context, index string, meta MappingMeta) error {
	body, err := json.Marshal(map[string]any{"_meta": meta})
	if err != nil {
		return err
	}
	_, err = c.Do(ctx, esapi.IndicesPutMappingRequest{Index: []string{index}, Body: bytes.NewReader(body)})
	return err
}

// MappingMeta returns mappings._meta of the indices that names, aliases or patterns stand
// for, by the names of the indices.
func (c *Client) MappingMeta(ctx context.Context, names ...string) (map[string]MappingMeta, error) {
	// A property of every index is requested too, so that those without _meta are reported.
	res, err := c.Do(ctx, esapi.IndicesGetMappingRequest{Index: names, FilterPath: []string{"*.mappings._meta", "*.mappings.dynamic"}})
	if err != nil {
		return nil, err
	}
	var answer map[string]struct {
		Mappings struct {
			Meta MappingMeta `json:"_meta"`
		} `json:"mappings"`
	}
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return nil, fmt.Errorf("elasticsearch answered with no mapping: %w", err)
	}
	all := make(map[string]MappingMeta, len(answer))
	for name, index := range answer {
		all[name] = index.Mappings.Meta
	}
	return all, nil
}

// MappingVersion is mappings._meta.version of the only index of an alias; "" when it has
// none.
func (c *Client) MappingVersion(ctx context.Context, alias string) (version string, err error) {
	all, err := c.MappingMeta(ctx, alias)
	for _, meta := range all {
		version = meta.Version
	}
	return version, err
}
