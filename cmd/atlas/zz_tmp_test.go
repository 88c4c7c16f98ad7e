package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"atlas/search/query"
)

func TestZZ(t *testing.T) {
	s := start(t, 0)
	ids := s.search(query.Accounts, `{"limit":100}`).ids(t)
	measure := func(name string, n int, f func(i int)) {
		var took []time.Duration
		for i := range n {
			b := time.Now()
			f(i)
			took = append(took, time.Since(b))
		}
		slices.Sort(took)
		fmt.Println(name, "p50", took[n/2], "p99", took[n*99/100])
	}
	measure("single", 400, func(i int) {
		if a := s.call("POST", "/workspace/accounts/upsert", s.key, fmt.Sprintf(`{"account_id":%q,"notes":"n%d"}`, ids[i%100], i)); a.status != 200 {
			t.Fatal(string(a.raw))
		}
	})
	measure("batch", 40, func(i int) {
		var in []string
		for _, id := range ids {
			in = append(in, fmt.Sprintf(`{"account_id":%q,"notes":"b%d"}`, id, i))
		}
		if a := s.call("POST", "/workspace/accounts/upsert/batch", s.key, `{"inputs":[`+strings.Join(in, ",")+`]}`); a.status != 200 {
			t.Fatal(string(a.raw))
		}
	})
	measure("search after write", 60, func(i int) {
		s.call("POST", "/workspace/accounts/upsert", s.key, fmt.Sprintf(`{"account_id":%q,"notes":"n%d"}`, ids[i%100], i))
		if a := s.call("POST", "/workspace/accounts/search", s.key, `{"limit":10}`); a.status != 200 {
			t.Fatal(string(a.raw))
		}
	})
	time.Sleep(4 * time.Second)
	measure("search", 200, func(i int) {
		if a := s.call("POST", "/workspace/accounts/search", s.key, `{"limit":10}`); a.status != 200 {
			t.Fatal(string(a.raw))
		}
	})
	measure("get", 200, func(i int) { s.call("GET", "/workspace/accounts/"+ids[i%100], s.key, "") })
	measure("data get", 200, func(i int) { s.call("GET", "/data/accounts/"+ids[i%100], s.key, "") })
}
