package permits

import (
	"context"
	"embed"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"atlas/indexer/ndjson"
	"atlas/indexer/source"
	"atlas/internal/durable"
	"atlas/internal/fault"
)

// samples are made-up rows in the form of the sources that ship.
//
//go:embed samples/*.csv
var samples embed.FS

// MadeUp are made-up rows in the form of a shipped source; false if there are none. Those
// of calgary are real.
func MadeUp(source string) (Input, bool) {
	if source == "calgary" {
		return Calgary(), true
	}
	text, err := samples.ReadFile(path.Join("samples", source+".csv"))
	return Memory(source+".csv", text), err == nil
}

// WithSamples lists the sources with sample rows in the program.
func WithSamples() []string {
	names := []string{"calgary"}
	entries, _ := samples.ReadDir("samples") // a constant of the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".csv"))
	}
	slices.Sort(names)
	return names
}

// Samples writes the rows of several sources into one folder, those of calgary like Sample;
// without sources, calgary alone. Firms of later sources are linked to those of earlier
// ones by the rules. Errors: those of Convert.
func Samples(ctx context.Context, dir string, sources []string, today time.Time) error {
	if len(sources) == 0 || len(sources) == 1 && sources[0] == "calgary" {
		_, err := Sample(ctx, dir, today)
		return err
	}
	parts, err := os.MkdirTemp("", "atlas-sources-")
	if err != nil {
		return fault.Wrap(err, fault.Internal, "a temporary folder cannot be created")
	}
	defer func() { _ = os.RemoveAll(parts) }()
	var folders []string
	var described []*source.Description
	for _, name := range sources {
		d, err := source.Open(name)
		if err != nil {
			return err
		}
		described = append(described, d)
		folder := filepath.Join(parts, name)
		if err := sampleOf(ctx, d, folder, folders, today); err != nil {
			return err
		}
		folders = append(folders, folder)
	}
	if err := together(dir, folders); err != nil {
		return err
	}
	return writeTerms(dir, described...)
}

func sampleOf(ctx context.Context, d *source.Description, folder string, known []string, today time.Time) error {
	if d.Name == "calgary" {
		_, err := Sample(ctx, folder, today)
		return err
	}
	in, found := MadeUp(d.Name)
	if !found {
		return fault.New(fault.NotFound, "the source %s has no rows in the program", d.Name)
	}
	_, err := Convert(ctx, Options{Source: d, Inputs: []Input{in}, Dir: folder, Accounts: known})
	return err
}

// together writes the files of several folders into one.
func together(dir string, folders []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- as ndjson.CreateFolder
		return notWritten(err, dir)
	}
	for _, dataset := range ndjson.Datasets {
		path := filepath.Join(dir, ndjson.FileName(dataset, ndjson.Plain))
		var readers []io.Reader
		for _, f := range folders {
			file, err := os.Open(filepath.Join(f, ndjson.FileName(dataset, ndjson.Plain))) // #nosec G304 -- written above
			if err != nil {
				return notWritten(err, path)
			}
			defer file.Close() //nolint:errcheck,gocritic // a few, only read
			readers = append(readers, file)
		}
		if err := durable.ReplaceFrom(path, io.MultiReader(readers...)); err != nil {
			return notWritten(err, path)
		}
	}
	return nil
}
