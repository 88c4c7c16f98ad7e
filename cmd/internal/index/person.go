package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"atlas/cmd/internal/cli"
	"atlas/indexer/eraser"
	"atlas/indexer/erasure"
	"atlas/search/catalog"
)

// Person is `atlas person`.
type Person struct {
	Export personExport `cmd:"" help:"Write all that is held about a person, a firm or a project, as JSON."`
	Link   personLink   `cmd:"" help:"Mail a contact a link, to its own address, by which the person has it erased."`
}

type personExport struct {
	suppressConfig
	whom
}

// held is all data about a person.
type held struct {
	// Records are those of each generation.
	Records []eraser.Record `json:"records"`
	// Mentions are records of the served generation that have the value, or the name of one of
	// the Records, in a text.
	Mentions map[catalog.Dataset][]string `json:"mentions"`
	// Workspaces has the rows of workspaces by record and table, Account those of an Atlas
	// account with the address.
	Workspaces map[string]map[string][]json.RawMessage `json:"workspaces"`
	Account    map[string][]json.RawMessage            `json:"account"`
	Suppressed bool                                    `json:"suppressed"`
}

// Run writes the export.
func (c *personExport) Run(ctx context.Context, s *cli.Streams) error {
	kind, v, err := c.value()
	if err != nil {
		return err
	}
	return c.suppressConfig.with(ctx, s, func(e *eraser.Eraser, w writer) error {
		set, err := e.Current(ctx)
		if err != nil {
			return err
		}
		of := held{
			Mentions: map[catalog.Dataset][]string{}, Workspaces: map[string]map[string][]json.RawMessage{}, Suppressed: set.Has(c.Dataset, v),
		}
		if of.Records, err = e.Export(ctx, c.Dataset, kind, v); err != nil {
			return err
		}
		values := texts(v)
		for _, r := range of.Records {
			known, _ := erasure.Read(r.Record)
			values = append(values, texts(erasure.Values{Name: known.Name, Email: known.Email})...)
			if of.Workspaces[r.ID.String()], err = w.RowsOf(ctx, c.Dataset, r.ID); err != nil {
				return err
			}
		}
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			for _, d := range catalog.Datasets {
				ids, err := e.Mentions(ctx, c.Names().Alias(string(d)), value)
				if err != nil {
					return err
				}
				of.Mentions[d] = append(of.Mentions[d], ids...)
			}
		}
		for d, ids := range of.Mentions { // one record can have several of the values
			slices.Sort(ids)
			of.Mentions[d] = slices.Compact(ids)
		}
		if v.Email != "" {
			if of.Account, err = w.AccountOf(ctx, v.Email); err != nil {
				return err
			}
		}
		// This comes before printing: no export without an event in the audit log.
		if err := w.PersonExported(ctx, c.Dataset, kind, len(of.Records)); err != nil {
			return err
		}
		return cli.PrintJSON(s.Out, of)
	})
}

// texts are the values that are searched for in texts.
func texts(v erasure.Values) (all []string) {
	for _, value := range []string{v.ID, v.Email, v.Name, v.Phone} {
		if value != "" {
			all = append(all, value)
		}
	}
	return all
}

type suppressReport struct {
	suppressConfig
	whom

	RedisURL    string `name:"redis-url" env:"ATLAS_REDIS_URL" placeholder:"URL" help:"Redis; default: it is not searched."`
	RedisPrefix string `name:"redis-prefix" env:"ATLAS_REDIS_PREFIX" default:"atlas:credits:" help:"What the names of all Redis keys begin with (default: atlas:credits:)."`
}

// Help is shown below the options.
func (suppressReport) Help() string {
	return `Searches Elasticsearch, Postgres, Redis and the folders for the value itself, and lists where it is still, and why. It never prints the value. In Redis it also reads what Atlas compresses. What is encrypted, and compressed files, are not seen.

Status: 0 nothing is left, 1 it could not be searched, 2 arguments or configuration make no sense, 3 something is left.`
}

// remainder is a place where a value still is.
type remainder struct {
	Store string `json:"store"`
	Place string `json:"place"`
	Count int64  `json:"count"`
	Why   string `json:"why"`
}

