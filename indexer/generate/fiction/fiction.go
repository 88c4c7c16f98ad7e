// Package fiction makes up people: names, roles, titles, mailboxes and phone numbers for
// records that need fictitious contacts. It is not for firms, places or projects, and
// nothing in it is taken from a real person: addresses are under reserved domains
// (.example), phone numbers in the range 555-0100 to 555-0199, which is reserved for
// fiction.
package fiction

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

var firstNames = []string{
	"Maria", "James", "Chloé", "David", "Anna", "Michael", "José", "Linda", "Robert", "Zoë",
	"Mei", "John", "Amélie", "Daniel", "Priya", "Thomas", "Renée", "Carlos", "Emma", "Søren",
	"Fatima", "Peter", "Élodie", "Liam", "Ingrid", "Noah", "Siân", "Ahmed", "Olga", "André",
	"Grace", "Björn", "Hana", "Luís", "Nadia", "Marc", "Aoife", "Kenji", "Teresa", "François",
	"Leila", "Ivan", "Inés", "Samuel", "Yuki", "Paul", "Mónica", "Omar", "Julia", "Stéphane",
	"Rosa", "Victor", "Agnès", "Henry", "Dana", "Łukasz", "Sofia", "Kofi", "Beatriz", "Raúl",
}

var lastNames = []string{
	"Smith", "Nguyen", "Tremblay", "García", "Johnson", "Müller", "Singh", "Brown", "Gagné", "Lee",
	"Martínez", "Côté", "Wilson", "Chen", "O'Connor", "Bélanger", "Patel", "Anderson", "López", "Roy",
	"Kowalski", "Taylor", "Núñez", "Lévesque", "Kim", "Thompson", "Ångström", "Fernández", "Moore", "Khan",
	"Beauséjour", "Davis", "Peña", "Walker", "D'Souza", "Fraser", "Hernández", "Jensen", "Novák", "Campbell",
	"Çelik", "Ito", "MacLeod", "Sørensen", "Gauthier", "Silva", "Okafor", "Ramírez", "Young", "Žižka",
	"Bergeron", "Hall", "Ferreira", "Lindqvist", "Ali", "St-Pierre", "Van Dijk", "Dubois", "Wright", "Muñoz",
	"Sanchez-Ortiz", "Petrov", "Scott", "Desrosiers", "Yamada", "Öberg", "Clark", "Rossi", "Whitefeather", "Adams",
}

// weighted is a value and its weight, relative to the sum of its list.
type weighted struct {
	value  string
	weight int
}

var roles = []weighted{
	{"project_manager", 24}, {"owner", 14}, {"executive", 12}, {"estimator", 11}, {"superintendent", 9},
	{"developer", 8}, {"architect", 7}, {"engineer", 6}, {"other", 5}, {"broker", 2}, {"lender", 1}, {"public_official", 1},
}

var titles = map[string][]string{
	"project_manager": {"Project Manager", "Senior Project Manager", "Project Coordinator", "Chargée de projet"},
	"owner":           {"Owner", "Principal", "Founder", "Propriétaire"},
	"executive":       {"President", "Vice President, Construction", "Chief Operating Officer", "Managing Director"},
	"estimator":       {"Estimator", "Senior Estimator", "Preconstruction Manager"},
	"superintendent":  {"Superintendent", "Site Superintendent", "Field Manager"},
	"developer":       {"Development Manager", "Director of Development", "Land Development Lead"},
	"architect":       {"Architect", "Project Architect", "Design Lead"},
	"engineer":        {"Structural Engineer", "Project Engineer", "Ingénieur civil"},
	"other":           {"Office Manager", "Permit Clerk", "Safety Officer"},
	"broker":          {"Broker", "Leasing Agent"},
	"lender":          {"Construction Lender", "Credit Officer"},
	"public_official": {"Plans Examiner", "Building Official"},
}

func pick(r *rand.Rand, list []weighted) string {
	total := 0
	for _, w := range list {
		total += w.weight
	}
	n := r.IntN(total)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.value
		}
	}
	return list[0].value
}

// Person returns a first and a last name. There are about four thousand pairs and some are
// far more frequent than others, so people of equal name are common.
func Person(r *rand.Rand) (first, last string) {
	return firstNames[skewed(r, len(firstNames))], lastNames[skewed(r, len(lastNames))]
}

// skewed returns an index below n, low ones more often.
func skewed(r *rand.Rand, n int) int {
	u := r.Float64()
	return int(u * (0.35 + 0.65*u) * float64(n))
}

// Role returns one of the values of a contact's role.
func Role(r *rand.Rand) string { return pick(r, roles) }

// Title returns a job title for a role.
func Title(r *rand.Rand, role string) string {
	list := titles[role]
	return list[r.IntN(len(list))]
}

// Phone returns a North American number that is not assigned.
func Phone(r *rand.Rand, area int) string {
	return "+1 " + strconv.Itoa(area) + " 555 01" + strconv.Itoa(r.IntN(10)) + strconv.Itoa(r.IntN(10))
}

// Mailbox returns the part of an e-mail address before the @: "jose.nunez".
func Mailbox(first, last string) string {
	return Slug(first) + "." + Slug(last)
}

// maxSlug is the maximum length of a domain label, minus the room for a counter after it.
const maxSlug = 48

// letters that Unicode does not decompose into a base letter and a mark.
var spelled = map[rune]string{
	'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l", 'ß': "ss", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'đ': "d", 'Đ': "d", 'ı': "i",
}

// Slug turns a name into lower-case ASCII letters, digits and single hyphens,
// at most 48 bytes: "Bâtiments Lévesque & Co." gives "batiments-levesque-co".
// A name without any letter or digit gives "firm".
func Slug(name string) string {
	ascii := true
	for i := range len(name) {
		ascii = ascii && name[i] < 0x80
	}
	if !ascii {
		name = norm.NFD.String(name)
	}
	b := make([]byte, 0, len(name))
	gap := false
	add := func(c byte) {
		if gap && len(b) > 0 {
			b = append(b, '-')
		}
		gap = false
		b = append(b, c)
	}
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			add(byte(c)) // #nosec G115 -- below 0x80 here
		case c >= 'A' && c <= 'Z':
			add(byte(c - 'A' + 'a'))
		case c == '\'' || c == '’' || c == '.' || unicode.Is(unicode.Mn, c):
		case spelled[c] != "":
			for i := range len(spelled[c]) {
				add(spelled[c][i])
			}
		default:
			gap = true
		}
	}
	if len(b) > maxSlug {
		b = b[:maxSlug]
	}
	if s := strings.Trim(string(b), "-"); s != "" {
		return s
	}
	return "firm"
}
