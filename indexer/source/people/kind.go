package people

import (
	"strings"
	"unicode"

	"atlas/search/catalog"
)

// Kind is the kind of a name.
type Kind uint8

// The kinds.
const (
	Nobody   Kind = iota // "SELF", "N/A", not a name
	Firm                 // a firm, or a public body
	Person               // looks like the name of a person
	Doubtful             // either; treated as a person
)

// String is the kind in reports.
func (k Kind) String() string { return [...]string{"nobody", "firm", "person", "doubtful"}[k] }

func set(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(text) {
		words[w] = true
	}
	return words
}

// nobodies are cells that name nobody.
var nobodies = set(`self owner homeowner same none unknown tbd tba na n/a nil null applicant contractor various pending test resident occupant tenant vacant other builder agent x xx xxx - --`)

// firmWords are words in names of firms and public bodies that are rarely names of persons.
// Trades that are also family names (stone, wood, church, glass, bell) are not among them.
var firmWords = set(`construction constructors constructor contracting contractors contractor homes home builders builder building buildings development developments developers
developer properties property electric electrical electricians plumbing plumbers mechanical service services svc svcs solutions systems system group associates association associations enterprises
enterprise partners partnership partnerships holdings holding investments investment investors realty restaurant restaurants roofing roofers renovations renovation renovators renos design designs designers
architects architect architecture architectural engineering engineers consulting consultants heating cooling hvac refrigeration landscaping landscape landscapes management mgmt
ventures venture capital industries industrial international communities community custom remodeling remodelling remodelers restoration restorations painting painters demolition excavating excavation
excavators concrete masonry drywall flooring floors carpentry insulation installations installation installers fabrication fabricators steel signs signage solar energy power electricity foundation foundations
irrigation conditioning technologies technology tech university college school schools district hospital hospitals clinic medical dental healthcare authority ministry municipality
municipal condominium condominiums condos apartments apartment housing association assn centre center plaza mall hotel hotels motel inn suites bank insurance mortgage
financial finance logistics transport transportation trucking hauling equipment rentals rental supply supplies materials products manufacturing mfg wholesale retail stores store
foods bakery cafe pizza coffee brewery grocery pharmacy fitness spa salon studio studios gallery theatre theater museum library cathedral ministries parish diocese synagogue mosque temple
society foundation club institute academy council commission department dept county township government federal authority utilities utility telecom communications wireless network networks
security alarm alarms fire protection sprinkler sprinklers elevator elevators crane cranes scaffold scaffolding fence fences fencing pools decks patios paving asphalt drilling welding
environmental geotechnical surveying surveyors geomatics planning planners interiors interior exteriors exterior siding windows doors gutters cabinets kitchens baths millwork woodworks woodworking
bros brothers sons company corporation incorporated limited enterprises unlimited homebuilders homebuilding builds build land estates residential commercial multifamily
innovations concepts innovative professional quality consortium cooperative coop llc inc ltd`)

// publicPhrases are beginnings and parts of the names of public bodies.
var publicPhrases = []string{
	"city of ", "town of ", "village of ", "county of ", "state of ", "province of ", "government of ", "church of ",
	"university of ", "board of ", "department of ", "bank of ", "united states ", "region of ", "district of ",
	"port of ",
}

// personPhrases mark a name as that of persons, whatever else it contains.
var personPhrases = []string{
	" family trust", " living trust", " revocable ", " rev trust", " irrevocable ", "estate of ", " et al", " et ux",
	" & wife", " and wife", " & husband", " trustee", " trustees",
}

// personMarks follow or precede names of persons.
var personMarks = set(`jr sr ii iii iv mr mrs ms miss dr md dds phd pe p.e esq ra aia cpa`)

// KindOf returns the kind of a name. trade means that the participant is in business, such
// as a contractor: a single word is then the name of a firm.
func KindOf(name string, trade bool) Kind {
	folded := catalog.Fold(strings.TrimSpace(name))
	words := strings.FieldsFunc(strings.ReplaceAll(folded, "'", ""), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '&'
	})
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, ".", "")
	}
	if isNobody(folded, words) {
		return Nobody
	}
	padded := " " + strings.Join(words, " ") + " "
	for _, p := range personPhrases {
		if strings.Contains(padded, p+" ") || strings.Contains(padded, p) && p[len(p)-1] == ' ' {
			return Person
		}
	}
	if isFirm(padded, words, len([]rune(name))) {
		return Firm
	}
	letters := words[:0:0]
	for _, w := range words {
		if !personMarks[w] {
			letters = append(letters, w)
		}
	}
	switch {
	case len(letters) == 1 && trade && len(letters[0]) > 2 && len(words) == 1:
		return Firm
	case len(letters) >= 2 && len(letters) <= 5 || len(letters) < len(words):
		return Person
	}
	return Doubtful
}

func isNobody(folded string, words []string) bool {
	if len(words) == 0 || nobodies[folded] || nobodies[strings.Join(words, "")] {
		return true
	}
	letters := strings.IndexFunc(folded, unicode.IsLetter) >= 0
	first := strings.Join(words[:min(len(words), 2)], " ")
	switch first {
	case "self contractor", "owner builder", "owner contractor", "not applicable", "no contractor", "same as", "to be",
		"home owner", "property owner", "see attached", "contractor unknown", "owner as":
		return true
	}
	return !letters
}

// cutAt is the length at which many systems cut names off.
const cutAt = 20

func isFirm(padded string, words []string, length int) bool {
	for _, p := range publicPhrases {
		if strings.Contains(padded, " "+p) {
			return true
		}
	}
	for i, w := range words {
		if firmWords[w] && (i > 0 || len(words) > 1) {
			return true
		}
		if _, legal := catalog.LegalForms[w]; legal && i > 0 && (i == len(words)-1 || len(w) > 2) {
			return true
		}
		if strings.IndexFunc(w, unicode.IsDigit) >= 0 && len(words) > 1 {
			return true
		}
		switch w {
		case "dba", "oa", "aka", "&co":
			return i > 0
		}
	}
	// A name that was cut in its last word: LEND LEASE US CONSTRUCTI.
	last := words[len(words)-1]
	return length >= cutAt && len(last) >= 6 && beginsFirmWord(last)
}

func beginsFirmWord(text string) bool {
	for w := range firmWords {
		if strings.HasPrefix(w, text) {
			return true
		}
	}
	return false
}
