package labelled

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"atlas/search/query"
)

// Input is an input and its right answers.
type Input struct {
	query.MatchInput
	// Kind is the change of the name, With the other values that are given.
	Kind, With string
	// Same is the Firm.Same of the right answer, "" if no record is right.
	Same string
}

// noises change a name. Each returns "" if it does not apply.
var noises = []struct {
	kind string
	of   func(r *rand.Rand, words []string) string
}{
	{"exact", func(_ *rand.Rand, w []string) string { return strings.Join(w, " ") }},
	{"case", func(_ *rand.Rand, w []string) string { return title(w) }},
	{"legal form", func(r *rand.Rand, w []string) string {
		return title(w) + " " + pick(r, "Inc.", "Ltd.", "LTD", "Limited", "Corp.", "Inc", "Co.", "Corporation", "(2015) Ltd.", "ULC", "L.P.")
	}},
	{"typo", typo},
	{"typo and legal form", func(r *rand.Rand, w []string) string {
		if t := typo(r, w); t != "" {
			return t + " " + pick(r, "Inc.", "Ltd.", "LIMITED", "CORP")
		}
		return ""
	}},
	{"order", func(r *rand.Rand, w []string) string {
		if len(w) < 2 {
			return ""
		}
		at := 1 + r.IntN(len(w)-1)
		return strings.Join(slices.Concat(w[at:], w[:at]), pick(r, " ", ", ", " "))
	}},
	{"abbreviation", func(_ *rand.Rand, w []string) string { return replace(w, abbreviations) }},
	{"other form of a word", func(_ *rand.Rand, w []string) string { return replace(w, variants) }},
	{"missing word", func(r *rand.Rand, w []string) string {
		if len(w) < 3 {
			return ""
		}
		at := 1 + r.IntN(len(w)-1)
		return strings.Join(slices.Delete(slices.Clone(w), at, at+1), " ")
	}},
	{"bare", func(_ *rand.Rand, w []string) string {
		if len(w) != 2 || !slices.Contains(common, w[1]) || len(w[0]) < 5 {
			return ""
		}
		return w[0] + " Ltd"
	}},
	{"place", func(r *rand.Rand, w []string) string {
		return title(w) + pick(r, " Calgary", " (Calgary)", " (Alberta) Ltd.", " Canada Inc.", " of Calgary", " - Calgary, AB")
	}},
	{"operating as", func(r *rand.Rand, w []string) string {
		return fmt.Sprintf("%d Alberta Ltd. %s %s", 1_000_000+r.IntN(1_500_000), pick(r, "o/a", "DBA", "operating as", "d/b/a"), title(w))
	}},
	{"spaces", func(r *rand.Rand, w []string) string {
		if len(w) > 1 && r.IntN(2) == 0 {
			at := r.IntN(len(w) - 1)
			return strings.Join(slices.Concat(w[:at], []string{w[at] + w[at+1]}, w[at+2:]), " ")
		}
		at := r.IntN(len(w))
		if len(w[at]) < 6 {
			return ""
		}
		middle := 3 + r.IntN(len(w[at])-5)
		return strings.Join(slices.Concat(w[:at], []string{w[at][:middle], w[at][middle:]}, w[at+1:]), pick(r, " ", "-"))
	}},
	{"punctuation", func(r *rand.Rand, w []string) string {
		name := strings.Join(w, " ")
		for _, p := range [][2]string{{" & ", " and "}, {" AND ", " & "}, {"'", ""}, {"-", " "}, {"/", " "}, {"(", ""}, {")", ""}} {
			name = strings.ReplaceAll(name, p[0], p[1])
		}
		if len(w[0]) <= 3 && !strings.ContainsAny(w[0], "0123456789&") {
			name = strings.Join(strings.Split(w[0], ""), ".") + ". " + strings.Join(w[1:], " ")
		}
		return name + pick(r, "", ".", " *", ",")
	}},
}

