package mix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// record is one of the dataset's, numbers as they are written.
type record map[string]any

// Sample is some records of each dataset, for terms and values that occur.
type Sample map[catalog.Dataset][]record

// sampleSize is how many records of a dataset are drawn.
const sampleSize = 400

// DrawSample reads records at random, the same ones for the same seed, from the files
// in dir.
func DrawSample(dir string, counts ndjson.Counts, seed uint64) (Sample, error) {
	s := Sample{}
	for _, d := range catalog.Datasets {
		have := CountOf(counts, d)
		random := rand.New(rand.NewPCG(seed, uint64(len(s)))) // #nosec G404 -- a seed repeats it
		lines := make([]int64, sampleSize)
		for i := range lines {
			lines[i] = random.Int64N(max(1, have))
		}
		slices.Sort(lines)
		records, err := readLines(dir, d, slices.Compact(lines))
		if err != nil {
			return nil, err
		}
		// In the order of the file early ones would be drawn together.
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		s[d] = records
	}
	return s, nil
}

func CountOf(counts ndjson.Counts, d catalog.Dataset) int64 {
	switch d {
	case catalog.Accounts:
		return counts.Accounts
	case catalog.Contacts:
		return counts.Contacts
	case catalog.Projects:
		return counts.Projects
	default:
		return counts.Signals
	}
}

// readLines returns the records in the lines with these numbers, which ascend
// from 0.
func readLines(dir string, d catalog.Dataset, wanted []int64) ([]record, error) {
	path, err := ndjson.Find(dir, string(d))
	if err != nil {
		return nil, err
	}
	r, err := ndjson.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var records []record
	for len(records) < len(wanted) {
		n, line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has no line %d", path, wanted[len(records)]+1)
		}
		if err != nil {
			return nil, err
		}
		if n != wanted[len(records)]+1 {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		var one record
		if err := decoder.Decode(&one); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		records = append(records, one)
	}
	return records, nil
}
