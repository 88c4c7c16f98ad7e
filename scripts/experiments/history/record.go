package history

import (
	"fmt"
	"slices"
	"strings"
)

// Overlay is a workspace's overlay of a record. In says that the record is in the book;
// otherwise the rest is empty.
type Overlay struct {
	In                        bool
	Status, Notes, Tags, Tier string
}

func (o Overlay) String() string {
	if !o.In {
		return "not in the book"
	}
	return strings.Join([]string{o.Status, o.Notes, o.Tags, o.Tier}, "|")
}

// Record is the state of a record in a workspace. Lists are sorted and separated by
// blanks.
type Record struct {
	Overlay
	// Linked says that the record is visible to every workspace.
	Linked bool
	// Views are the Static Views that contain the record. Dropped are deleted Views, to
	// which it can no longer be added.
	Views, Dropped string
}

func (r Record) String() string {
	return fmt.Sprintf("%s; in Views %q, deleted %q", r.Overlay, r.Views, r.Dropped)
}

func (r Record) visible() bool { return r.Linked || r.In || r.Views != "" }

// Outcome of a write.
type Outcome int

// The outcomes: the write was executed, it is unknown whether it was, or it was refused
// completely for the reason that its operation names.
const (
	Done Outcome = iota
	Unknown
	Refused
)

func (o Outcome) String() string { return [...]string{"done", "unknown", "refused"}[o] }

// either returns the states after a write that may have been executed.
func either[S comparable](before, after S) []State {
	if before == after {
		return []State{before}
	}
	return []State{before, after}
}

// Change is the content of an upsert; nil leaves a value unchanged.
type Change struct{ Status, Notes, Tags, Tier *string }

func (c Change) apply(o Overlay) Overlay {
	o.In = true
	for to, from := range map[*string]*string{&o.Status: c.Status, &o.Notes: c.Notes, &o.Tags: c.Tags, &o.Tier: c.Tier} {
		if from != nil {
			*to = *from
		}
	}
	return o
}

func (c Change) String() string {
	var parts []string
	for _, p := range []struct {
		name string
		to   *string
	}{{"status", c.Status}, {"notes", c.Notes}, {"tags", c.Tags}, {"tier", c.Tier}} {
		if p.to != nil {
			parts = append(parts, fmt.Sprintf("%s=%s", p.name, *p.to))
		}
	}
	return strings.Join(parts, " ")
}

// Upsert adds a record to the book or changes its overlay. Its outcome is Done or
// Unknown. If it is Done, the answer has the new overlay.
type Upsert struct {
	Change  Change
	Outcome Outcome
	Answer  Overlay
}

// Next implements Op.
func (u Upsert) Next(s State) []State {
	before := s.(Record)
	after := before
	after.Overlay = u.Change.apply(before.Overlay)
	switch {
	case u.Outcome == Unknown:
		return either(before, after)
	case after.Overlay != u.Answer:
		return nil
	}
	return []State{after}
}

func (u Upsert) String() string {
	if u.Outcome == Unknown {
		return fmt.Sprintf("upsert %s: unknown", u.Change)
	}
	return fmt.Sprintf("upsert %s: %s", u.Change, u.Answer)
}

// Delete removes a record from the book. Its outcome is Done or Unknown.
type Delete struct{ Outcome Outcome }

// Next implements Op.
func (d Delete) Next(s State) []State {
	before := s.(Record)
	after := before
	after.Overlay = Overlay{}
	if d.Outcome == Unknown {
		return either(before, after)
	}
	return []State{after}
}

func (d Delete) String() string { return "delete from the book: " + d.Outcome.String() }

// Join adds the record to a Static View. It is Refused if the record is not visible.
type Join struct {
	View    string
	Outcome Outcome
}

// Next implements Op.
func (j Join) Next(s State) []State {
	before := s.(Record)
	can := before.visible() && !has(before.Dropped, j.View)
	after := before
	after.Views = with(before.Views, j.View)
	switch {
	case j.Outcome == Unknown && can:
		return either(before, after)
	case j.Outcome == Unknown:
		return []State{before}
	case j.Outcome == Refused && !before.visible():
		return []State{before}
	case j.Outcome == Done && can:
		return []State{after}
	}
	return nil
}

