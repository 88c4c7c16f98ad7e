package history

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// State is the state of one object. It is comparable.
type State any

// Op is an operation with its outcome.
type Op interface {
	// Next returns the states in which the object may be after the operation, none if
	// its outcome is impossible in that state.
	Next(State) []State
	String() string
}

// Start is the first operation of an object's history.
type Start struct{ State State }

// Next implements Op.
func (s Start) Next(State) []State { return []State{s.State} }

func (s Start) String() string { return fmt.Sprintf("begins as %v", s.State) }

// Log is a history. It is safe for concurrent use.
type Log struct {
	began time.Time

	lock   sync.Mutex
	things map[string][]porcupine.Operation
	notes  []porcupine.Annotation
}

// NewLog returns an empty history. Its times count from began, so that consecutive
// histories share one clock.
func NewLog(began time.Time) *Log {
	return &Log{began: began, things: map[string][]porcupine.Operation{}}
}

// Now is the time since began, in nanoseconds.
func (l *Log) Now() int64 { return int64(time.Since(l.began)) }

// Span is the time of an operation: from before it was sent until its answer arrived,
// or until it could no longer have an effect.
type Span struct {
	// Client counts from 0.
	Client       int
	Call, Return int64
}

// Add adds an operation to the history of an object.
func (l *Log) Add(thing string, s Span, op Op) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.things[thing] = append(l.things[thing], porcupine.Operation{ClientId: s.Client, Input: op, Call: s.Call, Return: s.Return})
}

// Note records a fault, for the drawing.
func (l *Log) Note(tag, what string, from, to int64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.notes = append(l.notes, porcupine.Annotation{Tag: tag, Description: what, Start: from, End: max(from, to), BackgroundColor: "#f4b6a6"})
}

// Verdict is the result of checking a history.
type Verdict struct {
	Things, Operations int
	// Violations names the objects whose answers no order explains, and the files of
	// their drawings.
	Violations []string
	// Undecided names the objects whose check timed out.
	Undecided []string
}

// judgeWithin limits the time of checking one object.
const judgeWithin = 4 * time.Minute

// drawn is the maximum number of violations that are drawn.
const drawn = 10

// Judge searches for an order of the operations of each object. It draws the histories
// of violations as HTML into dir.
func (l *Log) Judge(dir string) (v Verdict, err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	model := model()
	for _, name := range slices.Sorted(maps.Keys(l.things)) {
		all := l.things[name]
		v.Things, v.Operations = v.Things+1, v.Operations+len(all)
		result, info := porcupine.CheckOperationsVerbose(model, all, judgeWithin)
		switch result {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			v.Undecided = append(v.Undecided, name)
			continue
		}
		text := name + ": " + offendingOperations(all, info)
		if len(v.Violations) < drawn {
			info.AddAnnotations(l.notes)
			path := filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(name)+".html")
			if err := os.MkdirAll(dir, 0o750); err != nil {
				return v, err
			}
			if err := porcupine.VisualizePath(model, info, path); err != nil {
				return v, err
			}
			text += "\n" + path
		}
		v.Violations = append(v.Violations, text)
	}
	return v, nil
}

// model is the model of every object: the operations know their states.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{nil} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, s := range input.(Op).Next(state) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(input, _ any) string { return input.(Op).String() },
		DescribeState:     func(state any) string { return fmt.Sprint(state) },
	}
	return nondeterministic.ToModel()
}

// shown is the number of operations that are shown before and after a wrong answer.
const shown = 4

// offendingOperations returns the operations that do not fit into a longest order, the earliest
// first. Usually the wrong answer is among them.
func offendingOperations(all []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[string]int{}
	name := func(o porcupine.Operation) string {
		return fmt.Sprintf("client %d, %.3f to %.3f s: %s", o.ClientId, seconds(o.Call), seconds(o.Return), o.Input)
	}
	for _, o := range longest {
		placed[name(o)]++
	}
	var left []string
	for _, o := range slices.SortedStableFunc(
		slices.Values(all), func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) },
	) {
		if n := name(o); placed[n] > 0 {
			placed[n]--
		} else {
			left = append(left, n)
		}
	}
	var last []string
	for _, o := range longest[max(0, len(longest)-shown):] {
		last = append(last, name(o))
	}
	const line = "\n  "
	return fmt.Sprintf("%d of %d operations have an order, which ends with%s%s\nand has no place for%s%s",
		len(longest), len(all), line, strings.Join(last, line), line, strings.Join(left[:min(shown, len(left))], line))
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
