package indexer

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"

	"atlas/internal/fault"
	"atlas/search/catalog"
)

// ReadSources reads what the sources of the records in folders say about their data. A
// folder without such a file is not an error; later folders win. Error: BadRequest.
func ReadSources(folders ...string) (catalog.Sources, error) {
	all := catalog.Sources{}
	for _, dir := range folders {
		path := filepath.Join(dir, catalog.SourcesFile)
		some, err := readSources(path)
		if err != nil {
			return nil, fault.New(fault.BadRequest, "%s: %v", path, err)
		}
		maps.Copy(all, some)
	}
	return all, nil
}

func readSources(path string) (catalog.Sources, error) {
	file, err := os.Open(path) // #nosec G304 -- beside files that who runs the command names
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(file, catalog.MaxSourcesBytes+1))
	if err != nil {
		return nil, err
	}
	return catalog.ParseSources(text)
}
