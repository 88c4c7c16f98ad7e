package document

import (
	"bytes"
	"slices"
	"strconv"

	"atlas/search/catalog"
	"atlas/search/words"
)

// Children provides the related records of the record that is built.
type Children interface {
	// Count returns the number of related records of a kind.
	Count(child catalog.Dataset) int64
	// Newest returns at most catalog.MaxChildren related records, newest first by the
	// relation's field, ties by id.
	Newest(child catalog.Dataset) []Child
}

// Child is a related record in the form that is embedded in its parent's document.
type Child struct {
	// DetectedAt is the detection time of a signal, in milliseconds since 1970.
	DetectedAt int64
	// Fragment is the nested object that the function Fragment returns.
	Fragment []byte
}

// Foldable are Children whose fragments can be built for any Folding.
type Foldable interface {
	Children
	// In are the children for an index of a Folding.
	In(by catalog.Folding) Children
}

// None is the Children of a record without related records.
type None struct{}

// Count returns 0.
func (None) Count(catalog.Dataset) int64 { return 0 }

// Newest returns nothing.
func (None) Newest(catalog.Dataset) []Child { return nil }

// Build computes the record's derived fields in place. It returns the document with its
// digest, as one JSON object without line breaks.
func Build(r Record, children Children) []byte {
	r.derive(children)
	folded := r.fold()
	return withDigest(r.withSuggest(r.withPhone(r.withDomains(r.build(make([]byte, 0, 2048), folded, children))), folded), 0)
}

// AppendBoth appends the results of Build and Fragment. It is faster than calling both.
func AppendBoth(doc, fragment []byte, r Record, children Children) (builtDoc, builtFragment []byte) {
	r.derive(children)
	folded := r.fold()
	return withDigest(
		r.withSuggest(r.withPhone(r.withDomains(r.build(doc, folded, children))), folded), len(doc),
	), r.fragment(fragment, folded)
}

// withDomains adds the record's distinct domains in folded form. A record without domains
// gets no field, so adding the field did not change its document and digest.
func (r Record) withDomains(b []byte) []byte {
	fields := schemas[r.Dataset].fields
	for i := range fields {
		given, _ := r.values[i].([]string)
		if !fields[i].Domains || len(given) == 0 {
			continue
		}
		domains := make([]string, 0, len(given))
		for _, d := range given {
			if d = catalog.Domain(d); d != "" {
				domains = append(domains, d)
			}
		}
		slices.Sort(domains)
		if domains = slices.Compact(domains); len(domains) > 0 {
			b = catalog.AppendStrings(append(b[:len(b)-2], `,"`+Domains+`":`...), domains) // in `ix`
			b = append(b, "}}"...)
		}
	}
	return b
}

// withPhone adds the record's phone number in the form in which it is compared. A record
// without one gets no field.
func (r Record) withPhone(b []byte) []byte {
	fields := schemas[r.Dataset].fields
	for i := range fields {
		given, _ := r.values[i].(string)
		if phone := catalog.Phone(given); fields[i].Phones && phone != "" {
			b = append(b[:len(b)-2], `,"`+Phone+`":"`...) // in `ix`
			b = append(append(b, phone...), `"}}`...)
		}
	}
	return b
}

// withSuggest adds what suggestions of the record's name need.
func (r Record) withSuggest(b []byte, folded [][]string) []byte {
	if _, suggested := catalog.SuggestCount(r.Dataset); !suggested {
		return b
	}
	fields := schemas[r.Dataset].fields
	for i := range fields {
		if fields[i].Headline && folded[i] != nil {
			b = append(b[:len(b)-2], `,"`+SuggestTerms+`":"`...) // in `ix`
			b = append(catalog.AppendBeginnings(b, folded[i][0]), `"}}`...)
		}
	}
	return b
}

// beginIX precedes the first value under `ix`.
const beginIX = `,"` + IX + `":{"` + QueryText + `":[`

// Public returns the record in its public form from a document that Build made.
// Strings of a record escape quotes, so the separator cannot occur in one.
func Public(doc []byte) []byte {
	public, _, _ := bytes.Cut(doc, []byte(beginIX))
	return append(bytes.Clone(public), '}')
}

// build is Build for a record whose derived fields are set.
func (r Record) build(b []byte, folded [][]string, children Children) []byte {
	b = r.AppendPublic(b)
	b = append(b[:len(b)-1], beginIX...)
	b = r.appendQueryText(b, folded)
	b = append(b, ']')
	b = r.appendWords(b, folded)
	high, low := tie(IDBytes(r.ID()))
	b = strconv.AppendInt(append(b, `,"`+IDHigh+`":`...), high, 10)
	b = strconv.AppendInt(append(b, `,"`+IDLow+`":`...), low, 10)
	fields := schemas[r.Dataset].fields
	for i := range fields {
		if folded[i] != nil && fields[i].Ranked() {
			b = append(append(append(b, ',', '"'), RankOf(&fields[i])...), '"', ':')
			b = strconv.AppendInt(b, catalog.Rank(folded[i][0]), 10)
		}
	}
	b = r.appendPoint(append(b, ','), false)
	b = r.appendFolded(b, folded, true)
	for _, rel := range catalog.RelationsOf(r.Dataset) {
		newest := children.Newest(rel.Child)
		if len(newest) == 0 {
			continue
		}
		b = append(b, ',', '"')
		b = append(b, rel.Child...)
		b = append(b, `":[`...)
		for _, c := range newest {
			b = append(append(b, c.Fragment...), ',')
		}
		b[len(b)-1] = ']'
	}
	return append(b, "}}"...)
}

