package erasure

import (
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
)

// Line reports whether a line of a file is of a suppressed record, also one that is no
// record for another reason, such as broken JSON: then each of its values counts by itself.
func (s *Set) Line(d catalog.Dataset, line []byte) bool {
	if s.Empty(d) {
		return false
	}
	if v, known := Read(line); known {
		return s.Has(d, v)
	}
	return s.hasPart(d, line)
}

var (
	// member finds the members that a record is known by, in what is no JSON object. The text
	// may have no end.
	member = regexp.MustCompile(`["'](id|email|phone|name|account_name)["']?\s*:\s*["']((?:[^"\\]|\\.)*)`)
	// address finds e-mail addresses, wherever they stand.
	address = regexp.MustCompile(`[^\s"'<>,;:=|\[\]{}()]+@[^\s"'<>,;:=|\[\]{}()]+`)
)

// hasPart reports whether a text that is no JSON object has the values of a suppressed record.
func (s *Set) hasPart(d catalog.Dataset, text []byte) bool {
	var v Values
	for _, m := range member.FindAllSubmatch(text, -1) {
		var value string
		if json.Unmarshal([]byte(`"`+string(m[2])+`"`), &value, jsontext.AllowInvalidUTF8(true)) != nil {
			value = string(m[2])
		}
		switch string(m[1]) {
		case "id":
			v.ID = value
		case "email":
			v.Email = value
		case "phone":
			v.Phone = value
		case "name":
			v.Name = value
		default:
			v.Firm = value
		}
		if s.Has(d, v) {
			return true
		}
	}
	for _, m := range address.FindAll(text, -1) {
		if s.Has(d, Values{Email: string(m)}) {
			return true
		}
	}
	return false
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