func (j Join) String() string { return fmt.Sprintf("add to View %s: %s", j.View, j.Outcome) }

// Leave removes the record from a Static View. Its outcome is Done or Unknown.
type Leave struct {
	View    string
	Outcome Outcome
}

// Next implements Op.
func (l Leave) Next(s State) []State {
	before := s.(Record)
	after := before
	after.Views = without(before.Views, l.View)
	switch {
	case l.Outcome == Unknown:
		return either(before, after)
	case has(before.Dropped, l.View):
		return nil
	}
	return []State{after}
}

func (l Leave) String() string { return fmt.Sprintf("take out of View %s: %s", l.View, l.Outcome) }

// Drop deletes a View that may contain the record. Its outcome is Done or Unknown.
type Drop struct {
	View    string
	Outcome Outcome
}

// Next implements Op.
func (d Drop) Next(s State) []State {
	before := s.(Record)
	after := before
	after.Views, after.Dropped = without(before.Views, d.View), with(before.Dropped, d.View)
	if d.Outcome == Unknown {
		return either(before, after)
	}
	return []State{after}
}

func (d Drop) String() string { return fmt.Sprintf("View %s is deleted: %s", d.View, d.Outcome) }

// Shows is a read of the overlay from Postgres. Narrow reads do not show the notes
// (NoNotes), and some do not show the tier (NoTier).
type Shows struct {
	By              string
	Overlay         Overlay
	NoNotes, NoTier bool
}

// Next implements Op.
func (r Shows) Next(s State) []State {
	is := s.(Record).Overlay
	if r.NoNotes {
		is.Notes = ""
	}
	if r.NoTier {
		is.Tier = ""
	}
	if is != r.Overlay {
		return nil
	}
	return []State{s}
}

func (r Shows) String() string { return fmt.Sprintf("%s shows %s", r.By, r.Overlay) }

// Condition is a condition of a search on a record.
type Condition struct {
	// Kind is one of the kinds below, Value is its operand.
	Kind  Kind
	Value string
}

// Kind of condition.
type Kind string

// The kinds: in the book; in the book and with a tag, a tier; in a Static View; visible
// to the workspace.
const (
	InBook  Kind = "in the book"
	Tagged  Kind = "tagged"
	OfTier  Kind = "of tier"
	InView  Kind = "in View"
	Visible Kind = "visible"
)

func (c Condition) String() string { return strings.TrimSpace(string(c.Kind) + " " + c.Value) }

func (c Condition) holds(r Record) bool {
	switch c.Kind {
	case InBook:
		return r.In
	case Tagged:
		return r.In && r.Tags == c.Value
	case OfTier:
		return r.In && r.Tier == c.Value
	case InView:
		return has(r.Views, c.Value)
	case Visible:
		return r.visible()
	}
	panic("no such kind of condition: " + string(c.Kind))
}

// Found is a search that finds the record by a condition, or does not.
type Found struct {
	By    Condition
	Found bool
}

// Next implements Op.
func (f Found) Next(s State) []State {
	if f.By.holds(s.(Record)) != f.Found {
		return nil
	}
	return []State{s}
}

func (f Found) String() string {
	if f.Found {
		return fmt.Sprintf("search: is %s", f.By)
	}
	return fmt.Sprintf("search: is not %s", f.By)
}

// Stored is a read of all that Postgres stores about the record, by the administrator.
type Stored struct {
	Overlay Overlay
	Views   string
}

// Next implements Op.
func (r Stored) Next(s State) []State {
	if is := s.(Record); is.Overlay != r.Overlay || is.Views != r.Views {
		return nil
	}
	return []State{s}
}

func (r Stored) String() string {
	return fmt.Sprintf("Postgres has %s; in Views %q", r.Overlay, r.Views)
}

// List is the text form of a list in a state.
func List(all []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), " ")
}

func has(list, one string) bool { return slices.Contains(strings.Fields(list), one) }

func with(list string, some ...string) string { return List(append(strings.Fields(list), some...)) }

func without(list string, some ...string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(list), func(s string) bool { return slices.Contains(some, s) }), " ")
}