var abbreviations = map[string]string{
	"CONSTRUCTION": "CONST.", "CONTRACTING": "CONTR", "RENOVATIONS": "RENOS", "DEVELOPMENTS": "DEV",
	"DEVELOPMENT": "DEVT", "MANAGEMENT": "MGMT", "SERVICES": "SVCS",
	"ARCHITECTURE": "ARCH", "BUILDERS": "BLDRS", "BUILDING": "BLDG", "ELECTRIC": "ELEC", "ELECTRICAL": "ELEC",
	"ENGINEERING": "ENG", "GROUP": "GRP", "ENTERPRISES": "ENT",
	"PROPERTIES": "PROP", "EXCAVATING": "EXC", "CUSTOM": "CUST", "INTERIORS": "INT", "LANDSCAPING": "LANDSCAPE",
	"MECHANICAL": "MECH", "HOMES": "HMS", "BROTHERS": "BROS",
}

var variants = map[string]string{
	"HOMES": "HOME", "HOME": "HOMES", "BUILDERS": "BUILDER", "RENOVATIONS": "RENOVATION", "DEVELOPMENTS": "DEVELOPMENT",
	"DEVELOPMENT": "DEVELOPMENTS", "PROJECTS": "PROJECT",
	"SERVICES": "SERVICE", "ARCHITECTURE": "ARCHITECTS", "ARCHITECT": "ARCHITECTURE", "ELECTRIC": "ELECTRICAL",
	"ELECTRICAL": "ELECTRIC", "DESIGN": "DESIGNS", "DESIGNS": "DESIGN", "INTERIORS": "INTERIOR",
	"PROPERTIES": "PROPERTY", "CONSTRUCTIONS": "CONSTRUCTION", "RENO": "RENOS",
}

// common are trades that firms of the same name may have.
var common = []string{
	"HOMES", "CONSTRUCTION", "CONTRACTING", "RENOVATIONS", "DEVELOPMENTS", "BUILDERS", "DESIGN", "PROJECTS",
	"INTERIORS", "ARCHITECTURE", "ELECTRIC", "EXCAVATING", "ROOFING", "PLUMBING", "LANDSCAPING",
}

