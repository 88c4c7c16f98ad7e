package index

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/cmd/internal/cli"
	"atlas/indexer"
	"atlas/indexer/eraser"
	"atlas/indexer/erasure"
	"atlas/indexer/extsort"
	"atlas/indexer/generation"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// Suppress is `atlas suppress`.
type Suppress struct {
	Add    suppressAdd    `cmd:"" help:"Erase a person, a firm or a project, and keep it out of all later loads."`
	List   suppressList   `cmd:"" help:"List what is suppressed. It has no values, only digests."`
	Remove suppressRemove `cmd:"" help:"Allow loading again. What was erased does not come back by itself."`
	Export suppressExport `cmd:"" help:"Write the list, to be stored apart from backups."`
	Report suppressReport `cmd:"" help:"Search all stores for a value, and list what is left and why."`
	Import suppressImport `cmd:"" help:"Add an exported list, and erase what it has: after a backup was restored, before servers start."`
}

// whom are the options that identify a person or record.
type whom struct {
	Dataset catalog.Dataset `default:"contacts" enum:"contacts,accounts,projects" help:"Dataset of the record: contacts, accounts or projects (default: contacts)."`
	ID      string          `name:"id" placeholder:"ID" help:"Id of the record."`
	Email   string          `placeholder:"ADDRESS" help:"E-mail address of the person; -: read it from the standard input."`
	Phone   string          `placeholder:"NUMBER" help:"Phone number of the person; -: read it from the standard input."`
	Name    string          `placeholder:"NAME" help:"Name of the person, together with --firm; -: read it from the standard input."`
	Firm    string          `placeholder:"NAME" help:"Name of the person's firm as the records have it."`
}

// value returns the given value; there must be exactly one.
func (w whom) value() (kind erasure.Kind, v erasure.Values, err error) {
	given := 0
	for _, one := range []struct {
		kind erasure.Kind
		from string
		to   *string
	}{{erasure.ID, w.ID, &v.ID}, {erasure.Email, w.Email, &v.Email}, {erasure.Phone, w.Phone, &v.Phone}, {erasure.NameFirm, w.Name, &v.Name}} {
		if one.from == "" {
			continue
		}
		given++
		kind, *one.to = one.kind, one.from
		if one.from == "-" {
			line, err := bufio.NewReader(os.Stdin).ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return kind, v, err
			}
			*one.to = strings.TrimSpace(line)
		}
	}
	v.Firm = w.Firm
	switch {
	case given != 1:
		return kind, v, cli.ConfigError{"give one of --id, --email, --phone, --name"}
	case (w.Firm != "") != (w.Name != ""):
		return kind, v, cli.ConfigError{"--name and --firm go together: a name alone is of many people"}
	}
	return kind, v, nil
}

// suppressConfig are the options of commands that erase.
type suppressConfig struct {
	generationsConfig
	waitConfig
	retryConfig
	cli.Output

	TempDir string   `name:"temp-dir" env:"ATLAS_TEMP_DIR" type:"path" placeholder:"DIR" help:"Folder of the default work folders; default: atlas in the user's folder for caches."`
	Folder  []string `sep:"none" type:"existingdir" placeholder:"DIR" help:"Folder with dead letters or work folders of loads and deltas, beside those of this user; may be given several times."`
}

func (c *suppressConfig) Check(f *cli.Problems) {
	c.generationsConfig.Check(f)
	c.waitConfig.Check(f)
	c.retryConfig.Check(f)
}

// with runs work with an eraser that waits for loads and deltas.
func (c *suppressConfig) with(ctx context.Context, s *cli.Streams, work func(*eraser.Eraser, writer) error) error {
	var f cli.Problems
	c.Check(&f)
	if err := f.Err(); err != nil {
		return err
	}
	w, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	w.eraser.Lease, w.eraser.Retry = c.lease(w.System, s.Err), c.retry()
	w.eraser.Note = func(text string) { _, _ = fmt.Fprintln(s.Err, "note:", text) }
	return cli.Explain(work(w.eraser, w))
}

// folders are the given ones, the default work folders of loads and deltas, and what verify
// and duplicates left.
func (c *suppressConfig) folders() []string {
	cache := indexer.DefaultTempDir()
	parent := cmp.Or(c.TempDir, cache)
	return slices.Concat(c.Folder, indexer.WorkFolders(parent), extsort.ScratchFolders(parent),
		[]string{filepath.Join(cache, "delta"), filepath.Join(cache, "suppress")})
}

