// Package permits converts a CSV file of City of Calgary building permits to the
// four dataset files: a permit becomes a project, each firm in it an account, its
// dates signals (README.md beside this file has the rules). What the city's file
// lacks, contacts first of all, can be added for trials: made up, and marked as such.
// It does not load records and does not read other CSV files.
package permits

import (
	"bytes"
	_ "embed"
	"io"

	"github.com/google/uuid"
)

//go:embed calgary-permits.csv
var calgary []byte

// Calgary returns the permits that come with the program (README.md beside
// this file has their licence).
func Calgary() io.Reader { return bytes.NewReader(calgary) }

// namespace makes the ids of this package's records; changing it would give
// every record a new id.
var namespace = uuid.MustParse("b2f4c1d6-3a75-5e0c-8f19-64d0a7e2c983")

// id returns the id of the record of a dataset that has a natural key: the
// same one in every run, so that loading twice gives the same records.
func id(dataset, key string) string {
	return uuid.NewSHA1(namespace, []byte(dataset+"/"+key)).String()
}