// Run searches and prints the remainders.
func (c *suppressReport) Run(ctx context.Context, s *cli.Streams) error {
	_, v, err := c.value()
	if err != nil {
		return err
	}
	values := texts(v)
	var left []remainder
	err = c.suppressConfig.with(ctx, s, func(e *eraser.Eraser, w writer) error {
		in, err := e.Indices(ctx, c.Names())
		if err != nil {
			return err
		}
		for _, index := range in {
			var n int64
			for _, value := range values {
				ids, err := e.Mentions(ctx, index, value)
				if err != nil {
					return err
				}
				n += int64(len(ids))
			}
			if n > 0 {
				left = append(
					left,
					remainder{
						"elasticsearch",
						index,
						n,
						"records have it in a text, or it is not suppressed: atlas person export shows the ids",
					},
				)
			}
		}
		columns, err := w.Mentions(ctx, values)
		for _, m := range columns {
			left = append(left, remainder{"postgres", m.Table + "." + m.Column, m.Rows, whyStored(m.Table)})
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, search := range []func(context.Context, []string) ([]remainder, error){c.inRedis, c.inFolders} {
		more, err := search(ctx, values)
		if err != nil {
			return err
		}
		left = append(left, more...)
	}
	var rows [][]string
	for _, r := range left {
		rows = append(rows, []string{r.Store, r.Place, fmt.Sprint(r.Count), r.Why})
	}
	if left == nil {
		left = []remainder{}
	}
	if err := c.Print(s.Out, left, "STORE PLACE COUNT WHY", rows); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(
		s.Err,
		"not searched: the write-ahead log and dead rows of Postgres, backups, snapshots, replicas, logs, data files, copies of followers, folders of other machines",
	)
	if len(left) > 0 {
		return cli.ExitError(leftOutStatus)
	}
	return nil
}

// whyStored says why a table has a value that is erased elsewhere.
func whyStored(table string) string {
	switch table {
	case "overlays", "merged_overlays", "views", "boards", "skills":
		return "people of a workspace wrote it"
	case "users", "members", "invitations", "workspaces":
		return "an Atlas account or invitation: its owner, or an operator, ends it"
	case "audit_values":
		return "what events of the audit log stand for: atlas audit erase takes it away"
	case "data_changes", "workspace_changes", "deleted_records", "view_alert_entries", "dismissed_signals":
		return "the id in what changed: stored for a time"
	case "held_records", "suppressed_records", "erasure_links":
		return "the id: it goes when the document is gone"
	case "jobs", "stored_answers":
		return "background work, or an answer to be replayed: stored for a day"
	}
	return "see docs/stored.md"
}

// inFolders searches files of dead letters and work folders.
func (c *suppressReport) inFolders(ctx context.Context, values []string) (left []remainder, err error) {
	for _, folder := range c.folders() {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			if err != nil || ctx.Err() != nil {
				return cmp.Or(err, context.Cause(ctx))
			}
			file, err := os.Open(path) // #nosec G304 G122 -- below a folder that who runs the command names, and read only
			if errors.Is(err, fs.ErrNotExist) {
				return nil // its load or delta has ended
			}
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			found, err := mentions(file, values)
			if found {
				left = append(left, remainder{"folder", path, 1, "a load or delta that is not finished, or another file"})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return left, nil
}

// contains reports whether content has one of the values, in lower case or capitals.
func contains(content []byte, values []string) bool {
	content = bytes.ToLower(content)
	return slices.ContainsFunc(values, func(v string) bool { return bytes.Contains(content, bytes.ToLower([]byte(v))) })
}

// searchedAtOnce is how many bytes of a file mentions has in memory.
const searchedAtOnce = 1 << 20

// mentions reports whether a text contains one of the values.
func mentions(text io.Reader, values []string) (bool, error) {
	overlap := 0
	for _, v := range values {
		// A letter has at most 4 bytes, whatever its case.
		overlap = max(overlap, utf8.UTFMax*len(v))
	}
	buffer := make([]byte, 0, searchedAtOnce+overlap)
	for {
		n, err := io.ReadFull(text, buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		if contains(buffer, values) {
			return true, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		// A value may begin in this part and end in the next.
		buffer = buffer[:copy(buffer, buffer[len(buffer)-overlap:])]
	}
}
