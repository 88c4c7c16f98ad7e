//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/client"
	"atlas/indexer"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
	"atlas/search/catalog"
)

// walkRecords is the number of records over all datasets. ATLAS_TEST_RECORDS overrides
// it.
const walkRecords = 1_000_000

// switches is the number of loads during each walk.
const switches = 3

// walks are the searches that are paged concurrently.
var walks = []struct {
	dataset catalog.Dataset
	sort    *client.Sort
}{
	{catalog.Accounts, client.Asc("name")},
	{catalog.Contacts, client.Desc("name")},
	{catalog.Projects, client.Asc("created_at")},
	{catalog.Projects, client.Desc("name")},
	{catalog.Signals, client.Desc("detected_at")},
}

// Walks page through all records while deltas change, delete and insert some of them
// and three generations are switched. Records with an unchanged sort value are returned
// exactly once.
func TestWalkWhileGenerationsSwitch(t *testing.T) {
	seed := figures.Seed(t)
	records := figures.Number(t, "ATLAS_TEST_RECORDS", 1, walkRecords)
	sheet := figures.New(t, "walk", fmt.Sprintf("%d records paged through by five sorts, 100 a page, while deltas and three loads ran", records), seed)
	r := rig.Start(t, rig.Options{Records: int64(records), Seed: seed, ESHeap: "2g"})
	world := readMoving(t, r.Records, seed)
	server := r.Serve("ATLAS_SEARCH_TIMEOUT=30s", rig.PatientRedis)
	c := once(t, server.Base, client.WithAPIKey(r.Workspace(rig.Unlimited).Key))

	var switched atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	lines := 0
	group.Go(func() error {
		for at := range 2*switches + 1 {
			n, err := applyDelta(ctx, t, r, world, at)
			if err != nil {
				return err
			}
			lines += n
			if at%2 == 0 || at == 2*switches {
				continue
			}
			if err := loadVersion(ctx, t, r, world, 1+at/2); err != nil {
				return err
			}
			t.Logf("switch %d", switched.Add(1))
		}
		return nil
	})
	results := make([]walked, len(walks))
	for i, w := range walks {
		group.Go(func() (err error) {
			name := fmt.Sprintf("%s by %s %s", w.dataset, w.sort.Field, w.sort.Order)
			results[i], err = walk{
				name: name, from: &c.Dataset(client.DatasetName(w.dataset)).Source, sort: w.sort,
				pace: pacedBy(&switched, len(world.fates[w.dataset])),
			}.run(ctx)
			t.Logf("%s: %d rows in %d pages, %v", name, results[i].rows, len(results[i].took), err)
			return err
		})
	}
	failed := group.Wait()
	if failed != nil {
		t.Error(failed)
	}
	reportWalks(t, sheet, world, results)
	sheet.Exactly("generation switches within each walk", float64(switched.Load()), switches, "")
	sheet.Report("lines of deltas", float64(lines), "")
	sheet.Exactly("requests answered 5xx, or not at all", map[bool]float64{true: 1}[isServerError(failed)], 0, "")
}

// named is the maximum number of wrong records that are listed.
const named = 20

// reportWalks compares the results of the walks with the expected records.
func reportWalks(t *testing.T, sheet *figures.Sheet, world *moving, results []walked) {
	t.Helper()
	var rows, sure, missed, repeated, unknown, disorder int
	var took []time.Duration
	for i, w := range walks {
		result := results[i]
		rows, disorder, took = rows+result.rows, disorder+result.order, append(took, result.took...)
		fates := world.fates[w.dataset]
		for id, f := range fates {
			if !f.sure() {
				continue
			}
			sure++
			switch n := result.seen[id]; {
			case n == 0:
				if missed++; missed <= named {
					t.Logf("missed by %s %s: %s, fate %d", w.dataset, w.sort.Field, id, f)
				}
			case n > 1:
				if repeated++; repeated <= named {
					t.Logf("%d times by %s %s: %s, fate %d", n, w.dataset, w.sort.Field, id, f)
				}
			}
		}
		for id := range result.seen {
			if _, known := fates[id]; !known {
				unknown++
			}
		}
	}
	sheet.Report("rows walked", float64(rows), "")
	sheet.AtLeast("of these pages", float64(len(took)), float64(sure/client.MaxPage), "")
	sheet.Report("records whose sort value stayed", float64(sure), "")
	sheet.Exactly("of these missed", float64(missed), 0, "")
	sheet.Exactly("of these repeated", float64(repeated), 0, "")
	sheet.Exactly("rows of no record there ever was", float64(unknown), 0, "")
	sheet.Exactly("rows out of order", float64(disorder), 0, "")
	sheet.Report("page, p50", figures.Percentile(took, 50), "ms")
	sheet.Report("page, p99", figures.Percentile(took, 99), "ms")
	sheet.Report("page, slowest", figures.Percentile(took, 100), "ms")
}

// trickle is the time between two pages of a walk that waits for a switch.
const trickle = 250 * time.Millisecond

// pacedBy spreads a walk over all switches: a part of it is between any two. It runs at
// full speed up to that part, then slowly, and waits at its end.
func pacedBy(switched *atomic.Int64, all int) func(ctx context.Context, rows int) error {
	return func(ctx context.Context, rows int) error {
		tick := time.NewTicker(trickle)
		defer tick.Stop()
		for waited := false; ; waited = true {
			n := switched.Load()
			share := float64(rows) / float64(all) * (switches + 1)
			if n >= switches || share < float64(n)+0.6 || waited && share < float64(n)+0.95 {
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	}
}

// applyDelta writes the delta with number at and applies it.
func applyDelta(ctx context.Context, t *testing.T, r *rig.Rig, world *moving, at int) (lines int, err error) {
	dir, err := emptied(r, "changes")
	if err != nil {
		return 0, err
	}
	if lines, err = world.delta(dir, at, at+1); err != nil {
		return 0, err
	}
	began := time.Now()
	code, stdout, stderr := r.Run(ctx, "index", "apply", dir, "--json", "--strict")
	if code != 0 {
		return lines, fmt.Errorf("atlas index apply: status %d %s%s", code, stdout, stderr)
	}
	t.Logf("delta %d: %d lines in %.1f s", at+1, lines, time.Since(began).Seconds())
	return lines, nil
}

// loadVersion writes a version of the folder and loads it.
func loadVersion(ctx context.Context, t *testing.T, r *rig.Rig, world *moving, version int) error {
	dir, err := emptied(r, "version")
	if err != nil {
		return err
	}
	if err := world.folder(dir, version); err != nil {
		return err
	}
	began := time.Now()
	code, stdout, stderr := r.Run(ctx, "index", "load", dir, "--json", "--strict")
	var report indexer.Report
	if code != 0 {
		return fmt.Errorf("atlas index load: status %d %s%s", code, stdout, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || !report.Switched {
		return errors.Join(err, fmt.Errorf("the load did not switch: %s", stdout))
	}
	t.Logf("version %d: %d records loaded in %.0f s", version, report.Documents(), time.Since(began).Seconds())
	return nil
}

// emptied returns an empty folder of the rig.
func emptied(r *rig.Rig, name string) (string, error) {
	dir := filepath.Join(r.Dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o755)
}
