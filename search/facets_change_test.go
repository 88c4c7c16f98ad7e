package search_test

import (
	"fmt"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/searchtest"
)

// If records change between the round trips of a request, they are counted a second time.
// If they change again, the answer is an error, and never a wrong count.
func TestFacetsOfChangingRecords(t *testing.T) {
	t.Parallel()
	e, x := newEngine(t)
	const many = 10_500 // cities, more than one aggregation lists
	march := time.Date(2024, time.March, 1, 0, 0, 0, 0, time.UTC)
	project := func(prefix string, n int, members string, args ...any) searchtest.Document {
		id := searchtest.ID(prefix, n)
		return searchtest.Document{ID: id, Body: fmt.Appendf(nil, `{"id":%q,`+members+`}`, append([]any{id}, args...)...)}
	}
	var docs []searchtest.Document
	for i := range many {
		docs = append(docs, project("p", i, `"city":"City %d","cost":%d,"filed_at":%q`, i, i%100, march.Format(catalog.TimeLayout)))
	}
	x.Put(t, catalog.Projects, docs...)
	x.Refresh(t)
	var changes atomic.Int64 // of all cases, each of another record
	for _, c := range []struct {
		name  string
		facet map[string]any
		after int64 // the round trip before the first change
		// changed is a new record, or another version of one.
		changed func(n int) searchtest.Document
	}{
		{"a new date", map[string]any{"field": "filed_at", "interval": "month"}, 1, func(n int) searchtest.Document {
			return project("c", n, `"filed_at":%q`, march.Format(catalog.TimeLayout))
		}},
		{"a date before all others", map[string]any{"field": "filed_at", "interval": "month"}, 1, func(n int) searchtest.Document {
			return project("p", n, `"filed_at":%q`, march.AddDate(0, -n, 0).Format(catalog.TimeLayout))
		}},
		{"a number above all others", map[string]any{"field": "cost", "buckets": 4.0}, 1, func(n int) searchtest.Document {
			return project("p", n, `"cost":%d`, 1000+n)
		}},
		{"values in partitions", map[string]any{"field": "city"}, 4, func(n int) searchtest.Document {
			return project("p", n, `"cost":1`)
		}},
	} {
		body := map[string]any{"facets": []any{c.facet}}
		for _, most := range []int{1, many} {
			var trips, made atomic.Int64
			changing := altered(t, e, "/_msearch", func(w http.ResponseWriter, status int, answer []byte) {
				if trips.Add(1) >= c.after && made.Add(1) <= int64(most) {
					x.Put(t, catalog.Projects, c.changed(int(changes.Add(1))))
					x.Refresh(t)
				}
				w.WriteHeader(status)
				w.Write(answer)
			})
			got, err := facets(t, changing, catalog.Projects, body)
			if most > 1 {
				if fault.CodeOf(err) != fault.Unavailable {
					t.Errorf("%s, always: %+v, %v", c.name, got, err)
				}
				continue
			}
			want, wantErr := facets(t, e, catalog.Projects, body)
			if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s, once: %+v, %v, want %+v, %v", c.name, got, err, want, wantErr)
			}
		}
	}
}
