//go:build faults

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"atlas/client"
	"atlas/internal/experiment/figures"
	"atlas/scripts/experiments/rig"
)

// tiedRecords is the number of projects with equal sort values. ATLAS_TEST_RECORDS
// overrides it.
const tiedRecords = 100_000

// tied is a dataset with few or no different sort values.
type tied struct {
	projects, contacts []uuid.UUID
	unlinked           []uuid.UUID // contacts that no project names
}

// All records have the same sort value, or none, or half of them have one. Paging by
// cursor in both directions, far past the highest offset, returns each record exactly
// once: in Data, in the book, in a Static View, and in a Dynamic View that is merged
// from two indices.
func TestTies(t *testing.T) {
	seed := figures.Seed(t)
	records := figures.Number(t, "ATLAS_TEST_RECORDS", 1, tiedRecords)
	sheet := figures.New(t, "ties", fmt.Sprintf("%d records of one sort value, or none, paged through in both directions, 100 a page", records), seed)
	r := rig.Start(t, rig.Options{Records: -1, ESHeap: "2g"})
	dir := filepath.Join(r.Dir, "tied")
	world, err := writeTied(dir, records, rand.New(rand.NewPCG(seed, 7)))
	rig.Check(t, err)
	r.Load(dir, "--strict")
	server := r.Serve("ATLAS_SEARCH_TIMEOUT=30s", rig.PatientRedis)
	c := once(t, server.Base, client.WithAPIKey(r.Workspace(rig.Unlimited).Key))

	view := hold(t, c, world)
	rig.Check(t, r.Settled(10*time.Minute))
	dynamic, err := c.Views.Upsert(t.Context(), client.ViewUpsert{
		Dataset: "contact", Type: "dynamic", Name: "Everybody", Definition: client.Dynamic("", nil),
	})
	rig.Check(t, err)
	projects, book := &c.Dataset("projects").Source, &c.Book.Dataset("projects").Source
	var walks []tiedWalk
	add := func(name string, from *source, want []uuid.UUID, fields ...string) {
		for _, field := range fields {
			for _, order := range []string{"asc", "desc"} {
				walks = append(walks, tiedWalk{
					walk{name: name + " by " + field + " " + order, from: from, sort: &client.Sort{Field: field, Order: client.Order(order)}},
					want,
				})
			}
		}
	}
	add("Data, the same value", projects, world.projects, "name", "created_at", "residential_units")
	add("Data, no value", projects, world.projects, "cost", "last_signal_at")
	add("Data, half without a value", projects, world.projects, "sqft", "stories")
	add("the book", book, world.projects, "name", "last_signal_at")
	add("a Static View", c.Views.Records(view), world.projects, "name", "last_signal_at")
	add("a Dynamic View of contacts", c.Views.Records(dynamic.ID), world.contacts, "name", "created_at", "projects_count")
	reportTied(t, sheet, walks)
}

// tiedWalk is a walk and the records that it must return, once each.
type tiedWalk struct {
	walk
	want []uuid.UUID
}

