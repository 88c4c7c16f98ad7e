package labelled

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"atlas/indexer/generate/fiction"
	"atlas/search/catalog"
	"atlas/search/query"
)

// Person is a made-up person. Many have namesakes.
type Person struct{ ID, Name, Email, Phone, City string }

// Persons makes up n persons in firms of four. The addresses of a firm have one domain.
func Persons(seed uint64, n int) []Person {
	r := rand.New(rand.NewPCG(seed, 2)) // #nosec G404 -- not a secret
	persons := make([]Person, n)
	for i := range persons {
		first, last := fiction.Person(r)
		p := Person{
			ID: uuid.NewSHA1(uuid.NameSpaceDNS, fmt.Appendf(nil, "%d %d", seed, i)).String(), Name: first + " " + last,
			City: pick(r, cities...),
		}
		if r.IntN(10) < 6 {
			p.Email = fmt.Sprintf("%s%d@firm%d.example", fiction.Mailbox(first, last), i%4, i/4)
		}
		if r.IntN(10) < 5 {
			p.Phone = fmt.Sprintf("+1 403 %03d %04d", 200+i/10_000, i%10_000)
		}
		persons[i] = p
	}
	return persons
}

var cities = []string{"Calgary", "Edmonton", "Red Deer", "Airdrie", "Vancouver", "Toronto", "Montréal", "Winnipeg"}

// nameNoises change a person's name.
var nameNoises = []struct {
	kind string
	of   func(r *rand.Rand, first, last string) string
}{
	{"exact", func(_ *rand.Rand, first, last string) string { return first + " " + last }},
	{"case", func(_ *rand.Rand, first, last string) string { return strings.ToUpper(first + " " + last) }},
	{"order", func(_ *rand.Rand, first, last string) string { return last + ", " + first }},
	{"initial", func(_ *rand.Rand, first, last string) string { return string([]rune(first)[:1]) + ". " + last }},
	{"middle name", func(r *rand.Rand, first, last string) string {
		return first + " " + pick(r, "A.", "J.", "Marie", "Lee") + " " + last
	}},
	{"nickname", func(_ *rand.Rand, first, last string) string {
		if short := shortNames[first]; short != "" {
			return short + " " + last
		}
		return ""
	}},
	{"typo", func(r *rand.Rand, first, last string) string {
		return typo(r, []string{first, strings.ToUpper(catalog.Fold(last))})
	}},
}

var shortNames = map[string]string{
	"James": "Jim", "David": "Dave", "Michael": "Mike", "Robert": "Bob", "John": "Jack", "Daniel": "Dan",
	"Thomas": "Tom", "Peter": "Pete", "Samuel": "Sam",
}

// PersonInputs makes inputs of persons. Half of them have no right record: a namesake with
// other values, a person of no record, or a colleague with the same family name. Same is
// the ID of the right record.
func PersonInputs(persons []Person, seed uint64) []Input {
	r := rand.New(rand.NewPCG(seed, 3)) // #nosec G404 -- not a secret
	var inputs []Input
	add := func(in Input) {
		if in.Name != "" {
			in.Ref = fmt.Sprint(len(inputs))
			inputs = append(inputs, in)
		}
	}
	for _, p := range persons {
		first, last, _ := strings.Cut(p.Name, " ")
		n := nameNoises[r.IntN(len(nameNoises))]
		in := Input{Kind: n.kind, With: "name alone", Same: p.ID, MatchInput: query.MatchInput{Name: n.of(r, first, last)}}
		with := r.IntN(6)
		switch {
		case with == 0 && p.Email != "":
			in.Email, in.With = strings.ToUpper(p.Email), "name and e-mail"
		case with == 1 && p.Email != "":
			_, in.Domain, _ = strings.Cut(p.Email, "@")
			in.With = "name and domain"
		case with == 2 && p.Phone != "":
			in.Phone, in.With = phone(r, p.Phone), "name and phone"
		case with == 3:
			in.City, in.With = p.City, "name and city"
		case with == 4 && p.Email != "":
			_, in.Domain, _ = strings.Cut(p.Email, "@")
			in.City, in.With = p.City, "name, domain and city"
		}
		add(in)
		hard := Input{MatchInput: query.MatchInput{Name: p.Name}}
		switch r.IntN(4) {
		case 0:
			hard.Kind, hard.With, hard.Domain = "namesake elsewhere", "name and domain", fmt.Sprintf("other%d.example", r.IntN(1000))
		case 1:
			hard.Kind, hard.With, hard.Phone, hard.City = "namesake elsewhere", "name, phone and city", fmt.Sprintf(
				"+1 902 555 %04d", r.IntN(10_000),
			), "Halifax"
		case 2:
			other, _ := fiction.Person(r)
			if other == first || p.Email == "" {
				continue
			}
			_, hard.Domain, _ = strings.Cut(p.Email, "@")
			hard.Kind, hard.With, hard.Name = "colleague of one family name", "name and domain", other+" "+last
		default:
			hard.Kind, hard.With, hard.Name, hard.City = "a person of no record", "name and city", first+" "+
				fmt.Sprintf("Xandr%dovic", r.IntN(100)), p.City
		}
		add(hard)
	}
	return inputs
}