func (r Record) derive(children Children) {
	fields := schemas[r.Dataset].fields
	for i := range fields {
		switch f := &fields[i]; {
		case f.Derive == nil:
		case f.Derive.Count:
			r.set(f.Name, children.Count(f.Derive.From))
		default:
			if newest := children.Newest(f.Derive.From); len(newest) > 0 {
				r.set(f.Name, newest[0].DetectedAt)
			} else {
				r.set(f.Name, nil)
			}
		}
	}
}

// AppendPublic appends the record in its public form.
func (r Record) AppendPublic(b []byte) []byte {
	b = append(b, '{')
	fields := schemas[r.Dataset].fields
	for i := range fields {
		b = appendName(b, fields[i].Name)
		b = append(catalog.AppendValue(b, &fields[i], r.values[i]), ',')
	}
	b[len(b)-1] = '}'
	return b
}

// Fragment returns the nested object that parents' documents contain: the fields that
// can be filtered by.
func Fragment(r Record) []byte { return r.fragment(make([]byte, 0, 512), r.fold()) }

func (r Record) fragment(b []byte, folded [][]string) []byte {
	b = append(b, '{')
	fields := schemas[r.Dataset].fields
	for i := range fields {
		f := &fields[i]
		if r.values[i] != nil && !f.Folded() && (i == 0 || f.Kind != catalog.Plain) {
			b = appendName(b, f.Name)
			b = append(catalog.AppendValue(b, f, r.values[i]), ',')
		}
	}
	b = r.appendFolded(r.appendPoint(b, true), folded, false)
	return append(b, '}')
}

// fold returns the folded texts of the searchable fields, by field. Each is needed up to
// three times.
func (r Record) fold() [][]string {
	fields := schemas[r.Dataset].fields
	folded := make([][]string, len(fields))
	// One shared array: most records have a dozen texts, one per field.
	texts := make([]string, 0, 2*len(fields))
	for i := range fields {
		if f := &fields[i]; !f.Folded() && !f.Query {
			continue
		}
		first := len(texts)
		switch v := r.values[i].(type) {
		case string:
			texts = append(texts, r.Folding.Fold(v))
		case []string:
			for _, e := range v {
				texts = append(texts, r.Folding.Fold(e))
			}
		default:
			continue
		}
		folded[i] = texts[first:len(texts):len(texts)]
	}
	return folded
}

// appendFolded appends the groups `text` and `exact`. ownTerms includes the fields whose
// separate terms only a global document has.
func (r Record) appendFolded(b []byte, folded [][]string, ownTerms bool) []byte {
	b = r.appendGroup(append(b, `"`+TextGroup+`":{`...), folded, func(f *catalog.Field) bool {
		return f.Folded() && f.Kind == catalog.FullText || ownTerms && f.OwnTerms
	}, false)
	return r.appendGroup(append(b, `,"`+ExactGroup+`":{`...), folded, func(f *catalog.Field) bool { return f.Folded() }, true)
}

func (r Record) appendGroup(b []byte, folded [][]string, has func(*catalog.Field) bool, exact bool) []byte {
	start := len(b)
	fields := schemas[r.Dataset].fields
	for i := range fields {
		f := &fields[i]
		if folded[i] == nil || !has(f) {
			continue
		}
		b = appendName(b, f.Name)
		if f.List() {
			b = append(b, '[')
		}
		for j, text := range folded[i] {
			if j > 0 {
				b = append(b, ',')
			}
			if exact {
				text = catalog.ExactValue(*f, text)
			}
			b = catalog.AppendString(b, text)
		}
		if f.List() {
			b = append(b, ']')
		}
		b = append(b, ',')
	}
	if len(b) == start {
		return append(b, '}')
	}
	b[len(b)-1] = '}'
	return b
}

func (r Record) appendQueryText(b []byte, folded [][]string) []byte {
	start := len(b)
	fields := schemas[r.Dataset].fields
	for i := range fields {
		if !fields[i].Query {
			continue
		}
		for _, text := range folded[i] {
			b = append(catalog.AppendString(b, text), ',')
		}
	}
	return b[:max(start, len(b)-1)]
}

// appendWords appends the words of the record's values, each distinct text once.
func (r Record) appendWords(b []byte, folded [][]string) []byte {
	b = append(b, `,"`+Words+`":[`...)
	start := len(b)
	fields := schemas[r.Dataset].fields
	var seen []string
	add := func(text string) {
		if !slices.Contains(seen, text) {
			seen = append(seen, text)
			b = appendTokens(b, text)
		}
	}
	var country, state string
	for i := range fields {
		f := &fields[i]
		switch {
		case !f.InWords():
		case f.Vocabulary == nil:
			for _, text := range folded[i] {
				add(text)
				switch f.Name {
				case "country":
					country = text
				case "state":
					state = text
				}
			}
		default:
			for _, value := range textsOf(r.values[i]) {
				add(r.Folding.Fold(f.Vocabulary.Label(value)))
			}
		}
	}
	for _, name := range words.Published.PlaceNames(country, state) {
		add(name)
	}
	for _, name := range r.Firms {
		add(r.Folding.Fold(name))
	}
	return append(b[:max(start, len(b)-1)], ']')
}

// appendTokens appends the words of a folded text as a string of JSON with a comma, or
// nothing where there are none. Words need no escapes.
func appendTokens(b []byte, folded string) []byte {
	start := len(b)
	for _, t := range words.Tokens(folded) {
		b = append(append(b, ' '), t.Text...)
	}
	if len(b) == start {
		return b
	}
	b[start] = '"'
	return append(b, `",`...)
}

// textsOf are the texts of a value: none, one or a list.
func textsOf(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	}
	return nil
}

func appendName(b []byte, name string) []byte {
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}