// finish erases the records of the list, and prints the result.
func (c *suppressConfig) finish(ctx context.Context, s *cli.Streams, e *eraser.Eraser, values map[uuid.UUID]erasure.Values) error {
	e.Folders = c.folders()
	outcome, err := e.Finish(ctx, values)
	if err != nil {
		return fmt.Errorf("%w (the records are deleted, but not all that has something of them; the same command goes on)", err)
	}
	outcome.Left = slices.DeleteFunc(outcome.Left, func(path string) bool {
		return strings.Contains(path, filepath.Join("suppress", c.installation()))
	})
	if c.JSON {
		return cli.PrintJSON(s.Out, outcome)
	}
	for _, d := range erasure.Datasets() {
		for _, id := range outcome.Records[d] {
			_, _ = fmt.Fprintf(s.Out, "erased %s of %s\n", id, d)
		}
	}
	for _, path := range outcome.Left {
		_, _ = fmt.Fprintf(
			s.Err,
			"note: a load or delta in %s is not finished, and its files can have the record: finish it, or drop it with --restart or --abandon\n",
			path,
		)
	}
	_, err = fmt.Fprintf(
		s.Out,
		"records erased: %d, in %d generations; of workspaces: %d overlays, %d memberships, %d stored answers; dead letters: %d\n",
		outcome.Records.Len(),
		len(outcome.Generations),
		outcome.Overlays,
		outcome.Memberships,
		outcome.Answers,
		outcome.DeadLetters,
	)
	return err
}

// who names the person who runs a command, unless given.
func who(by string) string {
	if by != "" {
		return by
	}
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + generation.Host()
}

type suppressAdd struct {
	suppressConfig
	whom

	Reason string `placeholder:"TEXT" help:"Why, for the list, at most 500 characters; no value of the person."`
	By     string `placeholder:"TEXT" help:"Who asked for it, for the list; default: who runs the command."`
	All    bool   `help:"Erase all records that the value is of, though they are several."`
	DryRun bool   `help:"List the ids of the records that would be erased, and erase nothing."`
}

// Help is shown below the options.
func (suppressAdd) Help() string {
	return `The records are deleted from every generation, workspaces lose what they have of them, and loads and deltas leave them out from then on, counted as suppressed. Of the value only a keyed digest is stored. Killed half-way, the same command ends it. While a load is at work the records are deleted at once, and the rest when it has ended (--wait).

Status: 0 erased, 1 not finished (the same command goes on), 2 arguments or configuration make no sense, or the value is of several records and --all is missing.`
}

// Run erases.
func (c *suppressAdd) Run(ctx context.Context, s *cli.Streams) error {
	kind, v, err := c.value()
	if err != nil {
		return err
	}
	if len([]rune(c.Reason)) > 500 || len([]rune(c.By)) > 200 {
		return cli.ConfigError{"--reason has at most 500 characters, --by 200"}
	}
	return c.with(ctx, s, func(e *eraser.Eraser, _ writer) error {
		found, err := e.Find(ctx, c.Dataset, kind, v)
		if err != nil {
			return err
		}
		if c.DryRun || found.Len() > 1 && !c.All {
			return c.show(s, found)
		}
		_, values, err := e.Add(ctx, c.Dataset, kind, v, c.Reason, who(c.By))
		if err != nil {
			return err
		}
		return c.finish(ctx, s, e, values)
	})
}

// show lists the affected records.
func (c *suppressAdd) show(s *cli.Streams, found eraser.Records) error {
	if c.JSON {
		if err := cli.PrintJSON(s.Out, map[string]any{"records": found}); err != nil {
			return err
		}
	} else {
		for d, ids := range found {
			for _, id := range ids {
				_, _ = fmt.Fprintf(s.Out, "%s of %s\n", id, d)
			}
		}
	}
	if c.DryRun {
		_, err := fmt.Fprintf(s.Err, "records that would be erased: %d\n", found.Len())
		return err
	}
	return cli.ConfigError{fmt.Sprintf("this is of %d records: --all erases all of them, --id one", found.Len())}
}

type suppressList struct {
	suppressConfig
	Removed bool `help:"Also those that were removed."`
}

// Run lists the suppressions.
func (c *suppressList) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, s, func(_ *eraser.Eraser, w writer) error {
		list, err := w.Suppressions(ctx)
		if err != nil {
			return err
		}
		shown := []suppression{}
		var rows [][]string
		for _, e := range list {
			if e.Removed != nil && !c.Removed {
				continue
			}
			shown = append(shown, suppressionOf(e))
			state := "erased"
			switch {
			case e.Removed != nil:
				state = "removed"
			case e.Applied == nil:
				state = "not finished"
			}
			rows = append(rows, []string{
				e.ID.String(), string(e.Dataset), string(e.Kind), cmp.Or(textOf(e.Of), "-"), e.Added.UTC().Format(time.RFC3339), state, e.By, e.Reason,
			})
		}
		return c.Print(s.Out, shown, "ID DATASET KIND OF ADDED STATE BY REASON", rows)
	})
}

type suppressRemove struct {
	suppressConfig
	Suppression uuid.UUID `arg:"" help:"Id of the suppression, as suppress list has it."`
	By          string    `placeholder:"TEXT" help:"Who asked for it; default: who runs the command."`
}

// Run removes a suppression.
func (c *suppressRemove) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, s, func(_ *eraser.Eraser, w writer) error {
		if err := w.RemoveSuppression(ctx, c.Suppression, who(c.By)); err != nil {
			return err
		}
		_, err := fmt.Fprintln(
			s.Out,
			"removed, with those of it: the next load or delta that has the record brings it back, unless another suppression is of it",
		)
		return err
	})
}

