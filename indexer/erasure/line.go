package erasure

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
)

// Line reports whether a line of a file belongs to a suppressed record. If the line is no JSON
// object, for example broken JSON, each of its values counts by itself; with too many to
// compare the line counts as suppressed.
func (s *Set) Line(d catalog.Dataset, line []byte) bool {
	if s.Empty(d) {
		return false
	}
	if v, known := Read(line); known {
		return s.Has(d, v)
	}
	return s.hasPart(d, string(line))
}

// Read reads the identifying values of a JSON object. known is false for anything else.
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
