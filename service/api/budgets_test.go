package api

import (
	"testing"

	"atlas/service/endpoint"
)

func TestEveryRouteHasItsBudget(t *testing.T) {
	t.Parallel()
	for _, r := range (&Server{}).Routes() {
		if b := r.Budget; b.Places < 1 || b.Places > endpoint.PlacesSearch || b.Heap < 1 {
			t.Errorf("%s: %+v", r.Operation, b)
		}
	}
}
