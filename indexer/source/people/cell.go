package people

import (
	"regexp"
	"strings"

	"atlas/search/catalog"
)

// Split splits a cell with several names by its form: person-firm ("Jane Doe, Acme Inc"),
// firm-person, list and labelled (separated by semicolons, bars or line ends). In other
// forms the cell is one name.
func Split(cell, form string, trade bool) []string {
	switch form {
	case "person-firm":
		return []string{firmSide(cell, trade, false)}
	case "firm-person":
		return []string{firmSide(cell, trade, true)}
	case "list", "labelled":
		return strings.FieldsFunc(cell, func(r rune) bool { return r == ';' || r == '|' || r == '\n' || r == '\r' })
	}
	return []string{cell}
}

// firmSide is the side of a comma that names the firm. It is the whole cell without a comma, or
// if only a legal form follows it ("Carl Electric Co., Inc").
func firmSide(cell string, trade, firmFirst bool) string {
	at := strings.IndexByte(cell, ',')
	if firmFirst {
		at = strings.LastIndexByte(cell, ',')
	}
	if at < 0 {
		return cell
	}
	left, right := strings.TrimSpace(cell[:at]), strings.TrimSpace(cell[at+1:])
	if isLegalForm(right) || left == "" || right == "" {
		return strings.Trim(strings.TrimSpace(cell), ",")
	}
	leftFirm, rightFirm := KindOf(left, false) == Firm, KindOf(right, false) == Firm
	switch {
	case leftFirm && rightFirm:
		return cell
	case leftFirm:
		return left
	case rightFirm:
		return right
	case firmFirst:
		return left
	}
	return right
}

func isLegalForm(text string) bool {
	for _, w := range strings.Fields(catalog.Fold(text)) {
		if _, legal := catalog.LegalForms[strings.Trim(strings.ReplaceAll(w, ".", ""), ",")]; !legal {
			return false
		}
	}
	return text != ""
}

// care matches the part that names who takes a firm's mail: "Acme Inc % Jane Doe".
var care = regexp.MustCompile(`(?i)\s+(?:%|c/o|c/-|attn:?|attention:?|in care of)\s+`)

// WithoutCare is a name without the part that names who takes its mail.
func WithoutCare(name string) string {
	if at := care.FindStringIndex(name); at != nil && at[0] > 0 {
		return strings.TrimRight(name[:at[0]], " ,")
	}
	return name
}

// slash separates several names: "Jane Doe / Acme Inc".
var slash = regexp.MustCompile(`\s+/+\s+`)

// WithoutPersons removes from a name the persons that slashes separate from firms. Of persons
// only, it leaves the first.
func WithoutPersons(name string) string {
	sides := slash.Split(name, -1)
	if len(sides) == 1 {
		return name
	}
	var firms, persons, others []string
	for _, side := range sides {
		switch KindOf(side, false) {
		case Firm:
			firms = append(firms, side)
		case Person:
			persons = append(persons, side)
		case Doubtful:
			others = append(others, side)
		}
	}
	switch {
	case len(persons) == 0:
		return name
	case len(firms) > 0:
		return strings.Join(firms, " / ")
	case len(others) == 0:
		return persons[0]
	}
	return name
}

// Label splits a labelled name: "Contractor: Acme Inc".
func Label(text string) (label, name string) {
	label, name, found := strings.Cut(text, ":")
	if !found || strings.TrimSpace(name) == "" {
		return "", strings.TrimSpace(text)
	}
	return strings.TrimSpace(label), strings.TrimSpace(name)
}
