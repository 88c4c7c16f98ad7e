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
	frequent, err := s.Search.FrequentValues(c.Context())
	if err != nil {
		return reply{}, err
	}
	found, notFound := wanted.Select(query.Descriptors(frequent))
	metadata := fieldMetadata{Total: len(found)}
	if wanted.HasKeys {
		metadata.NotFound = notFound
	}
	return reply{found, metadata}, nil
}

func (s *Server) getField(c *call) (reply, error) {
	dataset, key := c.gin.Param("dataset"), c.gin.Param("key")
	if all := query.DescriptorDatasets(); !slices.Contains(all, dataset) {
		var issues input.Issues
		issues.OutsideVocabulary([]string{"dataset"}, all)
		return reply{}, issues.Err()
	}
	frequent, err := s.Search.FrequentValues(c.Context())
	if err != nil {
		return reply{}, err
	}
	found, _ := query.FieldSearch{Dataset: dataset, Keys: []string{key}, HasKeys: true}.Select(query.Descriptors(frequent))
	if len(found) == 0 {
		return reply{}, fault.New(fault.NotFound, "%s has no field with the key %.100q", dataset, key)
	}
	return reply{found[0], creditsOnly{}}, nil
}
