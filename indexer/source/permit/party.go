package permit

import (
	"slices"
	"strconv"
	"strings"

	"atlas/indexer/source"
	"atlas/indexer/source/people"
	"atlas/indexer/source/value"
)

// party is a compiled source.Firm, for one of its numbers.
type party struct {
	number                         int
	name, kind, phone, city, state *text
	country                        *text
	cell                           string
	keepPersons                    bool
	columns                        []int
}

// Party is a firm that takes part in a permit.
type Party struct {
	Name, Type                  string
	Phone, City, State, Country string
}

// Who counts the names of a permit by kind.
type Who struct{ Firms, Persons, Doubtful, Retained int }

func compileParty(f source.Firm, number int, columns *value.Columns) (party, error) {
	p := party{number: number, cell: f.Cell, keepPersons: f.Persons == "keep"}
	for to, v := range map[**text]source.Value{
		&p.name: f.Name, &p.kind: f.Type, &p.phone: f.Phone, &p.city: f.City, &p.state: f.State, &p.country: f.Country,
	} {
		if f.Numbered > 0 {
			v = replaced(v, strconv.Itoa(number))
		}
		t, err := compileText(v, columns)
		if err != nil {
			return p, err
		}
		*to = t
		p.columns = append(p.columns, t.columns()...)
	}
	return p, nil
}

// replaced replaces # in the columns of a value by a number.
func replaced(v source.Value, number string) source.Value {
	v.Of = strings.ReplaceAll(v.Of, "#", number)
	v.First = slices.Clone(v.First)
	for i := range v.First {
		v.First[i] = replaced(v.First[i], number)
	}
	return v
}

// inBusiness reports whether participants of a type are in business: a single word is then
// the name of a firm.
func inBusiness(kind string) bool { return kind != "owner" && kind != "other" && kind != "developer" }

// readParties sets the participants.
func (s *Source) readParties(p *Permit) {
	for i := range s.parties {
		y := &s.parties[i]
		name := y.name.read(s.row.cell).text
		if name == "" {
			continue
		}
		if y.cell == "labelled" {
			for _, one := range people.Split(name, y.cell, true) {
				label, of := people.Label(one)
				role := y.kind.result(label)
				if label == "" { // default applies to them; without it there is no participant
					role.unmapped = role.text == ""
				}
				s.addRole(p, y, of, role)
			}
			continue
		}
		s.addRole(p, y, name, y.kind.read(s.row.cell))
	}
}

// addRole adds the participants named in a cell, who share a role.
func (s *Source) addRole(p *Permit, y *party, cell string, role result) {
	if role.unmapped {
		p.unmapped("role", role.cell, s.columnOf(y.kind), s)
	}
	if role.text == "" || role.text == source.None {
		return
	}
	names := []string{cell}
	if y.cell != "labelled" {
		names = people.Split(cell, y.cell, inBusiness(role.text))
	}
	for _, one := range names {
		s.addParty(p, y, people.WithoutCare(strings.TrimSpace(one)), role.text)
	}
}

func (s *Source) addParty(p *Permit, y *party, name, role string) {
	kind := people.Firm
	if y.cell != "firm" {
		if clean, changed := people.Scrub(name); changed {
			name = strings.Trim(strings.ReplaceAll(clean, people.Removed, ""), " ,;-()")
		}
		name = people.WithoutPersons(name)
		kind = s.kindOf(name, inBusiness(role))
	}
	if kind == people.Nobody {
		return
	}
	if role == "general_contractor" {
		p.Assigned = true
	}
	switch {
	case kind == people.Firm:
		p.Who.Firms++
	case y.keepPersons:
		p.Who.Retained++
	case kind == people.Person:
		p.Who.Persons++
		return
	default:
		p.Who.Doubtful++
		return
	}
	if wrong := wrongText(name, maxText); wrong != "" {
		s.trouble(p, s.columnOf(y.name), wrong)
		if s.refuse {
			return
		}
		name = mended(name, maxText)
	}
	if name == "" {
		return
	}
	party := Party{Name: name, Type: role}
	for to, t := range map[*string]*text{&party.Phone: y.phone, &party.City: y.city, &party.State: y.state, &party.Country: y.country} {
		*to = mended(t.read(s.row.cell).text, maxText)
	}
	p.Parties = append(p.Parties, party)
}

// kindOf is people.KindOf with a cache, since names recur.
func (s *Source) kindOf(name string, trade bool) people.Kind {
	key := nameKey{name, trade}
	kind, known := s.kinds[key]
	if !known {
		kind = people.KindOf(name, trade)
		if s.kinds == nil || len(s.kinds) >= maxKnown {
			s.kinds = map[nameKey]people.Kind{}
		}
		s.kinds[nameKey{strings.Clone(name), trade}] = kind
	}
	return kind
}

type nameKey struct {
	name  string
	trade bool
}
