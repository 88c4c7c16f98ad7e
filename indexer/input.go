package indexer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/catalog"
)

// input is the file of a dataset. path is "" without a file.
type input struct {
	dataset catalog.Dataset
	path    string
}

// name is the file's name without its folder.
func (in input) name() string {
	if in.path == "" {
		return ""
	}
	return filepath.Base(in.path)
}

// findInputs returns the files of the four datasets, in the order of reading, and
// notes on other files of the folder.
func findInputs(dir string, allowMissing bool) (inputs []input, notes []string, err error) {
	used := map[string]bool{catalog.SourcesFile: true}
	var missing []string
	for _, dataset := range ndjson.Datasets {
		path, err := ndjson.Find(dir, dataset)
		if err != nil {
			return nil, nil, err
		}
		in := input{catalog.Dataset(dataset), path}
		if path == "" {
			missing = append(missing, dataset)
		}
		used[in.name()] = true
		inputs = append(inputs, in)
	}
	switch {
	case len(missing) == len(inputs) && !allowMissing:
		return nil, nil, fault.New(fault.BadRequest, "%s holds no dataset file: neither %s.ndjson nor %s.ndjson.gz nor %s.ndjson.zst, nor those of the others%s",
			dir, missing[0], missing[0], missing[0], ndjson.Instead(dir))
	case len(missing) > 0 && !allowMissing:
		return nil, nil, fault.New(fault.BadRequest, "%s holds no file of %s; all four datasets are loaded together, and one without a file becomes empty only with --allow-missing%s",
			dir, strings.Join(missing, ", "), ndjson.Instead(dir))
	}
	for _, dataset := range missing {
		notes = append(notes, dataset+" has no file and is loaded empty")
	}
	others, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fault.Wrap(err, fault.BadRequest, "the folder %s cannot be read", dir)
	}
	ignored := 0
	for _, entry := range others {
		if used[entry.Name()] {
			continue
		}
		if ignored++; ignored <= maxIgnoredNotes {
			note := entry.Name() + " is no dataset file and was ignored"
			if below := filepath.Join(dir, entry.Name()); entry.IsDir() && ndjson.HasFiles(below) {
				note = entry.Name() + " is a folder and was ignored; load the files that it has from " + below
			}
			notes = append(notes, note)
		}
	}
	if ignored > maxIgnoredNotes {
		notes = append(notes, fmt.Sprintf("%d more files were ignored", ignored-maxIgnoredNotes))
	}
	return inputs, notes, nil
}

// maxIgnoredNotes bounds the notes on a wrong folder.
const maxIgnoredNotes = 10
