package clients

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"atlas/service/api"
	"atlas/service/endpoint"
)

// openAPI is what the tests read of the OpenAPI document.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Enum       []*string
	Items      *schema
	AnyOf      []schema
	OneOf      []schema
	Ref        string `json:"$ref"`
	Properties map[string]schema
}

var document = func() func(*testing.T) openAPI {
	read := sync.OnceValues(func() (d openAPI, err error) {
		w := httptest.NewRecorder()
		s := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, endpoint.Version+"/openapi.json", nil))
		return d, json.NewDecoder(w.Body).Decode(&d)
	})
	return func(t *testing.T) openAPI {
		t.Helper()
		d, err := read()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}()

// values are the strings that a schema allows.
func (s schema) values(t *testing.T) (values []string) {
	t.Helper()
	switch {
	case s.Ref != "":
		return document(t).Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]].values(t)
	case s.Items != nil:
		return s.Items.values(t)
	}
	for _, v := range s.Enum {
		if v != nil {
			values = append(values, *v)
		}
	}
	for _, part := range append(s.AnyOf, s.OneOf...) {
		values = append(values, part.values(t)...)
	}
	return values
}
