package permits

import (
	"atlas/indexer/source"
	"atlas/indexer/source/permit"
	"atlas/internal/fault"
)

// Recognize finds the shipped description that fits the columns of a file. Error:
// BadRequest if none or several fit; those of opening the file.
func Recognize(in Input) (*source.Description, error) {
	var fits []*source.Description
	var last error
	for _, d := range source.Shipped() {
		s, err := permit.Compile(d)
		if err != nil {
			return nil, err
		}
		if last = fit(s, in); last == nil {
			fits = append(fits, d)
		} else if fault.CodeOf(last) != fault.BadRequest {
			return nil, last
		}
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	if unreadable := readable(in); unreadable != nil {
		return nil, unreadable
	}
	return nil, fault.New(fault.BadRequest, "%s is not a file of a source that Atlas knows (atlas index sources): name one with --source, or describe it: atlas index source guess %s > city.yaml", in.Name, in.Name)
}

// fit reports whether a file has the columns that a description names.
func fit(s *permit.Source, in Input) error {
	file, err := in.Open(s.Reading())
	if err != nil {
		return err
	}
	defer file.Close()            //nolint:errcheck // only read
	if len(file.Columns()) == 0 { // JSON names its columns row by row
		if _, err := file.Next(); err != nil {
			return fault.Wrap(err, fault.BadRequest, "the first record cannot be read")
		}
	}
	return s.Bind(file.Format, file.Columns(), true)
}

// readable is the error of a file that has no rows in any format.
func readable(in Input) error {
	file, err := in.Open((&permit.Source{Description: &source.Description{}}).Reading())
	if err != nil {
		return err
	}
	return file.Close()
}
