// Package index has the commands that create, load and maintain the global dataset: `atlas
// index …` and `atlas generate`.
package index

// Commands is `atlas index`.
type Commands struct {
	Permits    Permits    `cmd:"" help:"Turn files of building permits into records."`
	Sources    Sources    `cmd:"" help:"List the sources of building permits that Atlas knows."`
	Source     Source     `cmd:"" help:"Describe a source of building permits, and try the description."`
	Pull       Pull       `cmd:"" help:"Fetch the permits of a source from the interface of its city."`
	Load       Load       `cmd:"" help:"Load a folder of records into new generations and switch to them."`
	Apply      Apply      `cmd:"" help:"Change single records of the generation that is served."`
	Retry      Retry      `cmd:"" help:"Apply records that were left out and are mended."`
	Verify     Verify     `cmd:"" help:"Compare a folder of records with what is indexed."`
	Duplicates Duplicates `cmd:"" help:"List the firms or persons that look the same."`
	Status     Status     `cmd:"" help:"List the generations, what they hold, and who is loading."`
	Rollback   Rollback   `cmd:"" help:"Switch searches to the generation before."`
	Prune      Prune      `cmd:"" help:"Delete generations that are not needed."`
}
