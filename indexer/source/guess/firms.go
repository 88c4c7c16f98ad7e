package guess

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"atlas/indexer/source/people"
)

// names are columns with names of participants.
var (
	nameColumn = regexp.MustCompile(`(contractor|builder|owner|applicant|architect|engineer|developer|company|business|firm|licensee|professional|agent|contact|participant|parties|tenant|designer|organization|organisation)`)
	notName    = regexp.MustCompile(`(phone|tel|fax|email|mail|addr|street|city|state|zip|postal|prov|license|licence|number|num|id$|no$|type|role|date|trade|unit|country|relationship|class|status|occupied|desc|house)`)
)

// firms writes the participants.
func (w *writer) firms() {
	var entries []string
	done := map[string]bool{}
	for _, c := range w.profile.columns {
		if !w.isName(c) || w.used(c) {
			continue
		}
		pattern, most := w.groupOf(c)
		if done[pattern] {
			continue
		}
		done[pattern] = true
		entries = append(entries, w.firm(c, pattern, most))
	}
	if len(entries) == 0 {
		w.line("# UNSURE: no column looks like the names of firms")
		return
	}
	w.line("")
	w.line("# Private persons become no record.")
	w.line("firms:")
	for _, e := range entries {
		w.b.WriteString(e)
	}
}

// isName reports whether a column has names of participants.
func (w *writer) isName(c *column) bool {
	if c.filled == 0 || c.judged == 0 || c.isDate() || c.share(c.numbers) > 0.5 {
		return false
	}
	if !nameColumn.MatchString(c.letter) || notName.MatchString(strings.TrimSuffix(c.letter, "name")) {
		return false
	}
	return (c.firms+c.persons)*3 > c.judged
}

// groupOf returns the pattern of numbered columns that a column belongs to, with # for the
// number, and how many there are. Of others it returns the name and 0.
func (w *writer) groupOf(c *column) (string, int) {
	for pattern, most := range w.groups {
		for n := 1; n <= most; n++ {
			if strings.Replace(pattern, "#", strconv.Itoa(n), 1) == c.name {
				return pattern, most
			}
		}
	}
	return c.name, 0
}

// firm is an entry of firms.
func (w *writer) firm(c *column, pattern string, most int) string {
	var b strings.Builder
	line := func(text string) { b.WriteString("    " + text + "\n") }
	first := "name: " + quoted("{"+pattern+"}")
	if most > 0 {
		line("numbered: " + strconv.Itoa(most))
	}
	line(first)
	if c.pairs*4 > c.judged {
		line("cell: person-firm   # such as A Person, Acme Inc")
	}
	if labelled, listed := c.lists(); labelled {
		line("cell: labelled   # such as Contractor: Acme Inc; Owner: A Person")
		line("type:")
		line("  of: " + quoted("{"+pattern+"}"))
		b.WriteString(roleTable(c.labels()))
		return "  - " + strings.TrimPrefix(b.String(), "    ")
	} else if listed {
		line("cell: list")
	}
	kind := w.roleBeside(pattern)
	switch {
	case kind != "":
		line("type:")
		line("  of: " + quoted("{"+kind+"}"))
		b.WriteString(w.types(kind))
	default:
		proposal := proposed(roleTypes, strings.Join(c.words, " "))
		if strings.Contains(c.letter, "contractor") && proposal == "subcontractor" && !strings.Contains(c.letter, "sub") {
			proposal = "general_contractor"
		}
		if proposal == "" {
			proposal = "other"
		}
		line("type: " + proposal + unsureType(proposal))
	}
	for _, f := range []struct{ key, by string }{{"phone", `(phone|tel)`}, {"city", `city`}, {"state", `(state|prov)`}} {
		if other := w.beside(pattern, f.by); other != "" {
			line(f.key + ": " + quoted("{"+other+"}"))
		}
	}
	text := b.String()
	return "  - " + strings.TrimPrefix(text, "    ")
}

// lists reports whether cells have several names, with labels or without.
func (c *column) lists() (labelled, listed bool) {
	labels, several, n := 0, 0, 0
	for _, v := range c.values() {
		if n++; n > maxNames {
			break
		}
		if label, _ := people.Label(v); label != "" && proposed(roleTypes, label) != "" {
			labels++
		}
		if strings.ContainsAny(v, ";|\n") {
			several++
		}
	}
	return labels*2 > n, several*4 > n
}

