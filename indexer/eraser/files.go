package eraser

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"atlas/indexer/erasure"
	"atlas/indexer/journal"
	"atlas/internal/durable"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/search/document"
)

// cleanFolders removes suppressed records from the dead letters in Folders and their
// subfolders; no load or delta may run. It counts the changed letters. It leaves folders of
// unfinished work, which store the lengths of their files, and does not follow links.
func (e *Eraser) cleanFolders(ctx context.Context, o *Outcome) error {
	set, err := e.Current(ctx)
	if err != nil || set == nil {
		return err
	}
	var files, inUse []string
	for _, folder := range e.Folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil || ctx.Err() != nil:
				return errors.Join(err, context.Cause(ctx))
			case !entry.Type().IsRegular():
			case entry.Name() == "checkpoint.json" || entry.Name() == "state.json":
				o.Left = append(o.Left, filepath.Dir(path))
				inUse = append(inUse, lettersOf(filepath.Dir(path)))
			case strings.HasSuffix(path, ".ndjson"):
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return fault.Wrap(err, fault.Internal, "the folder %s cannot be cleaned", folder)
		}
	}
	for _, path := range files {
		absolute, err := filepath.Abs(path)
		if slices.Contains(o.Left, filepath.Dir(path)) || err == nil && slices.Contains(inUse, absolute) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := cleanFile(path, set)
		if o.DeadLetters += n; err != nil {
			return fault.Wrap(err, fault.Internal, "the file %s cannot be cleaned", path)
		}
	}
	return nil
}

// lettersOf returns the dead-letter file that an unfinished load appends to, "" for a delta or
// without one.
func lettersOf(folder string) string {
	var manifest struct {
		DeadLetters string `json:"dead_letters"`
	}
	_, _ = durable.ReadJSON(filepath.Join(folder, "manifest.json"), &manifest)
	return manifest.DeadLetters
}

// cleanFile removes suppressed records from a file of dead letters.
func cleanFile(path string, set *erasure.Set) (removed int, err error) {
	if removed, err = copyLetters(io.Discard, path, set); err != nil || removed == 0 {
		return 0, err
	}
	from, to := io.Pipe()
	go func() {
		_, err := copyLetters(to, path, set)
		_ = to.CloseWithError(err)
	}()
	err = durable.ReplaceFrom(path, from)
	_ = from.Close()
	return removed, err
}

// copyLetters copies dead letters without suppressed records. removed counts the letters that
// were changed or left out.
func copyLetters(to io.Writer, path string, set *erasure.Set) (removed int, err error) {
	file, err := os.Open(path) // #nosec G304 -- below a folder that who runs the command names
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for {
		line, end := lines.ReadBytes('\n')
		if end != nil && !errors.Is(end, io.EOF) {
			return removed, end
		}
		cleaned, changed, err := cleanLetter(line, set)
		if err != nil {
			return removed, err
		}
		if changed {
			removed++
		}
		if _, err := to.Write(cleaned); err != nil {
			return removed, err
		}
		if end != nil {
			return removed, nil
		}
	}
}

// cleanLetter returns a dead letter without suppressed records, nil if no record is left. A
// letter without a dataset is compared with the suppressions of every dataset.
func cleanLetter(line []byte, set *erasure.Set) (cleaned []byte, changed bool, err error) {
	var letter journal.DeadLetter
	if json.Unmarshal(line, &letter) != nil { // such as a truncated line
		cleaned, removed := set.Without(erasure.Datasets(), line)
		if removed == 0 {
			return line, false, nil
		}
		return ended(cleaned), true, nil
	}
	datasets := erasure.Datasets()
	if catalog.IsDataset(string(letter.Dataset)) {
		datasets = []catalog.Dataset{letter.Dataset}
	}
	record := []byte(letter.Record)
	if len(record) == 0 {
		record = []byte(letter.Text)
	}
	if !slices.ContainsFunc(datasets, func(d catalog.Dataset) bool { return set.Line(d, record) }) {
		return line, false, nil
	}
	if letter.Record.Kind() == '{' { // one record
		return nil, true, nil
	}
	rest, removed := set.Without(datasets, record)
	switch {
	case len(rest) == 0:
		return nil, true, nil
	case removed == 0: // a line with very many values, none of which is suppressed
		return line, false, nil
	}
	// A problem of a field quotes its value, which may be of anybody.
	problems := slices.DeleteFunc(letter.Problems, func(p document.Problem) bool { return p.Field != "" })
	left := journal.NewDeadLetter(letter.Dataset, letter.File, letter.Line, problems, rest)
	cleaned, err = json.Marshal(left)
	return ended(cleaned), true, err
}

// ended returns a line with its line break, nil for an empty one.
func ended(line []byte) []byte {
	if len(line) == 0 {
		return nil
	}
	return append(line, '\n')
}
