package history

import (
	"fmt"
	"slices"
	"strings"
)

// Favorites are a user's Favorites in order, separated by blanks.
type Favorites string

// Reorder changes Favorites; its outcome is Done or Unknown. Away are removed. Then
// each of Front moves to the front, in this order. Then View, if set, moves to
// Position.
type Reorder struct {
	Away, Front []string
	View        string
	Position    int
	Outcome     Outcome
}

// Next implements Op.
func (r Reorder) Next(s State) []State {
	before := s.(Favorites)
	order := slices.DeleteFunc(strings.Fields(string(before)), func(v string) bool {
		return v == r.View || slices.Contains(r.Away, v) || slices.Contains(r.Front, v)
	})
	order = slices.Concat(r.Front, order)
	if r.View != "" {
		order = slices.Insert(order, min(r.Position, len(order)), r.View)
	}
	after := Favorites(strings.Join(order, " "))
	if r.Outcome == Unknown {
		return either(before, after)
	}
	return []State{after}
}

func (r Reorder) String() string {
	return fmt.Sprintf("away %v, front %v, %s to %d: %s", r.Away, r.Front, r.View, r.Position, r.Outcome)
}

// Listed is a read of the Favorites.
type Listed struct{ Order string }

// Next implements Op.
func (r Listed) Next(s State) []State {
	if string(s.(Favorites)) != r.Order {
		return nil
	}
	return []State{s}
}

func (r Listed) String() string { return "list: " + r.Order }
