//go:build faults

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"atlas/client"
	"atlas/scripts/experiments/figures"
	"atlas/scripts/experiments/rig"
	"atlas/search/query"
)

const (
	serveKills   = 20
	serveClients = 6
	ownRecords   = 8 // of each dataset, of each client
	sharedOnes   = 5 // of each dataset
	agreedWithin = 60 * time.Second
)

// One of two servers, at times both, is killed 20 times at random points while
// clients write to books, Views and Favorites through either. What was
// acknowledged is there; a write whose answer was lost was done whole or not at
// all; and when nothing is pending, the index is what Postgres says.
func TestServeKilled(t *testing.T) {
	seed := figures.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	sheet := figures.New(t, "serve-kills", fmt.Sprintf("kill -9 of atlas serve, two servers and %d clients that write to books, Views and Favorites", serveClients), seed)
	r := rig.Start(t, rig.Options{Seed: seed})
	victims := []*victim{newVictim(t, r, 1), newVictim(t, r, 2)}
	work := r.Workspace(rig.Unlimited)
	count, events := &tally{}, &history{}
	writers := newWriters(t, r, victims, work, random, count, events)

	group, ctx := errgroup.WithContext(t.Context())
	stop := make(chan struct{})
	for _, w := range writers {
		group.Go(func() error { return w.run(ctx, stop) })
	}
	killed, last := 0, time.Now()
	group.Go(func() (err error) {
		defer close(stop)
		killed, last, err = killAtRandom(ctx, random, victims, count)
		return err
	})
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if err := r.Settled(agreedWithin); err != nil {
		t.Error(err)
	}
	agreed := time.Since(last)

	sheet.Exactly("kills", float64(killed), serveKills, "")
	sheet.AtLeast("writes acknowledged", float64(count.acknowledged.Load()), 10*serveKills, "")
	sheet.AtLeast("answers lost", float64(count.unknown.Load()), 1, "")
	sheet.Tell("of these done", float64(count.applied.Load()), "")
	sheet.Exactly("writes half done", float64(count.halves.Load()), 0, "")
	sheet.Tell("writes answered 503", float64(count.refused.Load()), "")
	sheet.Tell("searches for what was just written", float64(count.reads.Load()), "")
	sheet.Exactly("of these that did not see it", float64(count.stale.Load()), 0, "")
	sheet.Tell("searches answered 503", float64(count.readRefused.Load()), "")
	sheet.Tell("searches lost with a server", float64(count.noRead.Load()), "")
	sheet.AtMost("from the last kill until nothing was pending", agreed.Seconds(), agreedWithin.Seconds(), "s")
	now, err := stored(t.Context(), r, work.ID)
	if err != nil {
		t.Fatal(err)
	}
	sheet.Exactly("acknowledged writes lost", float64(lostWrites(t, writers, events, now)), 0, "")
	differences := shown(t, once(t, victims[0].Base, client.WithAPIKey(work.Key)), now)
	for _, w := range writers {
		differences = append(differences, w.favoritesShown(t, now)...)
	}
	for _, d := range differences {
		t.Log(d)
	}
	sheet.Exactly("differences between the API and Postgres", float64(len(differences)), 0, "")
	tellAgreement(t, sheet, r)
}

// killAtRandom kills a server and starts it again, over and over: each time
// after some writes more were acknowledged and a moment more.
func killAtRandom(ctx context.Context, random *rand.Rand, victims []*victim, count *tally) (killed int, last time.Time, err error) {
	for killed < serveKills {
		from := count.acknowledged.Load()
		more := int64(10 + random.IntN(60))
		err := rig.Until(2*time.Minute, "writes are acknowledged", func() error {
			if ctx.Err() != nil {
				return rig.ErrHopeless
			}
			if n := count.acknowledged.Load() - from; n < more {
				return fmt.Errorf("%d of %d are", n, more)
			}
			return nil
		})
		if err != nil {
			return killed, last, err
		}
		select { // the point is random: within a request, or between two
		case <-ctx.Done():
			return killed, last, ctx.Err()
		case <-time.After(time.Duration(random.IntN(100_000)) * time.Microsecond):
		}
		chosen := []*victim{pick(random, victims)}
		if random.IntN(4) == 0 && killed+2 <= serveKills {
			chosen = victims
		}
		for _, v := range chosen {
			if err := v.die(ctx); err != nil {
				return killed, last, err
			}
			killed, last = killed+1, time.Now()
		}
		for _, v := range chosen {
			if err := v.rise(); err != nil {
				return killed, last, err
			}
		}
	}
	return killed, last, nil
}

