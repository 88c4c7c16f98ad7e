package api

import (
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/asset"
	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/service/endpoint"
)

// readyFields caches the rendered descriptors of fields, half a megabyte. They change only
// with the most frequent values, at most once a minute.
type readyFields struct {
	lock sync.Mutex
	// closed are the descriptors without values of the dataset, open those with the values of
	// vocabularies.
	closed, open *fieldTexts
	vocabularies []catalog.Vocabulary
}

// fieldTexts are all descriptors with the JSON of each.
type fieldTexts struct {
	all   []catalog.Descriptor
	texts []jsontext.Value
	lock  sync.Mutex
	// answers are the complete lists, one for each dataset and kind.
	answers map[fieldsOf]asset.File
}

// fieldsOf is a dataset and a kind of fields, "" for all.
type fieldsOf struct {
	dataset string
	kind    catalog.Kind
}

func newFieldTexts(frequent catalog.FrequentValues) (*fieldTexts, error) {
	t := &fieldTexts{all: catalog.Descriptors(frequent), answers: map[fieldsOf]asset.File{}}
	for _, d := range t.all {
		text, err := json.Marshal(d, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		t.texts = append(t.texts, text)
	}
	return t, nil
}

// whole returns the compressed list of a dataset, a kind, or everything.
func (t *fieldTexts) whole(wanted query.FieldSearch, chosen []int, metadata any) (asset.File, error) {
	key := fieldsOf{wanted.Dataset, wanted.Kind}
	t.lock.Lock()
	defer t.lock.Unlock()
	if ready, is := t.answers[key]; is {
		return ready, nil
	}
	found := make(endpoint.Records, len(chosen))
	for i, at := range chosen {
		found[i] = t.texts[at]
	}
	body, err := endpoint.Reply{Data: found, Metadata: metadata}.Append(nil)
	if err != nil {
		return asset.File{}, err
	}
	ready := asset.Compressed(body)
	t.answers[key] = ready
	return ready, nil
}

// closedFields are the descriptors without values of the dataset.
func (f *readyFields) closedFields() (*fieldTexts, error) {
	f.lock.Lock()
	defer f.lock.Unlock()
	var err error
	if f.closed == nil {
		f.closed, err = newFieldTexts(nil)
	}
	return f.closed, err
}

// openFields are the descriptors with values.
func (f *readyFields) openFields(frequent catalog.FrequentValues) (*fieldTexts, error) {
	var now []catalog.Vocabulary
	for _, d := range catalog.Datasets {
		for _, field := range catalog.Fields(d) {
			if field.Dynamic() {
				now = append(now, frequent(d, field))
			}
		}
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.open != nil && slices.EqualFunc(f.vocabularies, now, sameVocabulary) {
		return f.open, nil
	}
	made, err := newFieldTexts(frequent)
	if err == nil {
		f.open, f.vocabularies = made, now
	}
	return made, err
}

// sameVocabulary reports whether two vocabularies are identical in memory. They are immutable
// once read.
func sameVocabulary(a, b catalog.Vocabulary) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
