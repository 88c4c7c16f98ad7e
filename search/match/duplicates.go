package match

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Same returns the confidence that two records are one firm or person, and the reasons.
// sharing is how many records have the name of the first, 0 if that is not known. Records
// whose domains conflict have the confidence 0.
//
// A name proves less here than the name of an input, which somebody chose. If neither a
// domain nor an address nor a phone number agrees, a different city counts twice, and an
// equal name counts less the more records have it (by the logarithm of their number, as in
// the adjustment of Fellegi and Sunter's weights for the frequency of a value).
func Same(d catalog.Dataset, a, b Record, sharing int) (confidence float64, reasons []Reason) {
	in := query.MatchInput{Name: a.Name, Phone: a.Phone, City: a.City, State: a.State}
	if d == catalog.Contacts {
		in.Email = a.Email
	} else {
		in.Domain = likest(domainsOf(d, a), domainsOf(d, b))
	}
	subject := New(d, in)
	v, reasons, forbidden := subject.vector(b)
	if forbidden {
		return 0, reasons
	}
	odds := subject.weights().of(v)
	if !v.identified() {
		odds += subject.weights().vector[fCityConflict] * v[fCityConflict]
		if sharing > PairOf && len(reasons) > 0 && reasons[0].Field == "name" && reasons[0].Verdict == Equal {
			odds -= math.Log(float64(sharing) / PairOf)
		}
	}
	return logistic(odds), reasons
}

// PairOf is the number of records with a name up to which the name has its full weight.
const PairOf = 2

// identified reports whether a value agrees that only one firm or person has.
func (v *vector) identified() bool {
	return v[fDomainEqual]+v[fDomainSimilar]+v[fEmailEqual]+v[fEmailDomainEqual]+v[fPhoneEqual] > 0
}

// likest is the domain most similar to one of theirs; "" if there is none.
func likest(mine, theirs []string) string {
	for _, verdict := range []Verdict{Equal, Similar} {
		for _, d := range mine {
			if compareDomains(d, theirs) == verdict {
				return d
			}
		}
	}
	if len(mine) > 0 {
		return mine[0]
	}
	return ""
}

// Domains are the domains that identify a record: those of a firm, or that of a person's
// e-mail address, without those of public services.
func Domains(d catalog.Dataset, r Record) []string { return domainsOf(d, r) }

// Apart reports whether the domains of two records conflict: then they are never the same.
func Apart(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, func(domain string) bool { return compareDomains(domain, b) != Conflict })
}

// Key is a value that records of one firm or person share.
type Key struct {
	Text string
	// Loose keys connect records of different names. Records of the same name, in the form
	// of Keys.Name, have other keys in common.
	Loose bool
}

// Keys are the keys of a record. Two records of the same firm or person share at least one
// of them; only such pairs need Same.
type Keys struct {
	Name string // in its canonical spelling, "" if the name says nothing
	Keys []Key
}

// maxKeyLetters is how many letters of a name keys contain.
const maxKeyLetters = 30

// KeysOf returns the keys of a record (docs/match.md, "Duplicates").
func KeysOf(d catalog.Dataset, r Record) (k Keys) {
	add := func(loose bool, kind string, parts ...string) {
		if parts[0] != "" {
			k.Keys = append(k.Keys, Key{kind + strings.Join(parts, "\x00"), loose})
		}
	}
	for _, domain := range domainsOf(d, r) {
		if d == catalog.Accounts {
			add(false, "domain ", registrable(domain))
		}
	}
	city := catalog.Fold(r.City)
	add(false, "phone ", catalog.Phone(r.Phone))
	if d == catalog.Contacts {
		add(false, "email ", catalog.Fold(strings.TrimSpace(r.Email)))
		if n := person(r.Name); n != nil {
			k.person(add, n[0].words, city, domainsOf(d, r))
		}
		return k
	}
	for i, f := range firm(r.Name, city) {
		whole := lettersOf(f.whole)
		if i == 0 {
			k.Name = f.whole
		}
		add(false, "name ", f.whole)
		add(false, "name and city ", f.whole, city)
		var set []string
		for _, w := range f.words {
			if w.class == core || w.class == number {
				set = append(set, w.text)
			}
		}
		slices.Sort(set)
		add(true, "words ", strings.Join(slices.Compact(set), " "))
		// Two names that are one edit apart share a deletion.
		if len(whole) >= minEdited {
			for at := -1; at < len(whole); at++ {
				if at < 0 {
					add(true, "letters ", string(whole))
				} else if at == 0 || whole[at] != whole[at-1] {
					add(true, "letters ", string(whole[:at])+string(whole[at+1:]))
				}
			}
		}
	}
	return k
}

// minEdited is the minimum length of a name whose typos are searched for, in letters.
const minEdited = 6

func lettersOf(text string) []rune {
	letters := []rune(text)
	return letters[:min(len(letters), maxKeyLetters)]
}

// person adds the keys of a person's name. The name alone is no key: persons have
// namesakes.
func (k *Keys) person(add func(loose bool, kind string, parts ...string), words []word, city string, domains []string) {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
		if full, known := nicknames[w.text]; known {
			texts[i] = full
		}
	}
	slices.Sort(texts)
	k.Name = strings.Join(texts, " ")
	if city != "" {
		add(false, "name and city ", k.Name, city)
	}
	family := words[len(words)-1].text
	initial, _ := utf8.DecodeRuneInString(words[0].text)
	for _, domain := range domains {
		add(false, "name and domain ", k.Name, registrable(domain))
		add(true, "family and domain ", family, string(initial), registrable(domain))
	}
	if city != "" {
		add(true, "family and city ", family, string(initial), city)
	}
}
