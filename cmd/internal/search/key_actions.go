package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
	"atlas/workspace"
)

// KeyActions are the commands of `atlas key` that ask a service as an owner or admin.
type KeyActions struct {
	Actions keyActions `cmd:"" help:"List what an API key changed in a workspace, also after its end, the latest first."`
	Undo    keyUndo    `cmd:"" help:"Undo what a revoked API key changed in a workspace, as far as nobody else has changed it since."`
}

const keyActionsStatus = "It asks the service for an owner or admin: by --token, with --workspace. It costs no credits. Status: 0 done, 1 failed, 2 arguments make no sense."

// ofKey is the argument and the access of commands about what a key did.
type ofKey struct {
	apiAccess
	cli.Output

	ID string `arg:"" help:"Id of the key: atlas key list and the settings of the Explorer have it."`
}

// Check checks the options.
func (c *ofKey) Check() error {
	var f cli.Problems
	if c.APIKey != "" && c.Token != "" {
		c.APIKey = "" // one of the environment, which other commands use
	}
	c.apiAccess.Check(&f)
	if c.APIKey != "" {
		f.Add("--api-key (ATLAS_API_KEY): only people look at what keys did, and undo it: give --token (ATLAS_TOKEN), with --workspace")
	}
	if _, err := workspace.ParseUUID(c.ID); err != nil {
		f.Add("<id> must be the id of an API key, %s: atlas key list has the ids", input.UUIDText)
	}
	return f.Err()
}

type keyActions struct {
	ofKey

	Limit int `default:"1000" help:"The most actions that are listed, the latest first (default: 1000)."`
}

// Help is shown below the options.
func (keyActions) Help() string {
	return "UNDO says whether it could be undone: possible, nothing_left, changed_since by somebody else, not_stored or not_offered.\n\n" + keyActionsStatus
}

// Check checks the options.
func (c *keyActions) Check() error {
	if err := c.ofKey.Check(); err != nil {
		return err
	}
	if c.Limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	return nil
}

// Run lists.
func (c *keyActions) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	all, rows, more := []client.KeyAction{}, [][]string(nil), false
	for a, err := range api.APIKeys.Actions(ctx, c.ID) {
		if err != nil {
			return keyError(s.Err, c.ID, err)
		}
		if more = len(all) == c.Limit; more {
			break
		}
		all, rows = append(all, a), append(rows, append(actionCells(a), a.Undo))
	}
	if err := c.Print(s.Out, all, "ID AT ACTION KIND OBJECT FIELDS UNDO", rows); err != nil || !more {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "atlas: the key did more before: --limit above %d lists it\n", c.Limit)
	return err
}

type keyUndo struct {
	ofKey

	DryRun bool      `name:"dry-run" help:"Change nothing, and list what would be undone."`
	Since  time.Time `placeholder:"TIME" help:"Only what the key did from this time on, such as 2026-01-31T09:00:00Z (default: all)."`
	Action []int64   `name:"action" placeholder:"ID" help:"Only this action, by its id; may be repeated (default: all)."`
}

// Help is shown below the options.
func (keyUndo) Help() string {
	return "Look first with --dry-run. Each object is undone alone, and repeating it changes nothing more. OUTCOME says what became of it: undone, nothing_left, changed_since by somebody else, not_stored, not_offered, or refused for REASON.\n\n" + keyActionsStatus
}

// maxUndone is how many actions a request undoes.
const maxUndone = 1000

// Check checks the options.
func (c *keyUndo) Check() error {
	if err := c.ofKey.Check(); err != nil {
		return err
	}
	switch {
	case len(c.Action) > 0 && !c.Since.IsZero():
		return errors.New("--action and --since exclude each other: leave one out")
	case len(c.Action) > maxUndone:
		return fmt.Errorf("--action: at most %d at once", maxUndone)
	}
	for _, id := range c.Action {
		if id < 1 {
			return errors.New("--action must be the id of an action: atlas key actions has the ids")
		}
	}
	return nil
}

// Run undoes, and prints what became of each action.
func (c *keyUndo) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	all, rows := []client.KeyAction{}, [][]string(nil)
	request := client.KeyUndo{IDs: c.Action, Since: c.Since, DryRun: c.DryRun}
	counts := map[string]int{}
	for {
		page, next, err := api.APIKeys.Undo(ctx, c.ID, request)
		if err != nil {
			if len(all) > 0 && !c.DryRun {
				_, _ = fmt.Fprintf(s.Err, "atlas: %d were undone before; to go on, run it again\n", counts["undone"])
			}
			return keyError(s.Err, c.ID, err)
		}
		for _, a := range page {
			counts[a.Outcome]++
			all, rows = append(all, a), append(rows, append(actionCells(a), a.Outcome, cli.ShownText(a.Reason)))
		}
		if request.Cursor = next; next == "" {
			break
		}
	}
	if err := c.Print(s.Out, all, "ID AT ACTION KIND OBJECT FIELDS OUTCOME REASON", rows); err != nil {
		return err
	}
	verb := "undone"
	if c.DryRun {
		verb = "would be undone"
	}
	_, err = fmt.Fprintf(s.Err, "atlas: %d of %d actions %s\n", counts["undone"], len(all), verb)
	return err
}

func actionCells(a client.KeyAction) []string {
	object := a.ObjectID
	if a.ViewID != "" {
		object = a.ViewID + "/" + object
	}
	fields := strings.Join(a.Fields, ",")
	if fields == "" {
		fields = "-"
	}
	kind := a.Kind
	if a.Dataset != "" {
		kind += "/" + a.Dataset
	}
	return []string{fmt.Sprint(a.ID), a.At.UTC().Format(time.RFC3339), a.Action, kind, object, cli.ShownText(fields)}
}

// keyError prints an error of a service. A key that the workspace does not know is no wrong
// base URL.
func keyError(to io.Writer, id string, err error) error {
	if errors.Is(err, client.ErrNotFound) {
		_, _ = fmt.Fprintf(to, "atlas: the workspace has no API key %s: atlas key list has the ids\n", id)
		return cli.ExitError(1)
	}
	return apiError(to, err)
}
