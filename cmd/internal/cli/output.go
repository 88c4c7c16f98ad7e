package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// Output is the option of commands that print records or lists.
type Output struct {
	Output string `enum:"table,json,csv" default:"table" help:"Form of what is printed: table, json, csv (default: table)."`
	JSON   bool   `name:"json" help:"The same as --output json."`
}

// AfterApply sets JSON to match Output.
func (o *Output) AfterApply() error {
	if o.JSON {
		if o.Output != "table" && o.Output != "json" { // table is the default
			return fmt.Errorf("--json and --output %s exclude each other", o.Output)
		}
		o.Output = "json"
	}
	o.JSON = o.Output == "json"
	return nil
}

// Print prints rows under a heading, or value, the same data, as JSON.
func (o Output) Print(out io.Writer, value any, heading string, rows [][]string) error {
	switch {
	case o.JSON:
		return PrintJSON(out, value)
	case o.Output == "csv":
		return PrintCSV(out, strings.Fields(strings.ToLower(heading)), rows)
	}
	return PrintTable(out, heading, rows)
}

// PrintCSV prints RFC 4180 CSV with a header, unless columns is nil. "-", which stands for
// nothing in a table, is an empty cell. Cells are escaped so that spreadsheets do not run
// them as formulas.
func PrintCSV(out io.Writer, columns []string, rows [][]string) error {
	w := csv.NewWriter(out)
	if columns != nil {
		_ = w.Write(columns) // Flush returns the error
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			switch {
			case cell == "-":
			case LikeFormula(cell):
				cells[i] = "'" + cell
			default:
				cells[i] = cell
			}
		}
		_ = w.Write(cells)
	}
	w.Flush()
	return w.Error()
}

// LikeFormula reports whether a spreadsheet may evaluate a text as a formula. Some
// spreadsheets skip leading spaces and control characters, and East Asian ones accept
// fullwidth signs.
func LikeFormula(text string) bool {
	if strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "\r") || strings.HasPrefix(text, "\n") {
		return true
	}
	text = strings.TrimLeftFunc(text, func(r rune) bool { return r <= ' ' || r == '\u00a0' || r == '\u3000' || r == '\ufeff' })
	return strings.IndexAny(text, "=+-@＝＋－＠") == 0
}