// lostWrites counts what is not as the acknowledged writes made it.
func lostWrites(t *testing.T, writers []*writer, events *history, now state) (lost int) {
	t.Helper()
	for _, w := range writers {
		for key, value := range w.known {
			if now[key] != value {
				t.Errorf("%s is %q, client %d left it %q", key, now[key], w.n, value)
				lost++
			}
		}
	}
	for _, e := range events.writes {
		for key := range e.to {
			if err := events.explains(key, now[key]); err != nil {
				t.Error(err)
				lost++
			}
		}
	}
	return lost
}

func tellAgreement(t *testing.T, sheet *figures.Sheet, r *rig.Rig) {
	t.Helper()
	compared, different := 0, 0
	for _, d := range query.Held {
		n, differences, err := disagreements(t.Context(), r, string(d))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range differences {
			t.Log(text)
		}
		compared, different = compared+n, different+len(differences)
	}
	sheet.AtLeast("held records compared", float64(compared), serveClients*ownRecords, "")
	sheet.Exactly("differences between Postgres and the index", float64(different), 0, "")
	sheet.Exactly("of one document that is then deleted, found", float64(afterDamage(t, r)), 1, "")
}

// afterDamage deletes a document behind Atlas's back, which is to be noticed: a
// comparison that finds nothing should be one that can.
func afterDamage(t *testing.T, r *rig.Rig) (differences int) {
	t.Helper()
	const dataset = "accounts"
	all, err := indexed(t.Context(), r, r.Held(dataset), `{"term":{"held.in_book":true}}`)
	if err != nil || len(all.Hits.Hits) == 0 {
		t.Fatalf("no document to delete: %v", err)
	}
	one := all.Hits.Hits[0]
	if err := r.Ask(t.Context(), "DELETE", "/"+r.Held(dataset)+"/_doc/"+one.ID+"?routing="+one.Routing, "", nil); err != nil {
		t.Fatal(err)
	}
	_, found, err := disagreements(t.Context(), r, dataset)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range found {
		if strings.HasPrefix(text, one.ID+" is in Postgres and not in the index") {
			differences++
		}
	}
	return differences
}

// shown compares what the API shows with Postgres: every row of the three books,
// the records of every View, and their number.
func shown(t *testing.T, c *client.Client, now state) (differences []string) {
	t.Helper()
	left := state{}
	for key, value := range now {
		if strings.HasPrefix(key, "overlay/") || strings.HasPrefix(key, "member/") {
			left[key] = value
		}
	}
	see := func(key, value string) {
		if want, there := left[key]; !there || want != value {
			differences = append(differences, fmt.Sprintf("%s is shown as %q, is %q", key, value, want))
		}
		delete(left, key)
	}
	for _, d := range query.Held {
		for raw, err := range c.Book.Dataset(string(d)).All(t.Context(), client.Search{}) {
			if err != nil {
				t.Fatal(err)
			}
			var row struct {
				ID, Notes string
				Status    string `json:"workspace_status"`
				Tier      string `json:"icp_tier"`
				Tags      []string
			}
			if err := json.Unmarshal(raw, &row); err != nil {
				t.Fatal(err)
			}
			see(overlayKey(string(d), row.ID), overlay{row.Status, row.Notes, strings.Join(row.Tags, ","), row.Tier}.String())
		}
	}
	for view, err := range c.Views.List(t.Context(), client.ViewList{Type: "static"}) {
		if err != nil {
			t.Fatal(err)
		}
		members := 0
		for raw, err := range c.Views.Records(view.ID).All(t.Context(), client.Search{}) {
			if err != nil {
				t.Fatal(err)
			}
			id, err := idOf(raw)
			if err != nil {
				t.Fatal(err)
			}
			members++
			see(memberKey(view.ID, id.String()), "in")
		}
		if view.RecordCount == nil || *view.RecordCount != members {
			differences = append(differences, fmt.Sprintf("the View %s has %d records and counts %v", view.Name, members, view.RecordCount))
		}
	}
	for key := range left {
		differences = append(differences, key+" is not shown")
	}
	return differences
}

// favoritesShown compares the client's Favorites as the API lists them.
func (w *writer) favoritesShown(t *testing.T, now state) []string {
	t.Helper()
	var order []string
	for view, err := range w.byUser[0].Favorites.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, view.ID)
	}
	if got, want := strings.Join(order, ","), now[favoritesKey(w.user)]; got != want {
		return []string{fmt.Sprintf("the Favorites of client %d are shown as %q, are %q", w.n, got, want)}
	}
	return nil
}
