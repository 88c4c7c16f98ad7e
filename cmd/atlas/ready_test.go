package main

import (
	"errors"
	"net/http"
	"testing"

	"atlas/cmd/internal/server"
	"atlas/internal/devstack/backends"
	"atlas/internal/elastic/elastictest"
	"atlas/mappings"
	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// Records that a version with other fields loaded are not served: searches of a missing
// field fail or find nothing.
func TestReadyWithTheRightFieldsOnly(t *testing.T) {
	t.Parallel()
	x := searchtest.NewIndices(t, backends.Elasticsearch(t), mappings.Settings{})
	if err := server.IndicesReady(t.Context(), x.Client, x.Names); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"_meta":{"version":"of before"}}`, `{"_meta":{}}`} {
		_, err := x.Client.Do(t.Context(), elastictest.Request{
			Method: http.MethodPut, Path: "/" + x.Names.Alias(string(catalog.Signals)) + "/_mapping", Body: []byte(body),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.IndicesReady(t.Context(), x.Client, x.Names); !errors.Is(err, server.ErrOtherVersion) {
			t.Errorf("with %s: %v", body, err)
		}
	}
}