func replace(words []string, by map[string]string) string {
	changed := slices.Clone(words)
	for i, w := range changed {
		if to, known := by[w]; known && i > 0 {
			changed[i] = to
		}
	}
	if slices.Equal(changed, words) {
		return ""
	}
	return strings.Join(changed, " ")
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func title(words []string) string {
	titled := make([]string, len(words))
	for i, w := range words {
		titled[i] = w[:1] + strings.ToLower(w[1:])
	}
	return strings.Join(titled, " ")
}

// typo makes one edit in a word of at least five letters, sometimes two if the name has
// three or more words.
func typo(r *rand.Rand, words []string) string {
	var long []int
	for i, w := range words {
		if len(w) >= 5 && !strings.ContainsAny(w, "0123456789") {
			long = append(long, i)
		}
	}
	if long == nil {
		return ""
	}
	changed := slices.Clone(words)
	for range 1 + r.IntN(7)/6*min(len(words)/3, 1) {
		at := long[r.IntN(len(long))]
		changed[at] = edit(r, changed[at])
	}
	return strings.Join(changed, " ")
}

func edit(r *rand.Rand, w string) string {
	at := 1 + r.IntN(len(w)-2)
	letter := string(rune('A' + r.IntN(26))) // #nosec G115 -- a letter
	switch r.IntN(4) {
	case 0:
		return w[:at] + w[at+1:]
	case 1:
		return w[:at] + letter + w[at:]
	case 2:
		return w[:at] + letter + w[at+1:]
	}
	return w[:at] + w[at+1:at+2] + w[at:at+1] + w[at+2:]
}

// phone writes a number in another form.
func phone(r *rand.Rand, p string) string {
	d := strings.NewReplacer(" ", "", "+", "").Replace(p)[1:]
	return pick(r, "("+d[:3]+") "+d[3:6]+"-"+d[6:], d[:3]+"."+d[3:6]+"."+d[6:], "1-"+d[:3]+"-"+d[3:6]+"-"+d[6:]+" ext 12", d, "+1"+d)
}

// Inputs makes perFirm inputs for each firm of a part, and hard inputs for which no record
// is right. all are the firms of the index.
func Inputs(all []Firm, part Part, seed uint64, perFirm int) []Input {
	r := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- not a secret
	taken := map[string]bool{}
	for _, f := range all {
		if f.Part != Absent && f.Part != AbsentFitted {
			taken[f.Same] = true
		}
	}
	none := Absent
	if part == Fitted {
		none = AbsentFitted
	}
	var inputs []Input
	add := func(in Input) {
		in.Ref = fmt.Sprint(len(inputs))
		inputs = append(inputs, in)
	}
	for _, f := range all {
		if f.Part != none && f.Part != part {
			continue
		}
		for range perFirm {
			n := noises[r.IntN(len(noises))]
			in := Input{Kind: n.kind, Same: f.Same, MatchInput: query.MatchInput{Name: n.of(r, strings.Fields(f.Name))}}
			if f.Part == none {
				in.Kind, in.Same = "a firm of no record", ""
			}
			if in.Name != "" {
				add(f.with(r, in))
			}
		}
		if f.Part == none {
			continue
		}
		if in, ok := f.hard(r, taken); ok {
			add(in)
		}
	}
	return inputs
}

// with adds other values of the firm to an input.
func (f Firm) with(r *rand.Rand, in Input) Input {
	in.With = "name alone"
	switch n := r.IntN(20); {
	case n < 4:
		in.City, in.State, in.With = f.City, pick(r, f.State, "Alberta", ""), "name and city"
	case n < 6 && f.Phone != "":
		in.Phone, in.With = phone(r, f.Phone), "name and phone"
	case n < 8 && f.Domain != "":
		in.Domain, in.With = pick(r, "https://www.", "", "www.", "HTTP://")+f.Domain+pick(r, "", "/about"), "name and domain"
	case n < 9 && f.Domain != "":
		in.Email, in.With = pick(r, "info@", "j.doe@", "sales@")+f.Domain, "name and e-mail"
	case n < 10 && f.Domain != "" && in.Same != "":
		in.Domain, in.Name, in.With, in.Kind = f.Domain, "", "domain alone", "no name"
	case n < 11 && f.Phone != "" && in.Same != "":
		in.Phone, in.Name, in.With, in.Kind = phone(r, f.Phone), "", "phone alone", "no name"
	}
	return in
}

// hard is an input that resembles a firm but means another.
func (f Firm) hard(r *rand.Rand, taken map[string]bool) (Input, bool) {
	words := strings.Fields(f.Name)
	last := words[len(words)-1]
	in := Input{With: "name alone"}
	switch r.IntN(4) {
	case 0: // a namesake in another trade
		if len(words) < 2 || !slices.Contains(common, last) {
			return in, false
		}
		in.Kind, in.Name = "namesake", title(append(slices.Clone(words[:len(words)-1]), pick(r, common...)))+pick(r, "", " Ltd.", " Inc.")
	case 1: // a firm of the same group elsewhere
		in.Kind, in.Name = "of the same group", title(words)+pick(r, " (Edmonton) Ltd.", " Holdings Vancouver", " Toronto Inc.", " Foundation")
		in.City, in.State, in.With = pick(r, "Vancouver", "Toronto"), pick(r, "BC", "ON"), "name and city"
	case 2: // the same name and another domain
		if f.Domain == "" {
			return in, false
		}
		in.Kind, in.Name, in.Domain, in.With = "another domain", title(words), fmt.Sprintf("other%d.example", r.IntN(1000)), "name and domain"
	case 3: // another name of the same form
		letters := []byte(words[0])
		if len(letters) < 4 || len(letters) > 8 || strings.ContainsAny(words[0], "0123456789&'-./") {
			return in, false
		}
		for n := 0; n < 2 || n < len(letters)/3; n++ { // two neighbours at least: no typo
			at := (r.IntN(len(letters)/2) + n*len(letters)/2) % len(letters)
			letters[at] = 'A' + (letters[at]-'A'+byte(1+r.IntN(25)))%26 // #nosec G115 -- at most 25
		}
		in.Kind, in.Name = "a similar name", string(letters)+" "+strings.Join(words[1:], " ")
	}
	if in.Domain == "" && taken[sameness(strings.ToUpper(in.Name))] {
		return in, false
	}
	return in, true
}
