package elastic_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/devstack/backends"
	"atlas/internal/elastic"
)

// Requests shrink to a size that Elasticsearch accepts, whether it is busy or strict,
// nothing is lost on the way, and they grow back if it was only busy.
func TestPace(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"busy": http.StatusTooManyRequests, "strict": http.StatusRequestEntityTooLarge} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := client(t, backends.Elasticsearch(t))
			index, alias := index(t, direct)
			var most, largest atomic.Int64
			most.Store(150 << 10)
			c := client(t, flaky(t, func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
				if int64(len(body)) > most.Load() {
					w.Header().Set("X-Elastic-Product", "Elasticsearch")
					w.WriteHeader(status)
					return true
				}
				largest.Store(max(largest.Load(), int64(len(body))))
				return false
			}, nil))
			retry := quick
			retry.Pace = elastic.NewPace(1 << 20)
			sent := 0
			send := func() {
				t.Helper()
				b := &elastic.Batch{}
				for b.Size() < 1<<20 {
					b.Index(fmt.Sprint("id", sent), []byte(`{"pad":"`+strings.Repeat("x", 4<<10)+`"}`))
					sent++
				}
				if refused, err := c.Bulk(t.Context(), alias, b, retry); err != nil || len(refused) > 0 {
					t.Fatal(refused, err)
				}
			}
			send()
			if size := retry.Pace.Size(); size > 1<<19 || size < 60<<10 {
				t.Errorf("the size is %d", size)
			}
			most.Store(2 << 20)
			for range 6 {
				send()
			}
			switch grown := retry.Pace.Size(); {
			case status == http.StatusTooManyRequests && grown <= 1<<19:
				t.Errorf("the size is %d and did not grow back", grown)
			case status == http.StatusRequestEntityTooLarge && grown > 160<<10:
				t.Errorf("the size is %d, which was refused", grown)
			}
			if largest.Load() < 60<<10 {
				t.Errorf("the largest request had %d bytes", largest.Load())
			}
			wantCount(t, direct, index, int64(sent))
		})
	}
}

// Pauses are a random part of twice the one before.
func TestPausesAreJittered(t *testing.T) {
	t.Parallel()
	var pauses []time.Duration
	retry := elastic.Retry{
		For: time.Minute, First: time.Microsecond, Max: 64 * time.Microsecond,
		Notify: func(_ error, pause time.Duration) { pauses = append(pauses, pause) },
	}
	tries := 0
	err := retry.Do(t.Context(), func(context.Context) error {
		if tries++; tries > 200 {
			return nil
		}
		return &elastic.Error{Status: http.StatusServiceUnavailable}
	})
	if err != nil {
		t.Fatal(err)
	}
	most, short := time.Microsecond, 0
	for i, pause := range pauses {
		if pause <= 0 || pause > most {
			t.Errorf("pause %d is %v, more than %v", i, pause, most)
		}
		if pause < most/4 {
			short++
		}
		most = min(2*most, 64*time.Microsecond)
	}
	if short < 20 || short > 100 { // a quarter of 200
		t.Errorf("%d of 200 pauses are short", short)
	}
}
