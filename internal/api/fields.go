package api

import (
	"slices"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
)

// fieldMetadata is the metadata of a field search. NotFound is there only when
// keys were asked for.
type fieldMetadata struct {
	Total    int      `json:"total"`
	Credits  int64    `json:"credits"`
	NotFound []string `json:"not_found,omitzero"`
}

func (s *Server) searchFields(c *call) (reply, error) {
	body, err := c.body()
	if err != nil {
		return reply{}, err
	}
	wanted, err := query.ParseFieldSearch(body)
	if err != nil {
		return reply{}, err
	}
	found, notFound, err := s.selectFields(c, wanted)
	if err != nil {
		return reply{}, err
	}
	metadata := fieldMetadata{Total: len(found)}
	if wanted.HasKeys {
		metadata.NotFound = notFound
	}
	return reply{found, metadata}, nil
}

// selectFields asks Elasticsearch only where a descriptor lists values that the
// dataset has, so that it being away stops none of the others.
func (s *Server) selectFields(c *call, wanted query.FieldSearch) (found []query.Descriptor, notFound []string, err error) {
	found, notFound = wanted.Select(query.Descriptors(nil))
	if slices.ContainsFunc(found, query.Descriptor.Open) {
		frequent, err := s.Search.FrequentValues(c.Context())
		if err != nil {
			return nil, nil, err
		}
		found, notFound = wanted.Select(query.Descriptors(frequent))
	}
	return found, notFound, nil
}

func (s *Server) getField(c *call) (reply, error) {
	dataset, key := c.gin.Param("dataset"), c.gin.Param("key")
	if all := query.DescriptorDatasets(); !slices.Contains(all, dataset) {
		var issues input.Issues
		issues.OutsideVocabulary([]string{"dataset"}, all)
		return reply{}, issues.Err()
	}
	found, _, err := s.selectFields(c, query.FieldSearch{Dataset: dataset, Keys: []string{key}, HasKeys: true})
	if err != nil {
		return reply{}, err
	}
	if len(found) == 0 {
		return reply{}, fault.New(fault.NotFound, "%s has no field with the key %.100q", dataset, key)
	}
	return reply{found[0], creditsOnly{}}, nil
}
