package search

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// marked is a cell of a table with its matches.
type marked struct {
	cell      string
	fragments []client.Fragment
}

// Escape sequences of terminals for bold text.
const (
	bold   = "\x1b[1m"
	normal = "\x1b[22m"
)

// marksShown reports whether matches are shown in bold: on a terminal, unless NO_COLOR is
// set.
func marksShown(to io.Writer) bool { return cli.IsTerminal(to) && os.Getenv("NO_COLOR") == "" }

// printMarked prints a table as cli.PrintTable does, with marks.
func printMarked(to io.Writer, heading string, rows [][]marked) error {
	texts := make([][]string, len(rows))
	for i, row := range rows {
		for _, c := range row {
			texts[i] = append(texts[i], c.cell)
		}
	}
	var b bytes.Buffer
	if err := cli.PrintTable(&b, heading, texts); err != nil {
		return err
	}
	lines := slices.Collect(strings.Lines(b.String()))
	for i, row := range rows {
		lines[i+1] = markLine(lines[i+1], row) // after the heading
	}
	_, err := io.WriteString(to, strings.Join(lines, ""))
	return err
}

// markLine marks the cells of a line, which occur in it in their order.
func markLine(line string, cells []marked) string {
	var b strings.Builder
	for _, c := range cells {
		at := strings.Index(line, c.cell)
		if at < 0 {
			break
		}
		b.WriteString(line[:at])
		b.WriteString(c.bold())
		line = line[at+len(c.cell):]
	}
	return b.String() + line
}

// bold is the cell with its matches in bold. A cell has the characters of its text, up to
// its length; in a list their positions are not known.
func (c marked) bold() string {
	text := []rune(c.cell)
	var b strings.Builder
	end := 0
	for _, f := range c.fragments {
		for _, m := range f.Marks {
			from, to := f.From+m[0], min(f.From+m[1], len(text))
			part := []rune(f.Text)
			if from < end || from >= to || m[0] < 0 || m[0] >= len(part) || part[m[0]] != text[from] {
				continue // a fragment of another text, or beyond the cell
			}
			b.WriteString(string(text[end:from]) + bold + string(text[from:to]) + normal)
			end = to
		}
	}
	return b.String() + string(text[end:])
}
