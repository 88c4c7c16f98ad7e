package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// SourceTerms are what a source of records says about its data. Nil: it says nothing.
type SourceTerms struct {
	Page        *string `json:"page"`        // web page of the data
	Licence     *string `json:"licence"`     // its name, or where it is
	Attribution *string `json:"attribution"` // line that must stand where the data is shown
	Terms       *string `json:"terms"`       // a web page with the terms of use
}

// Sources maps the value of the field source to the terms of that source.
type Sources map[string]SourceTerms

// SourcesFile is the name of the file with the Sources in a folder of records.
const SourcesFile = "sources.json"

// Bounds of Sources. An index stores them in its mapping, which each node holds in memory.
const (
	MaxSourcesBytes = 1 << 20 // of a file
	maxSources      = 1_000
)

// HasSource reports whether the records of a dataset say their source.
func HasSource(d Dataset) bool {
	_, has := FieldNamed(d, "source")
	return has
}

// ParseSources reads the text of a SourcesFile.
func ParseSources(text []byte) (Sources, error) {
	if len(text) > MaxSourcesBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxSourcesBytes)
	}
	var s Sources
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\uFEFF")), &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	for _, title := range slices.Sorted(maps.Keys(s)) {
		if err := s[title].check(); err != nil {
			return nil, fmt.Errorf("%.100q: %w", title, err)
		}
	}
	return s, s.Check()
}

// Check refuses more sources than an index can store.
func (s Sources) Check() error {
	if len(s) > maxSources {
		return fmt.Errorf("%d sources are more than %d", len(s), maxSources)
	}
	return nil
}

func (t SourceTerms) check() error {
	var wrong error
	for _, m := range []struct {
		name string
		text *string
		page bool
	}{{"page", t.Page, true}, {"licence", t.Licence, false}, {"attribution", t.Attribution, false}, {"terms", t.Terms, true}} {
		switch {
		case m.text == nil:
		case utf8.RuneCountInString(*m.text) > ShortChars:
			wrong = errors.Join(wrong, fmt.Errorf("%s has more than %d characters", m.name, ShortChars))
		case m.page && !strings.HasPrefix(*m.text, "https://") && !strings.HasPrefix(*m.text, "http://"):
			wrong = errors.Join(wrong, fmt.Errorf("%s must begin with https:// or http://", m.name))
		}
	}
	return wrong
}

// Of returns the terms of the source with a label, in any spelling; nil if there are none.
func (s Sources) Of(label string) *SourceTerms {
	if terms, is := s[label]; is {
		return &terms
	}
	for _, title := range slices.Sorted(maps.Keys(s)) {
		if Fold(title) == Fold(label) {
			return new(s[title])
		}
	}
	return nil
}
