//go:build attack

package attack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// probed is the number of contacts. Each has one of eight cities. Two thirds have a
// project and two thirds are held, so that each half of a Dynamic View has more rows
// than the highest offset.
const probed = 24_000

// Searches without rows are free and return a total. 16 connections send them at the
// highest offset, and the latency of other clients stays normal. The server answers
// more searches of a Dynamic contact View at that offset than its memory could hold the
// skipped rows of.
func TestProbing(t *testing.T) {
	seed := figures.Seed(t)
	f := figures.New(t, "probing", "searches at offset 10,000: free ones from 16 connections, and merged ones up to 192 at once", seed)
	r := rig.Start(t, rig.Options{Records: -1})
	dir := filepath.Join(r.Dir, "probed")
	rig.Check(t, writeProbed(dir))
	r.Load(dir, "--strict")
	s := r.Serve(rig.PatientRedis, "ATLAS_SEARCH_TIMEOUT="+searchTimeout.String())
	c, other := s.By(r.Workspace(rig.Unlimited, "Probing")), s.By(r.Workspace(rig.Unlimited, "Ordinary"))
	view := holdProbed(t, c)
	rig.Check(t, r.Settled(5*time.Minute))

	ordinary := []request{
		{&grammar{dataset: "contacts"}, object{"limit": 25}},
		{&grammar{dataset: "contacts"}, object{"query": "person 77", "limit": 25}},
		{&grammar{dataset: "projects"}, object{"filters": object{"city": object{"value": "City 3"}}, "limit": 25}},
	}
	const lasting = 15 * time.Second
	healthy(t, other, ordinary, lasting/3) // warm-up
	alone, failedAlone := healthy(t, other, ordinary, lasting)
	var free []measured
	for _, sort := range []string{"name", "created_at", "projects_count"} {
		for _, q := range []object{
			{"filters": object{"city": object{"value": []any{"City 1", "City 2", "City 3"}}}}, // 9,000 match
			{"relations": object{"without_project": object{}}},                                // 8,000
			{"query": "nobody"},
		} {
			q["limit"], q["offset"], q["sort"] = 1, 10_000, object{"field": sort, "order": "desc"}
			free = append(free, measured{request: request{&grammar{dataset: "contacts"}, q}})
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), lasting)
	defer stop()
	before, err := c.Used(t.Context())
	rig.Check(t, err)
	a := attack(ctx, c, free)
	meanwhile, failed := healthy(t, other, ordinary, lasting)
	a.wait()
	after, err := c.Used(t.Context())
	rig.Check(t, err)
	f.Report("free searches sent", float64(a.sent.Load()), "")
	f.Exactly("credits they cost", float64(after-before), 0, "")
	f.Exactly("other answers than 200", float64(a.other.Load()+a.refused.Load()), 0, "")
	f.Report("ordinary searches before: p50", figures.Percentile(alone, 50), "ms")
	f.Report("ordinary searches before: p99", figures.Percentile(alone, 99), "ms")
	f.Report("ordinary searches meanwhile: p50", figures.Percentile(meanwhile, 50), "ms")
	f.AtMost("ordinary searches meanwhile: p99", figures.Percentile(meanwhile, 99), 1_000, "ms")
	f.Exactly("ordinary searches that failed", float64(failed+failedAlone), 0, "")
	probeMerged(t, f, s, c, view)
}

// probeMerged sends searches of the View concurrently. It returns their times and the
// memory of the server meanwhile.
func probeMerged(t *testing.T, f *figures.Sheet, s *rig.Server, c rig.Caller, view string) {
	t.Helper()
	path, body := "/workspace/views/"+view+"/records/search", object{"limit": 1, "offset": 10_000}
	for _, at := range []int{1, 16, 64, 192} {
		var all errgroup.Group
		var refused, other atomic.Int64
		var most int64
		took := make([]time.Duration, at)
		ended := make(chan struct{})
		var sampling sync.WaitGroup
		sampling.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				now, err := resident(s.PID())
				if err != nil {
					t.Error(err)
					return
				}
				most = max(most, now)
				select {
				case <-ended:
					return
				case <-tick.C:
				}
			}
		})
		for i := range at {
			all.Go(func() error {
				a, err := c.Do(t.Context(), "POST", path, body)
				took[i] = a.Took
				switch {
				case err == nil && a.Status == 503:
					refused.Add(1)
				case err != nil || a.Status != 200 || a.Metadata().Credits != 1:
					other.Add(1)
				}
				return err
			})
		}
		err := all.Wait()
		close(ended)
		sampling.Wait()
		if err != nil {
			t.Error(err)
		}
		what := fmt.Sprintf("%d merged at once: ", at)
		f.Report(what+"p50", figures.Percentile(took, 50), "ms")
		f.AtMost(what+"slowest", figures.Percentile(took, 100)/1e3, (searchTimeout + grace).Seconds(), "s")
		f.Exactly(what+"other answers than 200 and 503", float64(other.Load()), 0, "")
		if at <= 64 {
			f.Exactly(what+"refused with 503", float64(refused.Load()), 0, "")
		} else {
			f.Report(what+"refused with 503", float64(refused.Load()), "")
		}
		f.AtMost(what+"resident memory at most", float64(most>>20), 256, "MB")
	}
}

func probedID(dataset, n int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", dataset, n) }

// writeProbed writes the folder to load.
func writeProbed(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write := func(dataset string, lines func(w *bufio.Writer)) error {
		file, err := os.Create(filepath.Join(dir, dataset+".ndjson"))
		if err != nil {
			return err
		}
		w := bufio.NewWriter(file)
		lines(w) // Flush returns the error
		return errors.Join(w.Flush(), file.Close())
	}
	const place = `"city":"City %d","created_at":"2024-%02d-%02dT00:00:00Z","updated_at":"2024-12-31"`
	return errors.Join(
		write("accounts", func(*bufio.Writer) {}), write("signals", func(*bufio.Writer) {}),
		write("contacts", func(w *bufio.Writer) {
			for i := range probed {
				fmt.Fprintf(
					w, `{"id":%q,"name":"Person %d","title":"Project manager",`+place+"}\n", probedID(1, i),
					i*7_919%probed, i%8, 1+i%12, 1+i%28,
				)
			}
		}),
		write("projects", func(w *bufio.Writer) {
			for i := range probed {
				if i%3 > 0 {
					fmt.Fprintf(w, `{"id":%q,"name":"Project %d","contact_ids":[%q],`+place+"}\n", probedID(2, i), i, probedID(1, i), i%8, 1+i%12, 1+i%28)
				}
			}
		}))
}

// holdProbed adds contacts to the book, and makes a Dynamic View of all.
func holdProbed(t *testing.T, c rig.Caller) (view string) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(4)
	var inputs []object
	send := func() {
		batch := object{"inputs": inputs}
		inputs = nil
		all.Go(func() error {
			_, err := c.Want(t.Context(), 200, "POST", "/workspace/contacts/upsert/batch", batch)
			return err
		})
	}
	for i := range probed {
		if i%3 != 1 {
			inputs = append(inputs, object{"contact_id": probedID(1, i), "tags": []string{"probed"}})
		}
		if len(inputs) == 100 {
			send()
		}
	}
	if len(inputs) > 0 {
		send()
	}
	rig.Check(t, all.Wait())
	return makeView(t, c, "contact", "dynamic", "Everybody")
}