// suppression is an entry of an exported list.
type suppression struct {
	ID            uuid.UUID       `json:"id"`
	Dataset       catalog.Dataset `json:"dataset"`
	Kind          erasure.Kind    `json:"kind"`
	Of            string          `json:"of,omitempty"`
	Normalization int             `json:"normalization"`
	Key           int             `json:"key"`
	Digest        string          `json:"digest"`
	KeyCheck      string          `json:"key_check,omitempty"`
	Reason        string          `json:"reason"`
	By            string          `json:"by"`
	Added         time.Time       `json:"added_at"`
	Applied       *time.Time      `json:"erased_at,omitempty"`
	Removed       *time.Time      `json:"removed_at,omitempty"`
}

func suppressionOf(e erasure.Suppression) suppression {
	check := ""
	if e.KeyCheck != (erasure.Digest{}) {
		check = hex.EncodeToString(e.KeyCheck[:])
	}
	return suppression{
		e.ID, e.Dataset, e.Kind, textOf(e.Of), e.Normalization, e.Key, hex.EncodeToString(e.Digest[:]), check,
		e.Reason, e.By, e.Added.UTC(), e.Applied, e.Removed,
	}
}

func textOf(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

type suppressExport struct {
	suppressConfig
	File string `arg:"" optional:"" type:"path" help:"File to write; default: the standard output."`
}

// Run writes the list, one entry a line.
func (c *suppressExport) Run(ctx context.Context, s *cli.Streams) error {
	return c.with(ctx, s, func(_ *eraser.Eraser, w writer) error {
		list, err := w.Suppressions(ctx)
		if err != nil {
			return err
		}
		var text strings.Builder
		for _, e := range list {
			line, err := json.Marshal(suppressionOf(e))
			if err != nil {
				return err
			}
			text.Write(append(line, '\n'))
		}
		if err := w.SuppressionsExported(ctx, len(list)); err != nil {
			return err
		}
		if c.File == "" {
			_, err := io.WriteString(s.Out, text.String())
			return err
		}
		if err := os.WriteFile(c.File, []byte(text.String()), 0o600); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Err, "suppressions written: %d\n", len(list))
		return err
	})
}

type suppressImport struct {
	suppressConfig
	File string `arg:"" type:"existingfile" help:"File that suppress export wrote."`
}

// Run adds the list and erases its records.
func (c *suppressImport) Run(ctx context.Context, s *cli.Streams) error {
	content, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	return c.with(ctx, s, func(e *eraser.Eraser, w writer) error {
		list, err := readSuppressions(content)
		if err != nil {
			return err
		}
		if _, err := erasure.NewSet(e.Keys, list); err != nil { // a key is missing
			return err
		}
		added, err := w.ImportSuppressions(ctx, list)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(s.Err, "suppressions added: %d of %d\n", added, len(list))
		e.Rescan = true
		return c.finish(ctx, s, e, nil)
	})
}

func readSuppressions(content []byte) (list []erasure.Suppression, err error) {
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		if line == "" {
			continue
		}
		var of suppression
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		e := erasure.Suppression{}
		if err = decoder.Decode(&of); err == nil {
			e = erasure.Suppression{
				ID: of.ID, Dataset: of.Dataset, Kind: of.Kind, Normalization: of.Normalization, Key: of.Key, Reason: of.Reason, By: of.By,
				Added: of.Added, Removed: of.Removed,
			}
			for to, text := range map[*erasure.Digest]string{&e.Digest: of.Digest, &e.KeyCheck: of.KeyCheck} {
				digest, wrong := hex.DecodeString(text)
				if wrong == nil && len(digest) != len(to) && !(text == "" && to == &e.KeyCheck) {
					wrong = errors.New("each digest must have 32 bytes")
				}
				copy(to[:], digest)
				err = cmp.Or(err, wrong)
			}
		}
		if err == nil && of.Of != "" {
			e.Of, err = uuid.Parse(of.Of)
		}
		if err == nil && (e.ID == uuid.Nil || e.Key < 1 || !known(e)) {
			err = errors.New("id, dataset, kind or key is missing or wrong")
		}
		if err != nil {
			return nil, fault.New(fault.BadRequest, "line %d is not one of atlas suppress export: %v", i+1, err)
		}
		list = append(list, e)
	}
	ids := map[uuid.UUID]bool{uuid.Nil: true}
	for _, e := range list {
		ids[e.ID] = true
	}
	for _, e := range list {
		if !ids[e.Of] {
			return nil, fault.New(fault.BadRequest, "the entry %s belongs to %s, which is not in the file: import all that atlas suppress export wrote", e.ID, e.Of)
		}
	}
	// An entry comes after the one that it belongs to.
	slices.SortStableFunc(list, func(a, b erasure.Suppression) int {
		return cmp.Compare(bytes.Compare(a.Of[:], uuid.Nil[:]), bytes.Compare(b.Of[:], uuid.Nil[:]))
	})
	return list, nil
}

func known(e erasure.Suppression) bool {
	for _, d := range erasure.Datasets() {
		for _, k := range erasure.Kinds() {
			if e.Dataset == d && e.Kind == k {
				return true
			}
		}
	}
	return false
}