// labels counts the labels before the names in a column.
func (c *column) labels() map[string]int {
	counts := map[string]int{}
	for v, cells := range c.counts {
		for _, one := range people.Split(v, "labelled", false) {
			if label, _ := people.Label(one); label != "" && len(label) <= maxLabel {
				counts[label] += cells
			}
		}
	}
	maps.DeleteFunc(counts, func(label string, cells int) bool { return proposed(roleTypes, label) == "" && cells < fewCells })
	return counts
}

// fewCells is a number of cells that may have a label by chance, such as a name before a
// colon.
const fewCells = 3

const maxLabel = 40

// roleBeside is the column with the roles for a column of names, "" if there is none.
func (w *writer) roleBeside(name string) string {
	role := w.beside(name, `(type|role|trade|relationship|capacity|class)`)
	c := w.profile.byName[strings.Replace(role, "#", "1", 1)]
	if c == nil || regexp.MustCompile(`(addr|street|unit|license|phone)`).MatchString(c.letter) || known(roleTypes, c)*3 < 1 {
		return ""
	}
	return role
}

func unsureType(proposal string) string {
	if proposal == "other" {
		return "   # UNSURE: general_contractor, owner, developer, architect, …"
	}
	return ""
}

// types is the table of roles of a column, over all its numbers.
func (w *writer) types(role string) string {
	counts := map[string]int{}
	for _, c := range w.profile.columns {
		if of, _ := w.groupOf(c); of != role {
			continue
		}
		for v, rows := range c.counts {
			counts[v] += rows
		}
	}
	return roleTable(counts)
}

// roleTable is the table of roles with their counts, without possible persons.
func roleTable(counts map[string]int) string {
	order := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(v string) bool {
		return people.KindOf(v, false) == people.Person && proposed(roleTypes, v) == "" || people.Private(v)
	})
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	var b strings.Builder
	b.WriteString("      table:\n")
	listed := 0
	for _, v := range order[:min(len(order), maxTable)] {
		if to := proposed(roleTypes, v); to != "" {
			listed++
			b.WriteString("        " + quoted(pattern(v)) + ": " + to + "   # " + strconv.Itoa(counts[v]) + "\n")
		} else {
			b.WriteString("        # " + quoted(pattern(v)) + ":    # UNSURE, " + strconv.Itoa(counts[v]) + " rows; none is nobody who takes part\n")
		}
	}
	if listed == 0 {
		b.WriteString("        \"?\": other   # UNSURE: a table needs an entry\n")
	}
	b.WriteString("      default: other\n")
	return b.String()
}

// beside is the column that belongs to a column of names: it has the same stem and contains
// a word. "" if there is none.
func (w *writer) beside(name, word string) string {
	stem := stemOf(name)
	re := regexp.MustCompile(word)
	for _, c := range w.profile.columns {
		of, _ := w.groupOf(c)
		if of == name || c.filled == 0 || w.used(c) {
			continue
		}
		rest, begins := strings.CutPrefix(strings.ToLower(of), stem)
		if begins && stem != "" && re.MatchString(strings.ToLower(rest)) && !strings.Contains(strings.ToLower(rest), "zip") {
			return of
		}
	}
	return ""
}

// stemOf is the common beginning of the columns of one participant: contractor for
// CONTRACTOR_NAME, contractor_# for CONTRACTOR_#_NAME.
func stemOf(name string) string {
	stem := strings.ToLower(name)
	if dot := strings.LastIndexByte(stem, '.'); dot > 0 { // members of one object
		return stem[:dot]
	}
	for _, end := range []string{"name", "fullname", "full name", "company", "businessname", "companyname"} {
		stem = strings.TrimSuffix(stem, end)
	}
	return strings.TrimRight(stem, " _-.")
}

// unused lists the columns that the description does not name, without their values.
func (w *writer) unused() {
	text := w.b.String()
	var all []string
	for _, c := range w.profile.columns {
		if pattern, _ := w.groupOf(c); !strings.Contains(text, "{"+pattern+"}") {
			all = append(all, c.name)
		}
	}
	if len(all) > 0 {
		w.line("")
		w.line("# Columns that are not used: %s", strings.Join(all, ", "))
	}
}
