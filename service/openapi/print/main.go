// Command openapi prints the OpenAPI document, for the types of the Explorer.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"atlas/service/api"
	"atlas/service/endpoint"
)

func main() {
	w := httptest.NewRecorder()
	s := &api.Server{Core: endpoint.Core{Log: slog.New(slog.DiscardHandler)}}
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, endpoint.Version+"/openapi.json", nil))
	if _, err := io.Copy(os.Stdout, w.Body); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
