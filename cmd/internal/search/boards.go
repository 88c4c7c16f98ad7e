package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
	"atlas/workspace"
)

// Boards is `atlas boards`.
type Boards struct {
	List   boardsList   `cmd:"" help:"List the boards of the workspace by name."`
	Show   boardsShow   `cmd:"" help:"Show the tiles of a board, with --counts what they find."`
	Save   boardsSave   `cmd:"" help:"Create or change a board as a file says."`
	Delete boardsDelete `cmd:"" help:"Delete a board, for everybody."`
}

const boardsStatus = "It costs no credits. Status: 0 done, 1 failed, 2 arguments make no sense."

type boardsList struct {
	apiAccess
	cli.Output
}

// Help is shown below the options.
func (boardsList) Help() string { return boardsStatus }

// Check checks the options.
func (c *boardsList) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	return f.Err()
}

// Run lists.
func (c *boardsList) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	all, rows := []client.Board{}, [][]string(nil)
	for b, err := range api.Boards.List(ctx) {
		if err != nil {
			return boardError(s.Err, "", err)
		}
		all = append(all, b)
		rows = append(rows, []string{
			b.ID, cli.ShownText(b.Name), fmt.Sprint(len(b.Tiles)), fmt.Sprint(b.Revision), b.UpdatedAt.UTC().Format(time.RFC3339),
		})
	}
	return c.Print(s.Out, all, "ID NAME TILES REVISION CHANGED", rows)
}

// boardID is the argument of commands for one board.
type boardID struct {
	ID string `arg:"" help:"Board: atlas boards list has the ids."`
}

func (b boardID) Check(f *cli.Problems) {
	if _, err := workspace.ParseUUID(b.ID); err != nil {
		f.Add("<id> must be the id of a board, %s, and not its name: atlas boards list has the ids", input.UUIDText)
	}
}

type boardsShow struct {
	apiAccess
	boardID
	cli.Output

	Counts bool `help:"Count the records of every tile. A tile that cannot be counted says why."`
}

// Help is shown below the options.
func (boardsShow) Help() string {
	return "--json prints the board as atlas boards save takes it, and with --counts its tiles with their counts.\n\n" + boardsStatus
}

// Check checks the options.
func (c *boardsShow) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	c.boardID.Check(&f)
	return f.Err()
}

// countedTile is a tile with its count, or why that is not known.
type countedTile struct {
	client.Tile
	Count *int64 `json:"count"`
	Error string `json:"error,omitzero"`
}

// Run reads and prints.
func (c *boardsShow) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	board, err := api.Boards.Get(ctx, c.ID)
	if err != nil {
		return boardError(s.Err, c.ID, err)
	}
	if !c.Counts {
		var rows [][]string
		for _, t := range board.Tiles {
			rows = append(rows, tileCells(t))
		}
		return c.Print(s.Out, board, "TITLE KIND DATASET OF", rows)
	}
	tiles, rows := []countedTile{}, [][]string(nil)
	for _, t := range board.Tiles {
		counted := countedTile{Tile: t}
		shown := "-"
		switch n, err := countTile(ctx, api, t); {
		case ctx.Err() != nil:
			return apiError(s.Err, ctx.Err())
		case err != nil:
			counted.Error = withoutName(err)
		default:
			counted.Count, shown = &n, cli.Grouped(int(n))
		}
		tiles = append(tiles, counted)
		rows = append(rows, append(tileCells(t), shown, cli.ShownText(counted.Error)))
	}
	return c.Print(s.Out, tiles, "TITLE KIND DATASET OF COUNT ERROR", rows)
}

func tileCells(t client.Tile) []string {
	return []string{cli.ShownText(t.Title), string(t.Kind), string(t.Dataset), cmp.Or(t.ViewID, string(t.Of))}
}

// boardError prints an error of a service. A board that does not exist is not a wrong base
// URL.
func boardError(to io.Writer, id string, err error) error {
	if errors.Is(err, client.ErrNotFound) && id != "" {
		_, _ = fmt.Fprintf(to, "atlas: the workspace has no board %s: atlas boards list has the ids\n", id)
		return cli.ExitError(1)
	}
	return apiError(to, err)
}

