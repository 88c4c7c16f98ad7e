package indexer

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atlas/indexer/generation"
	"atlas/internal/fault"
	"atlas/mappings"
	"atlas/search/catalog"
)

// manifest identifies a load. Another process resumes it only if all of it is equal.
type manifest struct {
	// Format identifies the format of the sorted files and of the documents.
	Format string `json:"format"`
	// Folding is that of the documents; 0 is catalog.CaseFolding.
	Folding    catalog.Folding `json:"folding"`
	Generation string          `json:"generation"`
	Started    time.Time       `json:"started"` // the time of records without one
	Inputs     []inputStamp    `json:"inputs"`

	Prefix       string `json:"index_prefix"`
	Shards       int    `json:"shards"`
	Replicas     int    `json:"replicas"`
	AllowMissing bool   `json:"allow_missing"`
	DeadLetters  string `json:"dead_letters"` // a path
}

// inputStamp identifies the content of an input when the load began. Sample is a digest of
// its size and of up to 64 parts of 64 KiB spread over it. The stamp detects every change
// of size or modification time. A change in place that restores the modification time is
// only detected within those parts: reading the whole file would take as long as loading
// it.
type inputStamp struct {
	Dataset  catalog.Dataset `json:"dataset"`
	Path     string          `json:"path"` // "" when the dataset has no file
	Size     int64           `json:"size"`
	Modified time.Time       `json:"modified"`
	Sample   string          `json:"sample"`
}

const (
	sampleParts = 64
	sampleSize  = 64 << 10
)

func newInputStamp(in input) (inputStamp, error) {
	s := inputStamp{Dataset: in.dataset, Path: in.path}
	if in.path == "" {
		return s, nil
	}
	failed := func(err error) error {
		return fault.Wrap(err, fault.Internal, "%s cannot be looked at", in.path)
	}
	if path, err := filepath.Abs(in.path); err == nil {
		s.Path = path
	}
	file, err := os.Open(in.path)
	if err != nil {
		return s, failed(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return s, failed(err)
	}
	s.Size, s.Modified = info.Size(), info.ModTime().UTC()
	hash := sha256.New()
	fmt.Fprintln(hash, s.Size)
	part := make([]byte, sampleSize)
	for i := range int64(sampleParts) {
		n, err := file.ReadAt(part, max(0, s.Size-sampleSize)*i/(sampleParts-1))
		if err != nil && !errors.Is(err, io.EOF) {
			return s, failed(err)
		}
		hash.Write(part[:n])
		if s.Size <= sampleSize {
			break
		}
	}
	s.Sample = hex.EncodeToString(hash.Sum(nil)[:16])
	return s, nil
}

// checkUnchanged refuses an input that was modified while it was read.
func (s inputStamp) checkUnchanged() error {
	info, err := os.Stat(s.Path)
	if err != nil {
		return fault.Wrap(err, fault.BadRequest, "%s went while it was read", s.Path)
	}
	if info.Size() != s.Size || !info.ModTime().Equal(s.Modified) {
		return fault.New(fault.BadRequest, "%s was changed while it was read", s.Path)
	}
	return nil
}

// newManifest describes the load of the options.
func (l *load) newManifest() (manifest, error) {
	m := manifest{
		Format: format(), Folding: catalog.NewestFolding, Generation: generation.NewName(l.began), Started: l.started,
		Prefix: l.Names.Prefix, Shards: l.Settings.Shards, Replicas: l.Settings.Replicas,
		AllowMissing: l.AllowMissing, DeadLetters: l.DeadLetters,
	}
	for _, in := range l.inputs {
		s, err := newInputStamp(in)
		if err != nil {
			return m, err
		}
		m.Inputs = append(m.Inputs, s)
	}
	return m, nil
}

// formatVersion increases with each change of the sorted files that format does not
// detect.
const formatVersion = 1

func format() string {
	hash := sha256.New()
	fmt.Fprintln(hash, formatVersion)
	for _, d := range catalog.Datasets {
		for _, f := range catalog.Fields(d) {
			fmt.Fprintln(hash, d, f.Name, f.Type, f.Kind, f.Derive != nil, f.Required, f.Query, f.Sort)
		}
		body, _ := mappings.Index(string(d), mappings.Settings{})
		hash.Write(body)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// ChangedError means that an unfinished load cannot be resumed with the present options or
// inputs. Nothing was changed. Options.Restart starts over.
type ChangedError struct {
	// WorkDir is the work folder of the unfinished load.
	WorkDir string
	// Changes are sentences for people.
	Changes []string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("the load that was not finished (in %s) cannot be resumed: %s", e.WorkDir, strings.Join(e.Changes, "; "))
}

// changes lists the differences from the requested load, as sentences for people.
func (m manifest) changes(now manifest) []string {
	var all []string
	if m.Format != now.Format {
		all = append(all, "another version of Atlas began it, whose records or documents look different")
	}
	if m.Folding != now.Folding {
		all = append(
			all,
			fmt.Sprintf("texts are folded by version %d now, and were by version %d", now.Folding, max(m.Folding, catalog.CaseFolding)),
		)
	}
	for i, was := range m.Inputs {
		is := now.Inputs[i]
		switch {
		case was.Path != is.Path && is.Path == "":
			all = append(all, fmt.Sprintf("%s is gone", was.Path))
		case was.Path != is.Path && was.Path == "":
			all = append(all, fmt.Sprintf("%s is new", is.Path))
		case was.Path != is.Path:
			all = append(all, fmt.Sprintf("%s is read from %s now, and was from %s", is.Dataset, is.Path, was.Path))
		case was.Size != is.Size:
			all = append(all, fmt.Sprintf("%s has %d bytes now, and had %d", is.Path, is.Size, was.Size))
		case !was.Modified.Equal(is.Modified):
			all = append(all, fmt.Sprintf("%s was changed at %s", is.Path, is.Modified.Format(time.RFC3339Nano)))
		case was.Sample != is.Sample:
			all = append(all, fmt.Sprintf("%s has other contents", is.Path))
		}
	}
	for _, option := range []struct {
		name     string
		was, now any
	}{
		{"index prefix", m.Prefix, now.Prefix}, {"number of shards", m.Shards, now.Shards},
		{"number of replicas", m.Replicas, now.Replicas}, {"allowing missing files", m.AllowMissing, now.AllowMissing},
		{"file of dead letters", m.DeadLetters, now.DeadLetters},
	} {
		if option.was != option.now {
			all = append(all, fmt.Sprintf("the %s is %v now, and was %v", option.name, option.now, option.was))
		}
	}
	return all
}
