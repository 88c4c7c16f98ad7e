package permits

import (
	"path/filepath"

	"atlas/indexer/source"
	"atlas/internal/durable"
	"atlas/search/catalog"
)

// writeTerms writes what sources say about their data beside the records of a folder.
func writeTerms(dir string, of ...*source.Description) error {
	all := catalog.Sources{}
	for _, d := range of {
		all[d.Title] = catalog.SourceTerms{
			Page: orNull(d.Page), Licence: orNull(d.Licence), Attribution: orNull(d.Attribution), Terms: orNull(d.Terms),
		}
	}
	path := filepath.Join(dir, catalog.SourcesFile)
	if err := durable.ReplaceJSON(path, all); err != nil {
		return notWritten(err, path)
	}
	return nil
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
