package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"atlas/service/endpoint"
)

// A search makes no more allocations than before: 342, and with the race detector, which
// drops pooled objects at random, up to 361. That includes the clients of Elasticsearch and
// Redis. The test is not parallel, because all allocations count.
func TestAllocationsOfASearch(t *testing.T) {
	const most = 365
	w, key := gets(t, 1_000_000)
	handler := w.server.Handler()
	body := `{"filters":{"created_at":{"value":["2001-01-01",null]}},"sort":{"field":"created_at","order":"desc"},"limit":20}`
	search := func() {
		r := httptest.NewRequest(http.MethodPost, endpoint.Version+"/data/projects/search", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code != http.StatusOK {
			t.Fatal(answer.Body)
		}
	}
	search()
	if n := testing.AllocsPerRun(200, search); n > most {
		t.Errorf("%.0f allocations, at most %d", n, most)
	} else {
		t.Logf("%.0f allocations", n)
	}
}
