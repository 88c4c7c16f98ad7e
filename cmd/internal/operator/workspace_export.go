package operator

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"atlas/cmd/internal/cli"
	"atlas/internal/durable"
	"atlas/internal/elastic"
	"atlas/search/catalog"
	"atlas/search/document"
)

// The export of a workspace: a file of lines of JSON for each table and for the records of each
// dataset that it holds, and manifest.json, which lists them.

// exportedFile is a file in the manifest.
type exportedFile struct {
	File   string `json:"file"`
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`

	file *os.File
	out  *bufio.Writer
	sum  hash.Hash
}

func newExportedFile(dir, name string) (*exportedFile, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- below a folder that who runs the command names
	if err != nil {
		return nil, err
	}
	f := &exportedFile{File: name, file: file, sum: sha256.New()}
	f.out = bufio.NewWriter(io.MultiWriter(file, f.sum))
	return f, nil
}

func (f *exportedFile) write(line []byte) error {
	f.Lines++
	_, err := f.out.Write(line)
	return errors.Join(err, f.out.WriteByte('\n'))
}

func (f *exportedFile) close() error {
	err := errors.Join(f.out.Flush(), f.file.Sync(), f.file.Close())
	f.SHA256 = hex.EncodeToString(f.sum.Sum(nil))
	return err
}

// checkFolder refuses a folder that is not empty.
func (d *deletion) checkFolder() error {
	found, err := os.ReadDir(d.Export)
	if err == nil && len(found) > 0 {
		return cli.ConfigError{"--export: the folder " + d.Export + " is not empty. If it has a whole export of this workspace, with manifest.json, leave out --export"}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// export writes everything to a temporary folder, which is then renamed to the given name:
// a folder of that name is complete.
func (d *deletion) export(ctx context.Context, name string) error {
	partial := d.Export + ".partial-" + d.ID.String()
	if err := os.RemoveAll(partial); err != nil { // left by a run that was killed
		return err
	}
	if err := os.MkdirAll(partial, 0o700); err != nil {
		return err
	}
	var files []*exportedFile
	defer func() {
		for _, f := range files {
			_ = f.file.Close()
		}
	}()
	of := func(file string) (*exportedFile, error) {
		if n := len(files); n > 0 && files[n-1].File == file {
			return files[n-1], nil
		}
		f, err := newExportedFile(partial, file)
		if err == nil {
			files = append(files, f)
		}
		return f, err
	}
	err := d.system.ExportWorkspace(ctx, d.ID, func(table string, row []byte) error {
		f, err := of(table + ".ndjson")
		if err != nil {
			return err
		}
		return f.write(row)
	})
	if err != nil {
		return err
	}
	for _, dataset := range catalog.Held {
		err := d.eachRecord(ctx, dataset, func(record []byte) error {
			f, err := of("records_of_" + string(dataset) + ".ndjson")
			if err != nil {
				return err
			}
			return f.write(record)
		})
		if err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := f.close(); err != nil {
			return err
		}
	}
	manifest, err := json.MarshalIndent(map[string]any{
		"workspace_id": d.ID, "name": name, "exported_at": time.Now().UTC().Format(time.RFC3339), "files": files,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(partial, "manifest.json"), manifest); err != nil {
		return err
	}
	if err := os.Rename(partial, d.Export); err != nil {
		return err
	}
	return durable.SyncFolder(filepath.Dir(d.Export))
}

// recordsAtOnce is how many held records are read at once.
const recordsAtOnce = 1000

// eachRecord calls do for the records of a dataset that the workspace holds, as in
// searches. The overlays are in the tables.
func (d *deletion) eachRecord(ctx context.Context, dataset catalog.Dataset, do func(record []byte) error) error {
	index := d.Names().Held(string(dataset))
	if err := d.es.Refresh(ctx, index); err != nil {
		return elastic.FaultOf(err)
	}
	var after []int64
	for {
		search := map[string]any{
			"query": map[string]any{"term": map[string]any{document.HeldBlock + "." + document.WorkspaceID: d.ID.String()}},
			"sort":  []string{document.IDHighField, document.IDLowField}, "size": recordsAtOnce, "track_total_hits": false,
		}
		if after != nil {
			search["search_after"] = after
		}
		hits, err := elastic.Hits[int64](ctx, d.es, index, search)
		if err != nil {
			return elastic.FaultOf(err)
		}
		for _, hit := range hits {
			if err := do(hit.Source); err != nil {
				return err
			}
		}
		if len(hits) < recordsAtOnce {
			return nil
		}
		after = hits[len(hits)-1].Sort
	}
}
