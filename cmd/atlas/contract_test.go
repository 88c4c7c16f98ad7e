package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"

	"atlas/service/api"
	"atlas/service/endpoint"
	"atlas/service/openapi/conformance"
)

// contract is the OpenAPI document. Every exchange of the tests here is checked against
// it.
var contract = sync.OnceValue(func() *conformance.Document {
	w := httptest.NewRecorder()
	s := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, endpoint.Version+"/openapi.json", nil))
	d, err := conformance.Read(w.Body.Bytes())
	if err != nil {
		panic(err)
	}
	return d
})

// held returns a client whose exchanges are checked against the contract.
func (s *service) held() *http.Client {
	return &http.Client{Transport: contract().Transport(s.t, http.DefaultTransport)}
}
