package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"atlas/internal/fault"
	"atlas/workspace/postgres"
)

// ProgressInterval is how often a command reports its progress if the error stream is not a
// terminal.
const ProgressInterval = 5 * time.Second

// Explain formats a fault for the terminal: each issue on a line, and for an
// unavailable backend the cause, which an operator can act on.
func Explain(err error) error {
	if errors.Is(err, postgres.ErrLeaseLost) {
		return fmt.Errorf("%w while the work was under way; run the command again", postgres.ErrLeaseLost)
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	switch e.Code {
	case fault.InvalidInput:
		lines := make([]string, len(e.Issues))
		for i, issue := range e.Issues {
			lines[i] = strings.Join(issue.Path, ".") + " " + issue.Message
		}
		return errors.New(strings.Join(lines, "\n"))
	case fault.Unavailable, fault.Internal:
		if cause := e.Unwrap(); cause != nil {
			return cause
		}
	}
	return errors.New(e.Message)
}

func PrintJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// PrintTable prints aligned columns. The words of heading are the column names.
func PrintTable(out io.Writer, heading string, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{strings.Fields(heading)}, rows...) {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Grouped formats a number as 1,234,567.
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// maxShown is the maximum length of a table cell in characters.
const maxShown = 44

// ShownText formats a text for a cell of a table: one line, truncated, without control
// characters, because the text may come from anyone; - for an empty one.
func ShownText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown-1]) + "…"
	}
	if text == "" {
		return "-"
	}
	return text
}
