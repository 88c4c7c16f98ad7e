// Package report holds what benchmark results are made of: figures over rounds,
// Markdown tables, charts, and the sections of a document that show them.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Spread is one figure over several rounds.
type Spread struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Rounds []float64 `json:"rounds"`
}

// Add adds the figure of another round.
func (s *Spread) Add(v float64) {
	s.Rounds = append(s.Rounds, v)
	sorted := slices.Sorted(slices.Values(s.Rounds))
	n := len(sorted)
	s.Min, s.Max, s.Median = sorted[0], sorted[n-1], (sorted[(n-1)/2]+sorted[n/2])/2
}

// Text formats the spread as "median (min–max)", "–" without a round.
func (s Spread) Text(digits int) string {
	if len(s.Rounds) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, s.Median, digits, s.Min, digits, s.Max)
}

// Texts formats several spreads.
func Texts(digits int, spreads ...Spread) (cells []string) {
	for _, s := range spreads {
		cells = append(cells, s.Text(digits))
	}
	return cells
}

// Number formats a whole number with thousands separators.
func Number[T int | int64](n T) string { return message.NewPrinter(language.English).Sprint(n) }

// Table is a Markdown table with aligned columns.
type Table struct {
	Head []string
	rows [][]string
}

// Add adds a row. Missing cells stay empty.
func (t *Table) Add(cells ...string) {
	t.rows = append(t.rows, append(cells, make([]string, max(0, len(t.Head)-len(cells)))...))
}

func (t Table) String() string {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(&b, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString("|\n")
	}
	line(t.Head)
	for _, w := range widths {
		b.WriteString("|" + strings.Repeat("-", w+2))
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// Output says where a result goes. It is a part of a command's flags.
type Output struct {
	JSON  bool   `name:"json" help:"Print JSON instead of tables."`
	Write string `type:"path" placeholder:"FILE" help:"Put the tables into this file too, each as soon as it is there, between the markers bench:NAME; pictures of growth go into the folder growth beside it."`
}

// Emit prints a result, as JSON or as its tables, and writes the tables into a
// section of the file of Output.
func (o Output) Emit(section string, result interface{ Markdown() string }) error {
	text := result.Markdown()
	printed := text
	if o.JSON {
		raw, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return err
		}
		printed = string(raw)
	}
	fmt.Println(printed)
	return o.Replace(section, text)
}

// Check returns an error if the file has no such section. A benchmark calls it
// before its long run.
func (o Output) Check(section string) error {
	_, _, err := o.around(section)
	return err
}

// Replace writes text between the markers <!-- bench:section --> and
// <!-- /bench:section --> of the file, if there is a file.
func (o Output) Replace(section, text string) error {
	before, after, err := o.around(section)
	if err != nil || o.Write == "" {
		return err
	}
	return os.WriteFile(o.Write, []byte(before+"\n"+strings.TrimSpace(text)+"\n"+after), 0o600)
}

// around returns the file up to the end of the first marker, and from the second.
func (o Output) around(section string) (before, after string, err error) {
	if o.Write == "" {
		return "", "", nil
	}
	raw, err := os.ReadFile(o.Write)
	if err != nil {
		return "", "", err
	}
	begin, end := "<!-- bench:"+section+" -->", "<!-- /bench:"+section+" -->"
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", errors.New(o.Write + " has no section between " + begin + " and " + end)
	}
	return before + begin, end + after, nil
}
