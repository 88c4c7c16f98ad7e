package people

import (
	"strings"
	"unicode"
)

// personWords are words in names of columns with names or private data of persons.
var personWords = set(`name names owner owners applicant applicants contact contacts person persons agent agents holder holders tenant tenants resident residents occupant
phone phones telephone tel fax cell mobile email emails mail mailing firstname lastname fullname first last surname given contractor contractors builder licensee professional
professionals architect engineer signatory inspector inspectors reviewer planner staff assigned technician user creator editor createdby updatedby enteredby dob birth ssn`)

// placeWords mark columns about places or things: street name, project name.
var placeWords = set(`street road st project community city file county district subdivision neighborhood neighbourhood building area ward zone park school state province
plan species type work permit class status business company firm organization organisation corporation establishment plat tract region municipality suburb application folder record dataset layer country facility
category group date day time count number no id code issued updated created value cost fee fees units`)

// businessWords mark names of firms.
var businessWords = set(`business company firm organization organisation corporation establishment`)

// PersonalColumn reports whether, by its name, a column may have names or private data of
// persons. Columns about places and things have none, such as street_name.
func PersonalColumn(name string) bool {
	words := Words(name)
	personal, place := false, false
	for _, w := range words {
		w = strings.TrimRight(w, "0123456789")
		for _, end := range []string{"name", "phone", "email"} {
			if stem, is := strings.CutSuffix(w, end); is && personWords[stem] { // applicantname
				return true
			}
		}
		personal = personal || personWords[w]
		place = place || placeWords[w]
		switch w {
		case "phone", "phones", "email", "emails", "telephone", "fax", "owner", "owners", "applicant", "applicants",
			"contact", "contacts", "tenant", "mailing", "inspector", "agent":
			if !businessColumn(words) {
				return true // whatever other words it has: owner_city is where a person lives
			}
		}
	}
	return personal && !place
}

func businessColumn(words []string) bool {
	for _, w := range words {
		if businessWords[w] {
			return true
		}
	}
	return false
}

// Words are the words of a column's name: FirstName, FIRST_NAME and "first name" have the
// same two.
func Words(name string) []string {
	var words []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			words = append(words, strings.ToLower(b.String()))
			b.Reset()
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])):
			flush()
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	flush()
	return words
}
