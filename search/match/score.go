package match

import (
	"math"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"atlas/search/catalog"
	"atlas/search/query"
)

// Record is the part of a record that is compared.
type Record struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Domains []string `json:"domains"`
	Email   string   `json:"email"`
	Phone   string   `json:"phone"`
	City    string   `json:"city"`
	State   string   `json:"state"`
}

// Members are the members of a public record that a Record has.
var Members = []string{"id", "name", "domains", "email", "phone", "city", "state"}

// Verdict is how a field of the input and of the record compare.
type Verdict string

// The verdicts.
const (
	Equal    Verdict = "equal"
	Similar  Verdict = "similar"
	Conflict Verdict = "conflict"
	Missing  Verdict = "missing" // the record has no value, or a meaningless one
)

// Verdicts lists them.
var Verdicts = []Verdict{Equal, Similar, Conflict, Missing}

// Reason is the result for one field of the input.
type Reason struct {
	Field   string  `json:"field"`
	Verdict Verdict `json:"verdict"`
	// Score is how alike the values are, 0 to 1.
	Score float64 `json:"score"`
}

// Subject is an input prepared for comparisons.
type Subject struct {
	dataset catalog.Dataset
	given   query.MatchInput
	// domains are those of a firm: the given one, and that of the e-mail address.
	domain, emailDomain string
	email, phone        string
	city, state         string
	names               map[string]name // by the city of the record
}

// New prepares an input.
func New(d catalog.Dataset, in query.MatchInput) *Subject {
	s := &Subject{dataset: d, given: in, names: map[string]name{}}
	s.domain, s.phone, s.city, s.state = own(catalog.Domain(in.Domain)), catalog.Phone(in.Phone), catalog.Fold(in.City), stateOf(in.State)
	s.email = catalog.Fold(in.Email)
	s.emailDomain = own(domainOf(in.Email))
	return s
}

// own is a domain, or "" if it is a public service's or not a domain: "n/a", "none", two in
// one cell.
func own(domain string) string {
	if !strings.Contains(domain, ".") || strings.ContainsAny(domain, " ,;") || publicHosts[domain] || publicHosts[registrable(domain)] {
		return ""
	}
	return domain
}

func domainOf(email string) string {
	if !strings.Contains(email, "@") {
		return ""
	}
	return catalog.Domain(email)
}

// registrable is the registered part of a domain: example.co.uk of mail.example.co.uk.
func registrable(domain string) string {
	if r, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return r
	}
	return domain
}

func stateOf(s string) string {
	s = catalog.Fold(strings.TrimSpace(s))
	if code, known := states[s]; known {
		return code
	}
	return s
}

// nameAt is the name for a comparison with a record of a city.
func (s *Subject) nameAt(city string) name {
	n, known := s.names[city]
	if !known {
		if s.dataset == catalog.Contacts {
			n = person(s.given.Name)
		} else {
			n = firm(s.given.Name, s.city, city)
		}
		s.names[city] = n
	}
	return n
}

// nameBy is the name in another Folding than the newest.
func (s *Subject) nameBy(by catalog.Folding) name {
	switch folded := by.Fold(s.given.Name); {
	case folded == catalog.Fold(s.given.Name):
		return s.nameAt("")
	case s.dataset == catalog.Contacts:
		return personOf(folded)
	default:
		return firmOf(folded, s.city)
	}
}

// Features of a comparison besides those of names.
const (
	fNoName = featureCount + iota // no names were compared
	fDomainEqual
	fDomainSimilar // another host of it
	fEmailEqual
	fEmailDomainEqual
	fEmailConflict
	fPhoneEqual
	fPhoneConflict
	fCityEqual
	fCityConflict
	fStateConflict
	allFeatures
)

type vector [allFeatures]float64

// Compare returns the confidence that a record is what the input describes, and the
// reasons. Records of another domain have the confidence 0.
func (s *Subject) Compare(r Record) (confidence float64, reasons []Reason) {
	v, reasons, forbidden := s.vector(r)
	if forbidden {
		return 0, reasons
	}
	return logistic(s.weights().of(v)), reasons
}

func (s *Subject) weights() *weights {
	if s.dataset == catalog.Contacts {
		return &ofPersons
	}
	return &ofFirms
}

// weights are log-odds.
type weights struct {
	bias float64
	vector
}

