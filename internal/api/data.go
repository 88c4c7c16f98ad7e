package api

import (
	"context"
	"slices"
	"strings"

	"atlas/internal/fault"
	"atlas/search/query"
)

func (s *Server) searchData(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		body, err := c.body()
		if err != nil {
			return reply{}, err
		}
		q, err := query.Parse(body, d, query.Base{Kind: query.Data})
		if err != nil {
			return reply{}, err
		}
		return c.metered(q.Limit, func(ctx context.Context) (reply, int, error) {
			p, err := s.Search.Search(ctx, q)
			return reply{records(p.Records), metadataOf(q, p.Total, p.Capped, p.Next, len(p.Records))}, len(p.Records), err
		})
	}
}

func (s *Server) getData(d query.Dataset) handler {
	return func(c *call) (reply, error) {
		id, err := c.pathID("id")
		if err != nil {
			return reply{}, err
		}
		includes, err := c.includes(d)
		if err != nil {
			return reply{}, err
		}
		return c.metered(1, func(ctx context.Context) (reply, int, error) {
			record, err := s.Search.Get(ctx, d, id.String(), includes)
			return reply{record, creditsOnly{1}}, 1, err
		})
	}
}

// includes reads the comma-separated keys of `include`, each once.
func (c *call) includes(d query.Dataset) ([]query.Include, error) {
	text, _, err := c.param("include")
	if err != nil || text == "" {
		return nil, err
	}
	known := query.Includes(d)
	var includes []query.Include
	for key := range strings.SplitSeq(text, ",") {
		key = strings.TrimSpace(key)
		i := slices.IndexFunc(known, func(inc query.Include) bool { return inc.Key == key })
		if i < 0 {
			var keys []string
			for _, inc := range known {
				keys = append(keys, inc.Key)
			}
			return nil, fault.New(fault.BadRequest, "%s cannot include %.100q; known: %s", d, key, strings.Join(keys, ", "))
		}
		if !slices.Contains(includes, known[i]) {
			includes = append(includes, known[i])
		}
	}
	return includes, nil
}
