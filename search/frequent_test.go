package search_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"atlas/internal/elastic"
	"atlas/mappings"
	"atlas/search"
)

// While Elasticsearch hangs, one read waits for it. Callers do not queue behind it:
// they return when their contexts are done.
func TestFrequentValuesDoNotQueue(t *testing.T) {
	t.Parallel()
	asked, forever := make(chan struct{}, 8), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-forever
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(forever) }) // before the server waits for its handlers
	client, err := elastic.New(elastic.Config{Addresses: []string{hanging.URL}})
	if err != nil {
		t.Fatal(err)
	}
	e := &search.Engine{Elastic: client, Names: mappings.Names{Prefix: "x-"}, Timeout: time.Minute}

	ctx, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := e.FrequentValues(ctx)
		first <- err
	}()
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.FrequentValues(gone)
	unavailable(t, err)
	select {
	case err := <-first:
		t.Fatalf("the second caller waited until the first had its answer: %v", err)
	default:
	}
	if len(asked) > 0 {
		t.Error("Elasticsearch was asked twice at once")
	}
	leave()
	unavailable(t, <-first)
}
