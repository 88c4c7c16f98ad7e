package labelled

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Figures count answers.
type Figures struct {
	Inputs   int // all
	Positive int // inputs for which a record is right
	Answered int // a record was returned as the match
	Right    int // and it is right
}

// Precision is the share of the answers that are right.
func (f Figures) Precision() float64 { return float64(f.Right) / max(float64(f.Answered), 1) }

// Recall is the share of the findable inputs that were answered right.
func (f Figures) Recall() float64 { return float64(f.Right) / max(float64(f.Positive), 1) }

func (f Figures) plus(in Input, answered, right bool) Figures {
	f.Inputs++
	for _, c := range []struct {
		n  *int
		is bool
	}{{&f.Positive, in.Same != ""}, {&f.Answered, answered}, {&f.Right, right}} {
		if c.is {
			*c.n++
		}
	}
	return f
}

// Measured are the figures of a run: of all inputs, by kind of noise, and by the given
// values.
type Measured struct {
	All          Figures
	Kinds, Withs map[string]Figures
	// Wrong are the wrongly answered inputs, as lines.
	Wrong, Missed []string
}

// Measure counts the answers: the firm returned as the match of each input, nil if there
// was none.
func Measure(inputs []Input, answers []*Firm) Measured {
	m := Measured{Kinds: map[string]Figures{}, Withs: map[string]Figures{}}
	for i, in := range inputs {
		answered := answers[i] != nil
		right := answered && answers[i].Same == in.Same
		m.All = m.All.plus(in, answered, right)
		m.Kinds[in.Kind] = m.Kinds[in.Kind].plus(in, answered, right)
		m.Withs[in.With] = m.Withs[in.With].plus(in, answered, right)
		line := fmt.Sprintf("%s, %s: %+v", in.Kind, in.With, in.MatchInput)
		if answered && !right {
			m.Wrong = append(m.Wrong, line+" is not "+answers[i].Name)
		} else if !answered && in.Same != "" {
			m.Missed = append(m.Missed, line+" is "+in.Same)
		}
	}
	return m
}

// String is a table.
func (m Measured) String() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\tinputs\tfindable\tanswered\tright\tprecision\trecall\t")
	row := func(name string, f Figures) {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%.4f\t%.4f\t\n", name, f.Inputs, f.Positive, f.Answered, f.Right, f.Precision(), f.Recall())
	}
	row("all", m.All)
	for _, of := range []map[string]Figures{m.Withs, m.Kinds} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			row(name, of[name])
		}
	}
	_ = t.Flush()
	return b.String()
}
