package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

// table is a Markdown table, its columns aligned so that it reads as it is.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t table) String() string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
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
	line(t.head)
	for _, w := range widths {
		b.WriteString("|" + strings.Repeat("-", w+2))
	}
	b.WriteString("|\n")
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// emit prints a result, as JSON or as its tables, and puts the tables into the
// section of a file, if one is given.
func emit(report interface{ markdown() string }, asJSON bool, file, section string) error {
	text := report.markdown()
	if asJSON {
		raw, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		fmt.Println(string(raw))
	} else {
		fmt.Println(text)
	}
	if file == "" {
		return nil
	}
	return replaceSection(file, section, text)
}

// replaceSection puts text between the markers <!-- bench:name --> and
// <!-- /bench:name --> of a file, which has both.
func replaceSection(path, name, text string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- bench:"+name+" -->", "<!-- /bench:"+name+" -->"
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return errors.New(path + " has no section between " + begin + " and " + end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+strings.TrimSpace(text)+"\n"+end+after), 0o644)
}