func (w *weights) of(v vector) float64 {
	sum := w.bias
	for i, x := range v {
		sum += w.vector[i] * x
	}
	return sum
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// vector compares all fields.
func (s *Subject) vector(r Record) (v vector, reasons []Reason, forbidden bool) {
	say := func(field string, verdict Verdict, score float64) {
		reasons = append(reasons, Reason{field, verdict, math.Round(score*1000) / 1000})
	}
	v[fNoName] = 1
	city, state := catalog.Fold(r.City), stateOf(r.State)
	if s.given.Name != "" {
		f, verdict, score := s.compareNames(r.Name, city)
		if verdict != Missing {
			copy(v[:], f[:])
			v[fNoName] = 0
		}
		say("name", verdict, score)
	}
	domains := domainsOf(s.dataset, r)
	if s.given.Domain != "" {
		verdict := compareDomains(s.domain, domains)
		switch verdict {
		case Equal:
			v[fDomainEqual] = 1
		case Similar:
			v[fDomainSimilar] = 1
		case Conflict:
			forbidden = true
		}
		say("domain", verdict, scoreOf[verdict])
	}
	if s.given.Email != "" {
		verdict := s.compareEmails(r, domains, &v)
		if verdict == Conflict && compareDomains(s.emailDomain, domains) == Conflict {
			forbidden = true
		}
		say("email", verdict, scoreOf[verdict])
	}
	compareTexts := func(field, given, mine, theirs string, equal, conflict int) {
		if given == "" {
			return
		}
		verdict := Missing
		switch {
		case mine == "" || theirs == "":
		case mine == theirs:
			verdict = Equal
			if equal >= 0 {
				v[equal] = 1
			}
		default:
			verdict = Conflict
			v[conflict] = 1
		}
		say(field, verdict, scoreOf[verdict])
	}
	compareTexts("phone", s.given.Phone, s.phone, catalog.Phone(r.Phone), fPhoneEqual, fPhoneConflict)
	compareTexts("city", s.given.City, s.city, city, fCityEqual, fCityConflict)
	compareTexts("state", s.given.State, s.state, state, -1, fStateConflict)
	return v, reasons, forbidden
}

var scoreOf = map[Verdict]float64{Equal: 1, Similar: 0.5}

// domainsOf are the domains that identify a record.
func domainsOf(d catalog.Dataset, r Record) (domains []string) {
	if d == catalog.Contacts {
		r.Domains = []string{domainOf(r.Email)}
	}
	for _, d := range r.Domains {
		if d = own(catalog.Domain(d)); d != "" {
			domains = append(domains, d)
		}
	}
	return domains
}

func compareDomains(given string, of []string) Verdict {
	switch {
	case given == "" || len(of) == 0:
		return Missing
	case slices.Contains(of, given):
		return Equal
	case slices.ContainsFunc(of, func(d string) bool { return registrable(d) == registrable(given) }):
		return Similar
	}
	return Conflict
}

// compareEmails compares an address with a person's, or its domain with those of a firm.
func (s *Subject) compareEmails(r Record, domains []string, v *vector) Verdict {
	if s.dataset == catalog.Contacts {
		switch theirs := catalog.Fold(strings.TrimSpace(r.Email)); {
		case theirs == "" || s.email == "":
			return Missing
		case theirs == s.email:
			v[fEmailEqual] = 1
			return Equal
		case s.emailDomain != "" && compareDomains(s.emailDomain, domains) != Conflict && len(domains) > 0:
			v[fEmailDomainEqual] = 1
			return Similar
		}
		v[fEmailConflict] = 1
		return Conflict
	}
	verdict := compareDomains(s.emailDomain, domains)
	if verdict == Equal || verdict == Similar {
		v[fEmailDomainEqual] = 1
	}
	return verdict
}

// compareNames compares the name with a record's, whose city is folded.
func (s *Subject) compareNames(theirs, city string) (f features, verdict Verdict, score float64) {
	mine := s.nameAt(city)
	if s.dataset == catalog.Contacts {
		other := person(theirs)
		if mine == nil || other == nil {
			return f, Missing, 0
		}
		f = comparePersons(mine[0].words, other[0].words)
		return judged(f, &ofPersons)
	}
	other := firm(theirs, s.city, city)
	if mine == nil || other == nil {
		return f, Missing, 0
	}
	best := math.Inf(-1)
	for i, a := range mine {
		for j, b := range other {
			p := compare(a, b)
			if a.whole == b.whole || a.spelled == b.spelled {
				p.features = features{fLegal: p.features[fLegal], fShort: 1 / math.Sqrt(float64(len(a.whole)))}
			}
			if len(mine) > 1 || len(other) > 1 {
				if i > 0 || j > 0 || len(mine) != len(other) {
					p.features[fAlias] = 1
				}
			}
			var v vector
			copy(v[:], p.features[:])
			if sum := ofFirms.of(v); sum > best {
				best, f = sum, p.features
			}
		}
	}
	return judged(f, &ofFirms)
}

// mostLost is the largest reduction for names that are only similar, in log-odds.
const mostLost = 5

// judged is the verdict on two names: how much less they agree than equal ones.
func judged(f features, w *weights) (features, Verdict, float64) {
	var v vector
	copy(v[:], f[:])
	v[fShort] = 0
	lost := w.bias - w.of(v)
	switch {
	case lost <= 0.01:
		return f, Equal, 1
	case lost < mostLost:
		return f, Similar, math.Exp(-lost / 4)
	}
	return f, Conflict, math.Exp(-lost / 4)
}

// Blocks are values that records share with an input. A candidate shares at least one of
// them.
type Blocks struct {
	Name string // folded
	// Core are the distinctive words of the name, as written; Others are the rest; Joined
	// are joined neighbours.
	Core, Others, Joined []string
	Domains              []string
	Email, Phone         string
	City                 string // folded; a candidate need not have it
}

// maxBlockWords bounds the words of a search.
const maxBlockWords = 16

// Blocks returns the blocks in the form of an index of a Folding. A name without words has
// none.
func (s *Subject) Blocks(by catalog.Folding) Blocks {
	b := Blocks{Phone: s.phone, City: by.Fold(s.given.City)}
	for _, d := range []string{s.domain, s.emailDomain} {
		if d != "" {
			b.Domains = append(b.Domains, d, registrable(d), "www."+d)
		}
	}
	slices.Sort(b.Domains)
	b.Domains = slices.Compact(b.Domains)
	if s.dataset == catalog.Contacts {
		b.Email = by.Fold(s.given.Email)
	}
	for _, f := range s.nameBy(by) {
		for i, w := range f.words {
			if w.class == core || w.class == number {
				b.Core = append(b.Core, w.as)
			} else {
				b.Others = append(b.Others, w.as)
			}
			if i > 0 {
				b.Joined = append(b.Joined, f.words[i-1].as+w.as)
			}
		}
	}
	for _, words := range []*[]string{&b.Core, &b.Others, &b.Joined} {
		slices.Sort(*words)
		*words = slices.Compact(*words)
		*words = (*words)[:min(len(*words), maxBlockWords)]
	}
	if len(b.Core) > 0 {
		b.Name = by.Fold(s.given.Name)
	}
	return b
}
