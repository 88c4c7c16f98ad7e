package history

import (
	"fmt"
	"strings"
)

// View is the state of a Static View. The zero value is a View that does not exist.
type View struct {
	There    bool
	Name     string
	Revision int
	Records  string // a List
}

// viewOf returns the zero View for the initial state.
func viewOf(s State) View {
	v, _ := s.(View)
	return v
}

func (v View) String() string {
	if !v.There {
		return "not there"
	}
	return fmt.Sprintf("%q, revision %d, %d records", v.Name, v.Revision, v.count())
}

func (v View) count() int { return len(strings.Fields(v.Records)) }

func (v View) shows(a ViewAnswer) bool {
	return v.There && v.Name == a.Name && v.Revision == a.Revision && v.count() == a.Count
}

// ViewAnswer is a View in an answer.
type ViewAnswer struct {
	Name            string
	Revision, Count int
}

// Made creates the View.
type Made struct{ Answer ViewAnswer }

// Next implements Op.
func (m Made) Next(s State) []State {
	after := View{There: true, Name: m.Answer.Name, Revision: 1}
	if viewOf(s) != (View{}) || !after.shows(m.Answer) {
		return nil
	}
	return []State{after}
}

func (m Made) String() string { return fmt.Sprintf("create: %v", m.Answer) }

// Rename gives the View a name that no View had before. It is Refused because of the
// revision or, if NotFound is set, because the View does not exist.
type Rename struct {
	To       string
	Revision int // the expected revision; 0: any
	Outcome  Outcome
	NotFound bool
	Answer   ViewAnswer // if Done
}

// Next implements Op.
func (r Rename) Next(s State) []State {
	before := viewOf(s)
	fits := r.Revision == 0 || r.Revision == before.Revision
	after := before
	after.Name, after.Revision = r.To, before.Revision+1
	switch {
	case r.Outcome == Unknown && before.There && fits:
		return either(before, after)
	case r.Outcome == Unknown:
		return []State{before}
	case r.Outcome == Refused && (r.NotFound && !before.There || !r.NotFound && before.There && !fits):
		return []State{before}
	case r.Outcome == Done && before.There && fits && after.shows(r.Answer):
		return []State{after}
	}
	return nil
}

func (r Rename) String() string {
	text := fmt.Sprintf("rename to %q", r.To)
	if r.Revision > 0 {
		text += fmt.Sprintf(" if at revision %d", r.Revision)
	}
	switch {
	case r.Outcome == Done:
		return fmt.Sprintf("%s: %v", text, r.Answer)
	case r.NotFound:
		return text + ": not found"
	}
	return text + ": " + r.Outcome.String()
}

// Ended deletes the View. It is Refused if the View does not exist.
type Ended struct{ Outcome Outcome }

// Next implements Op.
func (e Ended) Next(s State) []State {
	before := viewOf(s)
	switch {
	case e.Outcome == Unknown:
		return either(before, View{})
	case before.There == (e.Outcome == Done):
		return []State{View{}}
	}
	return nil
}

func (e Ended) String() string { return "delete: " + e.Outcome.String() }

// Contents adds records to the View or removes them. It is Refused if the View does not
// exist. If it is Unknown, it was executed completely or not at all.
type Contents struct {
	Records []string
	Out     bool
	Outcome Outcome
	// Part: if it is Unknown, any part may have been executed. The View does not know
	// which contacts are visible and can be added.
	Part bool
}

// Next implements Op.
func (c Contents) Next(s State) []State {
	before := viewOf(s)
	after := before
	if c.Out {
		after.Records = without(before.Records, c.Records...)
	} else {
		after.Records = with(before.Records, c.Records...)
	}
	switch {
	case c.Outcome == Unknown && !before.There:
		return []State{before}
	case c.Outcome == Unknown && c.Part:
		return parts(before, c.Records)
	case c.Outcome == Unknown:
		return either(before, after)
	case before.There != (c.Outcome == Done):
		return nil
	case c.Outcome == Done:
		return []State{after}
	}
	return []State{before}
}

// parts returns the states of the View with each subset of some records added. There
// are few records.
func parts(v View, records []string) (all []State) {
	for chosen := range 1 << len(records) {
		after := v
		for i, r := range records {
			if chosen>>i&1 == 1 {
				after.Records = with(after.Records, r)
			}
		}
		all = append(all, after)
	}
	return all
}

func (c Contents) String() string {
	verb := "add"
	if c.Out {
		verb = "take out"
	}
	return fmt.Sprintf("%s %v: %s", verb, c.Records, c.Outcome)
}

// Seen is a get or a list that shows the View, or that it does not exist.
type Seen struct {
	There  bool
	Answer ViewAnswer
}

// Next implements Op.
func (r Seen) Next(s State) []State {
	is := viewOf(s)
	if is.There != r.There || r.There && !is.shows(r.Answer) {
		return nil
	}
	return []State{s}
}

func (r Seen) String() string {
	if !r.There {
		return "get: not found"
	}
	return fmt.Sprintf("get: %v", r.Answer)
}

// Searched is a search of the View's records, which shows only whether it exists.
type Searched struct{ There bool }

// Next implements Op.
func (r Searched) Next(s State) []State {
	if viewOf(s).There != r.There {
		return nil
	}
	return []State{s}
}

func (r Searched) String() string { return fmt.Sprintf("search: there %v", r.There) }

// StoredView is a read of all that Postgres stores about the View, by the
// administrator.
type StoredView struct{ View View }

// Next implements Op.
func (r StoredView) Next(s State) []State {
	if viewOf(s) != r.View {
		return nil
	}
	return []State{s}
}

func (r StoredView) String() string { return fmt.Sprintf("Postgres has %v", r.View) }
