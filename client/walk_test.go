package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"atlas/client"
)

// numbers is a dataset of the numbers below n, by cursor or by offset.
func numbers(n int, pages *int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*pages++
		var q client.Search
		from := 0
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			from = q.Offset
			if q.SearchAfter != "" {
				from, _ = strconv.Atoi(q.SearchAfter)
			}
		} else {
			q.Limit, _ = strconv.Atoi(r.URL.Query().Get("limit"))
			from, _ = strconv.Atoi(r.URL.Query().Get("offset"))
		}
		to := min(n, from+q.Limit)
		records := []map[string]string{}
		for i := from; i < to; i++ {
			records = append(records, map[string]string{"id": strconv.Itoa(i)})
		}
		metadata := map[string]any{"limit": q.Limit, "credits": len(records), "search_after": nil}
		if to < n {
			metadata["search_after"] = strconv.Itoa(to)
		}
		var data any = records
		if r.Method == http.MethodGet {
			data = map[string]any{"members": records}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "metadata": metadata})
	}
}

func TestWalks(t *testing.T) {
	t.Parallel()
	n, pages := 0, 0
	api, _ := dial(t, func(w http.ResponseWriter, r *http.Request) { numbers(n, &pages)(w, r) })
	var all []string
	for i := range 250 {
		all = append(all, strconv.Itoa(i))
	}
	for _, n = range []int{0, 1, 2, 3, 6, 7, 12, 99, 100, 101, 200, 250} {
		for _, limit := range []int{0, 1, 3, 7} {
			for _, stop := range []int{1, 3, 7, 100, 300} {
				size := limit
				if limit == 0 {
					size = client.MaxPage
				}
				pages = 0
				var got []string
				for a, err := range api.Accounts.All(t.Context(), client.Search{Limit: limit}) {
					if err != nil {
						t.Fatal(err)
					}
					if got = append(got, a.ID); len(got) == stop {
						break
					}
				}
				if want := all[:min(n, stop)]; !slices.Equal(got, want) {
					t.Fatalf("%v, want %v", got, want)
				}
				if most := (min(n, stop) + size - 1) / size; pages != max(1, most) {
					t.Fatalf("%d pages for %d records of %d, by %d", pages, len(got), n, size)
				}
			}
		}
		members, err := client.Collect(api.Members.List(t.Context()))
		if err != nil || len(members) != n {
			t.Fatalf("%d members of %d, %v", len(members), n, err)
		}
	}
}

// A walk that fails reports it once; it can be continued from the cursor of its last page.
func TestWalkGoesOn(t *testing.T) {
	t.Parallel()
	pages, broken := 0, true
	api, _ := dial(t, func(w http.ResponseWriter, r *http.Request) {
		if pages == 2 && broken {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		numbers(10, &pages)(w, r)
	})
	var ids []string
	var failures int
	q := client.Search{Limit: 3}
	for range 2 {
		for page, err := range api.Accounts.Pages(t.Context(), q) {
			if err != nil {
				failures++
				continue
			}
			for _, a := range page.Records {
				ids = append(ids, a.ID)
			}
			q.SearchAfter = page.Next
		}
		broken = false
	}
	if failures != 1 || fmt.Sprint(ids) != "[0 1 2 3 4 5 6 7 8 9]" {
		t.Errorf("%d failures, %v", failures, ids)
	}
}

// A server that returns the same cursor repeatedly does not block a walk forever.
func TestWalkInCircles(t *testing.T) {
	t.Parallel()
	api, attempts := dial(t, answering(200, `{"data":[{"id":"1"}],"metadata":{"limit":1,"search_after":"again"}}`))
	if all, err := client.Collect(api.Accounts.All(t.Context(), client.Search{})); err == nil || len(all) != 1 || attempts.Load() != 2 {
		t.Errorf("%d records, %v", len(all), err)
	}
}
