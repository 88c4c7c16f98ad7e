package labelled

import (
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Firm is a firm of the permits, with made-up values that the permits do not have.
type Firm struct {
	ID, Name, Domain, Phone, City, State string
	// Same identifies the firm: spellings that differ only in legal form, brackets and
	// punctuation are equal.
	Same string
	// Part is how the firm is used.
	Part Part
}

// Part is what a firm is used for. Firms of one name are in one part.
type Part uint8

// The parts.
const (
	Fitted       Part = iota // the weights are fitted to these
	HeldOut                  // the figures are measured with these
	AbsentFitted             // no index has these; they are for fitting
	Absent                   // no index has these; they are for the figures
)

// Firms reads the firms of a file of permits, in the order of their names.
func Firms(permits io.Reader) ([]Firm, error) {
	rows, err := csv.NewReader(permits).ReadAll()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, column := range []string{"applicantname", "contractorname"} {
		at := slices.Index(rows[0], column)
		for _, row := range rows[1:] {
			if name := strings.ToUpper(strings.Join(strings.Fields(row[at]), " ")); name != "" {
				names[name] = true
			}
		}
	}
	firms := make([]Firm, 0, len(names))
	for name := range names {
		same := sameness(name)
		h := hash(same)
		f := Firm{ID: uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)).String(), Name: name, Same: same, City: "Calgary", State: "AB"}
		switch h % 10 {
		case 0, 1, 2, 3:
			f.Part = Fitted
		case 8:
			f.Part = AbsentFitted
		case 9:
			f.Part = Absent
		default:
			f.Part = HeldOut
		}
		if h>>8%10 < 6 {
			f.Domain = strings.ReplaceAll(strings.ToLower(same), " ", "-") + ".example"
		}
		if h>>16%10 < 6 {
			f.Phone = fmt.Sprintf("+1 403 %03d %04d", 200+h>>24%700, h>>32%10_000)
		}
		if city := h >> 40 % 20; city < 3 {
			f.City = []string{"Airdrie", "Edmonton", "Red Deer"}[city]
		}
		firms = append(firms, f)
	}
	slices.SortFunc(firms, func(a, b Firm) int { return strings.Compare(a.Name, b.Name) })
	return firms, nil
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// legalWords are not part of a firm's name.
var legalWords = []string{"INC", "LTD", "LIMITED", "CORP", "CORPORATION", "CO", "LP", "GP", "ULC", "PARTNERSHIP", "THE"}

func sameness(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r != '\'' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') })
	kept := slices.DeleteFunc(words, func(w string) bool { return slices.Contains(legalWords, w) })
	return strings.ReplaceAll(strings.Join(kept, " "), "'", "")
}
