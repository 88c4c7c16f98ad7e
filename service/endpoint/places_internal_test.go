package endpoint

import (
	"fmt"
	"testing"

	"atlas/service/auth"
	"atlas/workspace"
)

// TestNobodyHoldsMoreThanTheBudget: one caller acquires places with each route until it
// is refused. It gets the places of the budget, another caller still gets some, and all
// places are released.
func TestNobodyHoldsMoreThanTheBudget(t *testing.T) {
	t.Parallel()
	s := &Core{MaxRequests: DefaultMaxRequests, Meter: unmetered{}}
	for _, places := range []int{PlacesSearch, PlacesRecords, PlacesSearchBatch, PlacesGetBatch, PlacesChanges, PlacesOutsiders} {
		r := Route{Operation: fmt.Sprintf("of %d places", places), Budget: Budget{Places: places}}
		by := func(kind auth.Kind, in workspace.ID) *Call {
			return &Call{server: s, Route: r, Identity: auth.Identity{Kind: kind},
				Principal: auth.Principal{Workspace: workspace.Workspace{ID: in}}}
		}
		own, other := workspace.NewID(), workspace.NewID()
		var held []*Call
		for {
			c := by(auth.ByUser, own)
			if !c.acquireWorking() {
				break
			}
			held = append(held, c)
		}
		if want := DefaultMaxRequests * r.Budget.Places / 64; len(held) != want {
			t.Errorf("%s: one caller holds %d of %d places, want %d", r.Operation, len(held), DefaultMaxRequests, want)
		}
		if c := by(auth.ByKey, other); !c.acquireWorking() {
			t.Errorf("%s: another caller has no place", r.Operation)
		} else {
			held = append(held, c)
		}
		for _, c := range held {
			c.phase.release()
		}
	}
	if left := s.load.working.used; len(left) != 0 {
		t.Errorf("%v are held by nobody", left)
	}
}

// TestSharesOfBodies: callers of a workspace, and many users without one, acquire
// places for bodies that are being received.
func TestSharesOfBodies(t *testing.T) {
	t.Parallel()
	s := &Core{MaxRequests: DefaultMaxRequests, Meter: unmetered{}}
	all := int(s.maxReceiving())
	fill := func(r Route, i auth.Identity) (n int) {
		for {
			if c := (&Call{server: s, Route: r, Identity: i}); !c.AcquireReceiving() {
				return n
			}
			n++
		}
	}
	if n := fill(Route{Caller: Anyone}, auth.Identity{Kind: auth.ByKey}); n != all/8 {
		t.Errorf("a key holds %d of %d", n, all)
	}
	if n := fill(Route{Caller: Newcomers}, auth.Identity{Kind: auth.ByUser}); n != all/64 {
		t.Errorf("a user in no workspace holds %d of %d", n, all)
	}
	in := workspace.NewID()
	n := 0
	for (&Call{server: s}).AcquireReceivingOf(in) {
		n++
	}
	if n != all/4 {
		t.Errorf("a workspace holds %d of %d", n, all)
	}
}
