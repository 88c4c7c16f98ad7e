package erasure

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
)

// Line reports whether a line of a file is of a suppressed record, also one that is no
// record for another reason, such as broken JSON: then each of its values counts by itself.
// A line is as well that has too many values to compare.
func (s *Set) Line(d catalog.Dataset, line []byte) bool {
	if s.Empty(d) {
		return false
	}
	if v, known := Read(line); known {
		return s.Has(d, v)
	}
	return s.hasPart(d, string(line))
}

// Read reads what a JSON object is known by. known is false if it is none.
func Read(object []byte) (v Values, known bool) {
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return v, false
	}
	for name, to := range map[string]*string{
		"id": &v.ID, "email": &v.Email, "phone": &v.Phone, "name": &v.Name, "account_name": &v.Firm,
	} {
		if value := members[name]; value.Kind() == '"' {
			_ = json.Unmarshal(value, to, jsontext.AllowInvalidUTF8(true))
		}
	}
	return v, true
}
