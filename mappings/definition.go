package mappings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	"atlas/search/catalog"
	"atlas/search/document"
)

// properties are the Elasticsearch definitions of fields by name.
type properties map[string]property

type property map[string]any

// definition defines the indices of a dataset. version hashes its JSON, so a
// different form of the same definition is another version.
type definition struct {
	// Children are the datasets whose records are nested in this one's.
	Children   []string            `json:"children"`
	Sort       map[string][]string `json:"sort"`
	Properties properties          `json:"properties"`
}

func (d definition) version() string {
	raw, _ := json.Marshal(d) // maps, lists and texts only
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// global defines the index of a dataset's global records: the record itself, and
// under `ix` the values that only searches need.
func global(d catalog.Dataset) definition {
	fields := catalog.Fields(d)
	ix := properties{
		document.QueryText:  {"type": "text", "index_options": "freqs"},
		document.Words:      words,
		document.DigestName: {"type": "long", "index": false},
		document.IDHigh:     {"type": "long", "index": false},
		document.IDLow:      {"type": "long", "index": false},
	}
	folded(ix, fields)
	terms := ix[document.TextGroup]["properties"].(properties)
	def := definition{Children: []string{}, Sort: indexSort(d), Properties: properties{document.IX: {"properties": ix}}}
	for _, f := range fields {
		def.Properties[f.Name] = shown(f)
		if f.OwnTerms {
			terms[f.Name] = ownTerms
		}
		if f.Ranked() {
			ix[document.RankOf(&f)] = property{"type": "long"}
		}
		if f.Domains {
			ix[document.Domains] = property{"type": "keyword", "doc_values": false}
		}
		if f.Phones {
			ix[document.Phone] = property{"type": "keyword", "doc_values": false}
		}
	}
	if _, there := catalog.Location(d); there {
		ix[document.Point] = property{"type": "geo_point"}
	}
	if d == catalog.Signals {
		ix[document.Arrived] = property{"type": "long"}
	}
	if _, suggested := catalog.SuggestCount(d); suggested {
		ix[document.SuggestTerms] = property{"type": "text", "analyzer": "whitespace", "index_options": "docs", "norms": false}
	}
	for _, rel := range catalog.RelationsOf(d) {
		def.Children = append(def.Children, string(rel.Child))
		ix[string(rel.Child)] = property{"type": "nested", "properties": nested(rel.Child)}
	}
	return def
}

// indexSort sorts records on disk in the dataset's default order, so that the first page of
// a search by default reads no further.
func indexSort(d catalog.Dataset) map[string][]string {
	f, order := catalog.DefaultOrder(d)
	direction := "asc"
	if order == catalog.Descending {
		direction = "desc"
	}
	path := f.Name
	if f.Folded() {
		path = document.IX + "." + document.ExactGroup + "." + path
	}
	return map[string][]string{
		"field": {path, document.IDHighField, document.IDLowField}, "order": {direction, "asc", "asc"}, "missing": {"_last", "_last", "_last"},
	}
}

// heldSort orders held records on disk by the random half of the id. Any meaningful order,
// such as that of writing, is the reverse of some sort: then every match sorts before the
// page so far, and the cost of a page grows with the size of the book.
var heldSort = map[string][]string{"field": {document.IDLowField}, "order": {"asc"}, "missing": {"_last"}}

// held adds the `held` block to a dataset's definition. One block serves all
// datasets: it has the overlay fields of each.
func held(d catalog.Dataset) definition {
	block := properties{
		document.WorkspaceID: {"type": "keyword"},
		document.Version:     {"type": "long", "index": false},
		document.InBook:      {"type": "boolean"},
		document.ViewIDs:     {"type": "keyword"},
		document.Words:       words,
	}
	var fields []catalog.Field
	for _, d := range catalog.Held {
		fields = append(fields, catalog.OverlayFields(d)...)
	}
	folded(block, fields)
	for _, f := range fields {
		switch {
		case f.Folded() && f.Faceted():
			block[f.Name] = property{"type": "keyword", "index": false} // facets count the spellings
		case f.Kind != catalog.Plain && !f.Folded():
			block[f.Name] = typed(f)
		}
	}
	def := global(d)
	def.Sort, def.Properties[document.HeldBlock] = heldSort, property{"properties": block}
	return def
}

// nested defines the filterable values of a related record and their folded copies.
// Nothing sorts or aggregates over children, so they have no doc values, except
// coordinates, which are compared by them.
func nested(d catalog.Dataset) properties {
	fields := catalog.Fields(d)
	of := properties{}
	for _, f := range fields {
		switch p := shown(f); {
		case f.Coordinate():
			of[f.Name] = p
		case p["index"] != false:
			of[f.Name] = withoutValues(p)
		}
	}
	if _, there := catalog.Location(d); there {
		of[document.Point] = property{"type": "geo_point", "doc_values": false}
	}
	folded(of, fields)
	for name, p := range of[document.ExactGroup]["properties"].(properties) {
		of[document.ExactGroup]["properties"].(properties)[name] = withoutValues(p)
	}
	return of
}

// shown defines a field of the record itself, as responses show it. Fields that are
// searched through folded copies are not indexed; the original values of a dynamic enum are
// counted, and coordinates are compared and averaged.
func shown(f catalog.Field) property {
	p := typed(f)
	switch {
	case f.Dynamic(), f.Coordinate():
		p["index"] = false
	case f.Folded(), f.Kind == catalog.Plain && f.Name != "id":
		p["index"], p["doc_values"] = false, false
	}
	return p
}

// folded adds the groups of folded copies: `text` for terms, `exact` for whole
// values, with doc values where these are sorted by or counted.
func folded(to properties, fields []catalog.Field) {
	text, exact := properties{}, properties{}
	for _, f := range fields {
		if !f.Folded() {
			continue
		}
		exact[f.Name] = property{"type": "keyword"}
		if !f.Sort && !f.Dynamic() {
			exact[f.Name]["doc_values"] = false
		}
		if f.Kind == catalog.FullText {
			text[f.Name] = ownTerms
		}
	}
	to[document.TextGroup], to[document.ExactGroup] = property{"properties": text}, property{"properties": exact}
}

// words defines words that are already tokenized, with their positions for phrases. A score
// does not depend on their number.
var words = property{"type": "text", "analyzer": "whitespace", "norms": false}

// ownTerms defines the terms of one field.
var ownTerms = property{"type": "text", "index_options": "docs", "norms": false}

func typed(f catalog.Field) property {
	switch f.Type {
	case catalog.Integer:
		return property{"type": "long"}
	case catalog.Double:
		return property{"type": "double"}
	case catalog.Time:
		return property{"type": "date", "format": "strict_date_time"}
	default:
		return property{"type": "keyword"}
	}
}

func withoutValues(p property) property {
	p = maps.Clone(p)
	p["doc_values"] = false
	return p
}
