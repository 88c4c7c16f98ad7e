package operator

import (
	"context"
	"encoding/json"

	"atlas/cmd/internal/cli"
	"atlas/workspace"
	"atlas/workspace/postgres"
)

type mergedOverlaysCmd struct {
	database
	ID    workspace.ID `arg:"" help:"Id of the workspace."`
	Limit int          `default:"1000" help:"How many, the latest first (default: 1000)."`
}

// Run lists the overlays of merged records whose target has an overlay of the workspace
// too.
func (c *mergedOverlaysCmd) Run(ctx context.Context, s *cli.Streams) error {
	return withSystem(ctx, c.PostgresSystemURL, func(system *postgres.System) error {
		all, err := system.MergedOverlays(ctx, c.ID, c.Limit)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, m := range all {
			overlay, err := json.Marshal(m.Overlay)
			if err != nil {
				return err
			}
			rows = append(rows, []string{string(m.Dataset), m.Record.String(), m.Into.String(), when(&m.MergedAt), string(overlay)})
		}
		return c.answer(s.Out, all, "DATASET RECORD INTO MERGED OVERLAY", rows)
	})
}
