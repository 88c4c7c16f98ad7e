//go:build faults

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"atlas/client"
	"atlas/scripts/experiments/rig"
)

// writer is a client that writes one request after the other. What it owns
// nobody else writes, so that it knows what is there; it shares the rest.
type writer struct {
	n       int
	random  *rand.Rand
	rig     *rig.Rig
	in      string // workspace
	victims []*victim
	byKey   []*client.Client // one for each victim
	byUser  []*client.Client
	user    string
	own     map[string][]string // records by dataset
	shared  map[string][]string
	views   map[string]string // static Views by dataset: its own
	common  string            // the View of projects that all write to
	choice  []string          // Views that may be Favorites
	known   state
	history *history
	tally   *tally
	turn    int
}

// tally is what all clients counted.
type tally struct {
	acknowledged, unknown, applied, refused, reads, stale, readRefused, noRead, halves atomic.Int64
}

// request is one write: how it is sent, and what it is to make of the keys.
type request struct {
	what string
	send func(ctx context.Context, key, user *client.Client) error
	to   map[string]string
	// contended: others write these keys too.
	contended bool
}

// run writes until it is told to stop. An error is one of the experiment or of
// the service.
func (w *writer) run(ctx context.Context, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		w.turn++
		q := w.next()
		if err := w.write(ctx, q); err != nil {
			return fmt.Errorf("client %d, %s: %w", w.n, q.what, err)
		}
		if w.random.IntN(8) == 0 {
			if err := w.readBack(ctx); err != nil {
				return fmt.Errorf("client %d reads back: %w", w.n, err)
			}
		}
	}
}

// write sends a request to one of the servers and notes what became of it.
func (w *writer) write(ctx context.Context, q request) error {
	at := w.random.IntN(len(w.victims))
	own, began := w.victims[at].current(), time.Now()
	err := q.send(ctx, w.byKey[at], w.byUser[at])
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		w.tally.acknowledged.Add(1)
		if q.contended {
			w.history.add(write{to: q.to, began: began, ended: time.Now(), acknowledged: true})
			return nil
		}
		for key, value := range q.to {
			w.known[key] = value
		}
		return nil
	case refused(err):
		return w.victims[at].awaited(ctx)
	case answered && e.Status < 500:
		return err
	case answered:
		w.tally.refused.Add(1) // nothing more comes of it
	default:
		if err := w.victims[at].outlived(ctx, own); err != nil {
			return err
		}
	}
	w.tally.unknown.Add(1)
	if q.contended {
		w.history.add(write{to: q.to, began: began, ended: time.Now()})
		return nil
	}
	return w.learn(ctx, q)
}

// refused tells that no connection was made: nothing was sent.
func refused(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// awaited returns when the server may answer again, or is being started.
func (v *victim) awaited(ctx context.Context) error {
	return rig.Until(quietWithin, "the server listens again", func() error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", v.Address)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// learn finds out what became of a request whose answer was lost: all of it was
// done or nothing.
func (w *writer) learn(ctx context.Context, q request) error {
	now, err := stored(ctx, w.rig, w.in)
	if err != nil {
		return err
	}
	done, undone := 0, 0
	for key, value := range q.to {
		switch now[key] {
		case w.known[key]:
			if value != w.known[key] {
				undone++
			}
		case value:
			done++
		default:
			w.tally.halves.Add(1)
			return fmt.Errorf("%s was %q, was to be %q, is %q", key, w.known[key], value, now[key])
		}
		w.known[key] = now[key]
	}
	if done > 0 && undone > 0 {
		w.tally.halves.Add(1)
		return fmt.Errorf("half done: %d of %d changes", done, done+undone)
	}
	if done > 0 {
		w.tally.applied.Add(1)
	}
	return nil
}

// readBack searches for a record of its own by what it wrote last: a search that
// begins after a write was answered finds it, whichever server answers.
func (w *writer) readBack(ctx context.Context) error {
	dataset := pick(w.random, []string{"accounts", "contacts", "projects"})
	record := pick(w.random, w.own[dataset])
	said := overlayOf(w.known[overlayKey(dataset, record)])
	if said.tags == "" {
		return nil
	}
	at := w.random.IntN(len(w.victims))
	own := w.victims[at].current()
	page, err := w.byKey[at].Book.Dataset(dataset).Search(ctx, client.Search{Filters: client.Filters{"tags": client.Is(said.tags)}})
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case answered && e.Status < 500:
		return err
	case answered:
		w.tally.readRefused.Add(1)
		return nil
	case refused(err):
		return w.victims[at].awaited(ctx)
	case err != nil:
		w.tally.noRead.Add(1)
		return w.victims[at].outlived(ctx, own)
	}
	w.tally.reads.Add(1)
	for _, row := range page.Records {
		if strings.Contains(string(row), record) {
			return nil
		}
	}
	w.tally.stale.Add(1)
	return fmt.Errorf("%s of %s is not found by its tag %s", record, dataset, said.tags)
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// some are up to most different ones, at least one.
func some[T any](random *rand.Rand, from []T, most int) []T {
	var chosen []T
	for _, i := range random.Perm(len(from))[:1+random.IntN(min(most, len(from)))] {
		chosen = append(chosen, from[i])
	}
	return chosen
}
