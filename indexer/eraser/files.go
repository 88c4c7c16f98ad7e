package eraser

import (
	"bufio"
	"bytes"
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
	"atlas/search/query"
)

// CleanFolder removes the dead letters of suppressed records from the files of a folder and
// those in it. It returns how many it removed, and the paths of what it cannot change: work that
// was not finished has sorted records. Links are not followed.
func (e *Eraser) CleanFolder(ctx context.Context, folder string) (removed int, left []string, err error) {
	set, err := e.Current(ctx)
	if err != nil || set == nil {
		return 0, nil, err
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case entry.IsDir() || !entry.Type().IsRegular():
			return nil
		case entry.Name() == "checkpoint.json" || entry.Name() == "state.json":
			left = append(left, filepath.Dir(path))
			return nil
		case !strings.HasSuffix(path, ".ndjson") || slices.Contains(left, filepath.Dir(path)):
			return nil
		}
		n, err := cleanFile(path, set)
		removed += n
		return err
	})
	if err != nil {
		return removed, left, fault.Wrap(err, fault.Internal, "the folder %s cannot be cleaned", folder)
	}
	return removed, left, nil
}

// cleanFile removes the dead letters of suppressed records from a file.
func cleanFile(path string, set *erasure.Set) (removed int, err error) {
	file, err := os.Open(path) // #nosec G304 -- below a folder that who runs the command names
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var kept bytes.Buffer
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if suppressedLetter(line, set) {
			removed++
		} else {
			kept.Write(line)
		}
		if err != nil {
			break
		}
	}
	if removed == 0 {
		return 0, nil
	}
	return removed, durable.Replace(path, kept.Bytes())
}

// suppressedLetter reports whether a dead letter is of a suppressed record. One without a
// dataset is compared with all.
func suppressedLetter(line []byte, set *erasure.Set) bool {
	var letter journal.DeadLetter
	if json.Unmarshal(line, &letter) != nil {
		return false
	}
	record := []byte(letter.Record)
	if len(record) == 0 {
		record = []byte(letter.Text)
	}
	datasets := erasure.Datasets()
	if query.IsDataset(string(letter.Dataset)) {
		datasets = []query.Dataset{letter.Dataset}
	}
	return slices.ContainsFunc(datasets, func(d query.Dataset) bool { return set.Line(d, record) })
}