// countTile counts the records of a tile by its own request.
func countTile(ctx context.Context, api *client.Client, t client.Tile) (int64, error) {
	c := conditions{Dataset: string(t.Dataset)}
	switch t.Of {
	case client.TileOfBook:
		c.Dataset, c.Book = "", string(t.Dataset)
	case client.TileOfView:
		c.Dataset, c.View = "", t.ViewID
	}
	in, err := c.find(ctx, api)
	if err != nil {
		return 0, err
	}
	if t.Kind == client.TilePivot {
		var request client.PivotRequest
		if err := json.Unmarshal(t.Request, &request); err != nil {
			return 0, err
		}
		request.DryRun = true
		p, err := in.source.Pivot(ctx, request)
		return p.Count, err
	}
	var request client.FacetRequest
	if err := json.Unmarshal(t.Request, &request); err != nil {
		return 0, err
	}
	request.Facets = nil // the count does not need them
	found, err := in.source.Facets(ctx, request)
	return found.Count, err
}

type boardsSave struct {
	apiAccess
	cli.Output

	File string `arg:"" help:"Board as JSON, - for the standard input. Without id it is a new one."`
}

// Help is shown below the options.
func (boardsSave) Help() string {
	return "What atlas boards show --json prints can be changed and saved. Its revision is compared: if somebody has changed the board meanwhile, nothing is saved. Without revision it takes the place of what is there.\n\n" + boardsStatus
}

// Check checks the options.
func (c *boardsSave) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	return f.Err()
}

// maxBoardFile is the maximum length of the file of a board, in bytes: more than 12 tiles
// need.
const maxBoardFile = 1 << 20

// Run saves.
func (c *boardsSave) Run(ctx context.Context, s *cli.Streams) error {
	board, err := c.read()
	if err != nil {
		return err
	}
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	saved, err := api.Boards.Upsert(ctx, board)
	if err != nil {
		return boardError(s.Err, board.ID, err)
	}
	return c.Print(s.Out, saved, "ID NAME TILES REVISION", [][]string{
		{saved.ID, cli.ShownText(saved.Name), fmt.Sprint(len(saved.Tiles)), fmt.Sprint(saved.Revision)},
	})
}

func (c *boardsSave) read() (board client.Board, err error) {
	in := io.Reader(os.Stdin)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return board, err
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxBoardFile+1))
	switch {
	case err != nil:
		return board, err
	case len(raw) > maxBoardFile:
		return board, fmt.Errorf("%s is longer than a board can be", c.File)
	}
	if err := decodeBoard(raw, &board); err != nil {
		return board, fmt.Errorf("%s is no board as atlas boards show --json prints it: %w", c.File, err)
	}
	return board, nil
}

// decodeBoard reads a board. It refuses unknown members, which would be lost.
func decodeBoard(raw []byte, board *client.Board) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(board)
	if err != nil {
		name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
		if !unknown {
			return err
		}
		names := append(jsonNames(reflect.TypeFor[client.Board]()), jsonNames(reflect.TypeFor[client.Tile]())...)
		return fmt.Errorf("it has no %s%s", name, input.DidYouMean("; ", strings.Trim(name, `"`), names, ""))
	}
	if _, more := d.Token(); more != io.EOF { //nolint:errorlint // as Decode
		return errors.New("something follows the board")
	}
	return nil
}

// jsonNames are the names of the members of a struct in JSON.
func jsonNames(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

type boardsDelete struct {
	apiAccess
	boardID
}

// Help is shown below the options.
func (boardsDelete) Help() string {
	return "atlas boards show --json before keeps what it was. " + boardsStatus
}

// Check checks the options.
func (c *boardsDelete) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	c.boardID.Check(&f)
	return f.Err()
}

// Run deletes.
func (c *boardsDelete) Run(ctx context.Context, s *cli.Streams) error {
	api, err := c.open((&exportProgress{to: s.Err}).observe)
	if err != nil {
		return err
	}
	if err := api.Boards.Delete(ctx, c.ID); err != nil {
		return boardError(s.Err, c.ID, err)
	}
	_, err = fmt.Fprintf(s.Out, "deleted %s\n", c.ID)
	return err
}