func reportTied(t *testing.T, sheet *figures.Sheet, walks []tiedWalk) {
	t.Helper()
	results := make([]walked, len(walks))
	var group errgroup.Group
	group.SetLimit(2)
	for i, w := range walks {
		group.Go(func() (err error) {
			began := time.Now()
			results[i], err = w.run(t.Context())
			t.Logf("%s: %d rows in %.1f s, %v", w.name, results[i].rows, time.Since(began).Seconds(), err)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	var rows, missed, repeated, foreign int
	var took []time.Duration
	for i, w := range walks {
		rows, took = rows+results[i].rows, append(took, results[i].took...)
		for _, id := range w.want {
			switch n := results[i].seen[id]; {
			case n == 0:
				missed++
			case n > 1:
				repeated++
			}
		}
		foreign += len(results[i].seen) - len(w.want) // more, when none is missed
	}
	sheet.Report("walks", float64(len(walks)), "")
	sheet.Report("rows walked", float64(rows), "")
	sheet.Exactly("records missed", float64(missed), 0, "")
	sheet.Exactly("records repeated", float64(repeated), 0, "")
	sheet.Exactly("rows of other records", float64(foreign), 0, "")
	sheet.Report("page, p50", figures.Percentile(took, 50), "ms")
	sheet.Report("page, p99", figures.Percentile(took, 99), "ms")
	sheet.Report("page, slowest", figures.Percentile(took, 100), "ms")
}

// writeTied writes the folder: projects of one name and time, without a cost or a
// signal. Half have an area and storeys. There are a fifth as many contacts of one
// name, half of them with projects.
func writeTied(dir string, records int, random *rand.Rand) (tied, error) {
	var world tied
	newID := func() uuid.UUID {
		var id uuid.UUID
		for i := range id {
			id[i] = byte(random.UintN(256))
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		return id
	}
	const same = `"created_at":"2024-02-29T12:00:00.000Z","updated_at":"2024-03-01T00:00:00.000Z"`
	var linked []uuid.UUID
	err := writeLines(dir, "contacts", func(write func(string)) {
		for i := range records / 5 {
			id := newID()
			world.contacts = append(world.contacts, id)
			if i%2 == 0 {
				linked = append(linked, id)
			} else {
				world.unlinked = append(world.unlinked, id)
			}
			write(fmt.Sprintf(`{"id":%q,"name":"Zoë Same",%s}`, id, same))
		}
	})
	if err != nil {
		return world, err
	}
	err = writeLines(dir, "projects", func(write func(string)) {
		for i := range records {
			id := newID()
			world.projects = append(world.projects, id)
			more := ""
			if i < len(linked) {
				more = fmt.Sprintf(`,"contact_ids":[%q]`, linked[i])
			}
			if random.IntN(2) == 0 {
				more += `,"sqft":1234.5`
			}
			if random.IntN(2) == 0 {
				more += `,"stories":3`
			}
			write(fmt.Sprintf(`{"id":%q,"name":"Same Tower","residential_units":7,"detected_at":"2024-02-29T12:00:00.000Z",%s%s}`, id, same, more))
		}
	})
	none := func(func(string)) {}
	return world, errors.Join(err, writeLines(dir, "accounts", none), writeLines(dir, "signals", none))
}

func writeLines(dir, dataset string, lines func(write func(string))) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, dataset+".ndjson"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	lines(func(line string) { _, _ = w.WriteString(line + "\n") }) // Flush returns the error
	return errors.Join(w.Flush(), f.Close())
}

// hold adds all projects to the book and to one Static View, and the contacts without a
// project to the book. It returns the id of the View.
func hold(t *testing.T, c *client.Client, world tied) (view string) {
	t.Helper()
	made, err := c.Views.Upsert(t.Context(), client.ViewUpsert{Dataset: "project", Type: "static", Name: "All of them"})
	rig.Check(t, err)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(4)
	began := time.Now()
	for _, ids := range batches(world.projects) {
		group.Go(func() error { return upserted(ctx, c, "projects", "project_id", ids) })
		group.Go(func() error {
			b, err := c.Views.AddRecords(ctx, made.ID, ids)
			return errors.Join(err, b.Err())
		})
	}
	for _, ids := range batches(world.unlinked) {
		group.Go(func() error { return upserted(ctx, c, "contacts", "contact_id", ids) })
	}
	rig.Check(t, group.Wait())
	t.Logf("%d records held after %.0f s", len(world.projects)+len(world.unlinked), time.Since(began).Seconds())
	return made.ID
}

func upserted(ctx context.Context, c *client.Client, book, key string, ids []string) error {
	inputs := make([]json.RawMessage, len(ids))
	for i, id := range ids {
		inputs[i] = fmt.Appendf(nil, `{%q:%q,"tags":["tied"]}`, key, id)
	}
	b, err := c.Book.Dataset(client.DatasetName(book)).UpsertAll(ctx, inputs)
	return errors.Join(err, b.Err())
}

// batches splits ids into batches of the maximum size.
func batches(ids []uuid.UUID) (all [][]string) {
	const most = 100
	for from := 0; from < len(ids); from += most {
		var batch []string
		for _, id := range ids[from:min(from+most, len(ids))] {
			batch = append(batch, id.String())
		}
		all = append(all, batch)
	}
	return all
}
