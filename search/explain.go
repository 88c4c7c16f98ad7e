package search

import (
	"fmt"
	"strconv"
	"strings"

	"atlas/search/catalog"
	"atlas/search/query"
	"atlas/search/words"
)

// Explanation says how the text of a search is read. It depends only on the text and the
// published tables, never on records.
type Explanation struct {
	// Must are all required; Ranked only raise the score; Excluded must not occur.
	Must     []Explained `json:"must"`
	Ranked   []Explained `json:"ranked,omitempty"`
	Excluded []Explained `json:"excluded,omitempty"`
	// Fields are the searched fields, in the order of the record.
	Fields []string `json:"fields"`
	// Weights are the parts of the score.
	Weights   []Weight `json:"weights,omitempty"`
	Sentences []string `json:"sentences"`
}

// Explained is a word, phrase or beginning, or alternatives of them.
type Explained struct {
	Text string `json:"text"`
	// As is its kind.
	As       string      `json:"as"`
	Forms    []string    `json:"forms,omitempty"`
	Synonyms []string    `json:"synonyms,omitempty"`
	AnyOf    []Explained `json:"any_of,omitempty"`
}

// The kinds of parts of a text.
const (
	AsWord         = "word"
	AsPhrase       = "phrase"
	AsBeginning    = "beginning"
	AsAddress      = "address"
	AsAlternatives = "alternatives"
)

// AllAs are the values of Explained.As.
var AllAs = []string{AsWord, AsPhrase, AsBeginning, AsAddress, AsAlternatives}

// Weight is a part of the score.
type Weight struct {
	For   string  `json:"for"`
	Score float64 `json:"score"`
}

// Explain explains the text of a search, nil if it has none.
func (e *Engine) Explain(q query.Query) *Explanation {
	if q.Text == "" {
		return nil
	}
	q.Words = e.Words
	r := howRead(q)
	if catalog.AddressField(q.Dataset) == nil {
		withoutAddresses(r.Must)
	}
	x := Explanation{Must: explained(r.Must), Ranked: explained(r.Rank), Excluded: explained(r.Not), Fields: searchedFields(q)}
	for _, one := range x.Must {
		x.say("A record must have %s.", one.phrase())
	}
	for _, one := range x.Ranked {
		x.say("%s need not be there: it raises records that have it.", quoted(one.Text))
	}
	for _, one := range x.Excluded {
		x.say("Records with %s are left out.", one.phrase())
	}
	if q.Typos {
		x.say("Words that are spelled nearly as a word typed match too.")
	}
	x.say("Searched are %s.", strings.Join(x.Fields, ", "))
	if q.Sort.Relevance() && !q.Exact {
		x.Weights = weights()
		x.say("Records that fit best come first: see the weights.")
	} else if !q.Sort.Relevance() {
		x.say("The order is by %s, not by how well records fit.", q.Sort)
	}
	return &x
}

// withoutAddresses turns e-mail addresses into phrases, in the way they are searched where
// no field has addresses.
func withoutAddresses(clauses []words.Clause) {
	for _, c := range clauses {
		for _, choice := range c {
			for i, t := range choice {
				if together := words.Texts(t.Text); t.Address && len(together) > 0 {
					choice[i] = words.Term{Text: strings.Join(together, " "), Options: []words.Option{{Words: together}}, Quoted: true}
				}
			}
		}
	}
}

func (e *Explanation) say(format string, args ...any) {
	e.Sentences = append(e.Sentences, fmt.Sprintf(format, args...))
}

func explained(clauses []words.Clause) []Explained {
	all := []Explained{}
	for _, clause := range clauses {
		var one []Explained
		for _, choice := range clause {
			one = append(one, explainedChoice(choice))
		}
		if len(one) == 1 {
			all = append(all, one[0])
			continue
		}
		all = append(all, Explained{Text: clause.String(), As: AsAlternatives, AnyOf: one})
	}
	return all
}

func explainedChoice(choice words.Choice) Explained {
	if len(choice) > 1 { // a word of several parts, such as row-house, between OR
		return Explained{Text: words.Clause{choice}.String(), As: AsWord}
	}
	t := choice[0]
	e := Explained{Text: t.Text, As: AsWord}
	switch {
	case t.Address:
		e.As = AsAddress
	case t.Beginning:
		e.As = AsBeginning
	case len(t.Options[0].Words) > 1 || t.Quoted:
		e.As = AsPhrase
	}
	for _, o := range t.Options {
		text := strings.Join(o.Words, " ")
		switch o.Kind {
		case words.Form:
			e.Forms = append(e.Forms, text)
		case words.Synonym:
			e.Synonyms = append(e.Synonyms, text)
		}
	}
	return e
}

// phrase is the part as words of a sentence.
func (e Explained) phrase() string {
	switch e.As {
	case AsAlternatives:
		var any []string
		for _, one := range e.AnyOf {
			any = append(any, one.phrase())
		}
		return strings.Join(any, ", or ")
	case AsBeginning:
		return "a word that begins with " + quoted(e.Text)
	case AsPhrase:
		return quoted(e.Text) + ", these words together"
	case AsAddress:
		return quoted(e.Text) + " as its whole e-mail address, which dry runs do not search"
	}
	phrase := quoted(e.Text)
	if e.Forms != nil {
		phrase += ", in a form such as " + quoted(e.Forms[0])
	}
	if e.Synonyms != nil {
		phrase += ", or as a synonym such as " + quoted(e.Synonyms[0])
	}
	return phrase
}

func quoted(text string) string { return "“" + text + "”" }

// searchedFields are the fields that the text of q is searched in.
func searchedFields(q query.Query) (names []string) {
	for _, f := range catalog.Fields(q.Dataset) {
		switch {
		case q.Exact && f.Query && (!f.Private || !q.DryRun), !q.Exact && f.InWords():
			names = append(names, f.Name)
		case !q.Exact && f.FirmNames:
			names = append(names, FirmsHighlight)
		}
	}
	if q.Base.Kind == catalog.Book && !q.Exact {
		for _, f := range catalog.OverlayFields(q.Dataset) {
			if f.InWords() {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

func weights() []Weight {
	var all []Weight
	add := func(score, what string) {
		n, _ := strconv.ParseFloat(score, 64) // our constants
		all = append(all, Weight{what, n})
	}
	for _, k := range []struct {
		kind words.Kind
		name string
	}{{words.Typed, "as typed"}, {words.Form, "as a form"}, {words.Synonym, "as a synonym"}} {
		add(kindScores[k.kind], "a word "+k.name)
		add(nameScores[k.kind], "a word "+k.name+" in the name, more")
		add(textScores[k.kind], "a word "+k.name+" in another text of the record, more")
	}
	add(besideScore, "two words side by side as in the query")
	add(phraseScore, "all words as typed, together")
	add(labelScore, "a label of the record that the query has whole, such as its stage")
	add(needlessScore, "a word that need not be there")
	add(codeScore, "a number of a permit that is the query")
	add(wholeScore, "the name is the query, times how rare the name is")
	add(rareScore, "a word in the name, times how rare it is in names")
	return all
}
