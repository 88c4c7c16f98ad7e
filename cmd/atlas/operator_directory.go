package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/postgres"
)

// operatorDB is how the operator's commands reach Postgres, and how they answer.
type operatorDB struct {
	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system, for what crosses workspaces."`
	JSON              bool   `name:"json" help:"Answer in JSON instead of a table."`
}

// with runs an action on the directory and words its error for a person.
func (o operatorDB) with(ctx context.Context, act func(*workspace.Directory) error) error {
	return withDirectory(ctx, o.PostgresSystemURL, act)
}

func withDirectory(ctx context.Context, systemURL string, act func(*workspace.Directory) error) error {
	system, err := postgres.OpenSystem(ctx, systemURL, postgres.Options{MaxConns: 2})
	if err != nil {
		return err
	}
	defer system.Close()
	return operatorError(act(workspace.NewDirectory(system, nil)))
}

// operatorError words a fault for the terminal: every issue on its own line, and
// of an outage its cause, which an operator can do something about.
func operatorError(err error) error {
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

// answer prints rows, as a table under a heading, or as JSON when that is asked
// for: value is the same data.
func (o operatorDB) answer(out io.Writer, value any, heading string, rows [][]string) error {
	if o.JSON {
		return printJSON(out, value)
	}
	return printTable(out, heading, rows)
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printTable aligns the columns; the heading's are separated by spaces.
func printTable(out io.Writer, heading string, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{strings.Fields(heading)}, rows...) {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// when shows a time that may not be set.
func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
