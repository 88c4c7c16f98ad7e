package verify

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/catalog"
	"atlas/search/document"
)

// DifferenceKind is how a record of the source and its document differ.
type DifferenceKind string

// The kinds.
const (
	Missing   DifferenceKind = "missing"   // in the source, not in the index
	Extra     DifferenceKind = "extra"     // in the index, not in the source
	Different DifferenceKind = "different" // in both, not the same
)

// Difference is a record that differs between source and index.
type Difference struct {
	Dataset catalog.Dataset `json:"dataset"`
	Kind    DifferenceKind  `json:"kind"`
	ID      string          `json:"id"`
	// File and Line are the position in the source; "" and 0 for an extra record.
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitzero"`
	// Fields are the fields that differ.
	Fields []FieldDifference `json:"fields,omitempty"`
}

// FieldDifference is a value that differs. The field "ix", which only searches use (folded
// texts, nested related records), has no values here.
type FieldDifference struct {
	Field  string         `json:"field"`
	Source jsontext.Value `json:"source,omitempty"`
	Index  jsontext.Value `json:"index,omitempty"`
}

// maxShownValue is how much of a value a difference shows, in bytes.
const maxShownValue = 500

// differentFields compares a public record and its digest with a document of the
// same id, by values: Elasticsearch may spell them differently.
func differentFields(d catalog.Dataset, source []byte, digest int64, doc indexed, digests bool) []FieldDifference {
	record, err := document.FromPublic(d, doc.source)
	if err != nil {
		reason, _ := jsontext.AppendQuote(nil, "not a record: "+err.Error())
		return []FieldDifference{{Field: "_source", Index: reason}}
	}
	actual := record.AppendPublic(nil)
	var fields []FieldDifference
	if !bytes.Equal(source, actual) {
		fields = differentValues(source, actual)
	}
	if doc.elasticID != doc.id {
		is, _ := jsontext.AppendQuote(nil, doc.elasticID)
		should, _ := jsontext.AppendQuote(nil, doc.id)
		fields = append(fields, FieldDifference{"_id", should, is})
	}
	// The digest also covers the public record. So it says something about the rest only if
	// the public record is equal.
	if digests && len(fields) == 0 && (!doc.hasDigest || doc.digest != digest) {
		fields = append(fields, FieldDifference{Field: document.IX})
	}
	return fields
}

// differentValues compares two public records, which have the same fields in the
// same order.
func differentValues(source, actual []byte) (fields []FieldDifference) {
	type member struct {
		name  string
		value jsontext.Value
	}
	members := func(object []byte) (list []member) {
		d := jsontext.NewDecoder(bytes.NewReader(object))
		_, _ = d.ReadToken()
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return list
			}
			m := member{name: name.String()}
			value, err := d.ReadValue()
			if err != nil {
				return list
			}
			m.value = value.Clone()
			list = append(list, m)
		}
		return list
	}
	should, is := members(source), members(actual)
	for i := range min(len(should), len(is)) {
		if !bytes.Equal(should[i].value, is[i].value) {
			fields = append(fields, FieldDifference{should[i].name, shownValue(should[i].value), shownValue(is[i].value)})
		}
	}
	return fields
}

// shownValue shortens a long value and turns it into a text.
func shownValue(v jsontext.Value) jsontext.Value {
	if len(v) <= maxShownValue {
		return v
	}
	short, err := json.Marshal(strings.ToValidUTF8(string(v[:maxShownValue]), "") + "…")
	if err != nil {
		return nil
	}
	return short
}
