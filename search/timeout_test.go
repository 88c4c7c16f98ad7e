package search

import (
	"context"
	"testing"
	"time"
)

func TestTimeout(t *testing.T) {
	t.Parallel()
	e := &Engine{Timeout: 10 * time.Second}
	if got := e.timeout(t.Context()); got != 10*time.Second {
		t.Errorf("without a deadline: %s", got)
	}
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if left := e.timeout(soon); left > 500*time.Millisecond || left < 300*time.Millisecond {
		t.Errorf("before a deadline: %v", left)
	}
	past, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	if got := e.timeout(past); got != time.Millisecond {
		t.Errorf("past a deadline: %s", got)
	}
}

func TestMultiBody(t *testing.T) {
	t.Parallel()
	got := string(multiBody(
		[]request{{index: "a", body: []byte(`{"size":1}`)}, {index: "b", routing: "w", body: []byte(`{"size":2}`)}},
		7*time.Millisecond,
	))
	want := `{"index":"a","allow_partial_search_results":false}` + "\n" + `{"timeout":"7ms","size":1}` + "\n" +
		`{"index":"b","routing":"w","allow_partial_search_results":false}` + "\n" + `{"timeout":"7ms","size":2}` + "\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
