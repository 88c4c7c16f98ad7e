package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/workspace/audit"
	"atlas/workspace/postgres"
)

// Audit is `atlas audit`.
type Audit struct {
	List   auditListCmd   `cmd:"" help:"List what changed access or left the house, of a workspace or the installation, the newest first."`
	Verify auditVerifyCmd `cmd:"" help:"Verify the digests of the audit log, and say what that proves."`
	Failed auditFailedCmd `cmd:"" name:"failed-sign-ins" help:"List how often sign-ins and credentials were refused, by minute, reason and network."`
	Erase  auditEraseCmd  `cmd:"" help:"Erase a person's value, such as an address, from the audit log; its digests stay whole."`
	Export auditExportCmd `cmd:"" help:"Write what changed in a workspace, who changed it, and when, the oldest first."`
}

type auditExportCmd struct {
	cli.Output

	PostgresSystemURL string `name:"postgres-system-url" env:"ATLAS_POSTGRES_SYSTEM_URL" required:"" placeholder:"URL" help:"Postgres as the role atlas_system, for what crosses workspaces."`

	ofWorkspace
	Since instant `placeholder:"TIME" help:"Only changes after a time, as 2026-01-31 (its begin in UTC) or 2026-01-31T09:30:00Z."`

	headed bool
}

// instant is a time, or a day: its start in UTC.
type instant struct{ time.Time }

// UnmarshalText reads the time.
func (i *instant) UnmarshalText(text []byte) (err error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if i.Time, err = time.Parse(layout, string(text)); err == nil {
			return nil
		}
	}
	return errors.New("must be a day, 2026-01-31, or a time, 2026-01-31T09:30:00Z")
}

// auditPage is how many changes are read at once.
const auditPage = 1000

// Run writes the changes page by page, so memory does not grow with them.
func (c *auditExportCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		if _, err := system.WorkspaceByID(ctx, c.Workspace); err != nil {
			return err
		}
		stored, err := system.ChangesStoredSince(ctx, c.Workspace)
		if err != nil {
			return err
		}
		if c.Since.Before(stored) {
			fmt.Fprintf(s.Err, "changes from before %s are not stored\n", stored.UTC().Format(time.RFC3339))
		}
		for after := (audit.Position{}); ; {
			var page []audit.Change
			if page, after, err = system.StoredChanges(ctx, c.Workspace, c.Since.Time, after, auditPage); err != nil {
				return err
			}
			if err := c.write(s, page); err != nil || len(page) < auditPage {
				return err
			}
		}
	})
}

// write writes a page. Each page of a table has its own heading and widths; CSV has one
// header.
func (c *auditExportCmd) write(s *cli.Streams, page []audit.Change) error {
	if c.JSON {
		out := json.NewEncoder(s.Out)
		for _, change := range page {
			if err := out.Encode(change); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]string, len(page))
	for i, change := range page {
		by, view := change.By.Text(), "-"
		if by == "" {
			by = "operator"
		}
		if change.View != uuid.Nil {
			view = change.View.String()
		}
		rows[i] = []string{
			when(&change.At),
			by,
			string(change.Op),
			string(change.Kind),
			change.ID.String(),
			orDash(string(change.Dataset)),
			view,
			orDash(strings.Join(change.Fields, ",")),
		}
	}
	heading := "AT BY OP KIND ID DATASET VIEW CHANGED"
	if c.Output.Output != "csv" {
		return cli.PrintTable(s.Out, heading, rows)
	}
	if c.headed {
		return cli.PrintCSV(s.Out, nil, rows)
	}
	c.headed = true
	return c.Print(s.Out, nil, heading, rows)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
