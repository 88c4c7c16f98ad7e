package permit

import (
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"atlas/indexer/source"
	"atlas/indexer/source/people"
	"atlas/indexer/source/value"
)

// Permit is the content of a row. Unknown values are empty, zero or nil.
type Permit struct {
	Line        int64
	Key, Number string

	Name, Description, Address string
	City, State, Country       string
	Stage, Disposition         string
	PrimaryUse                 string
	Units, Stories             *int64
	Sqft, Cost                 *float64
	Filed, Permitted           time.Time
	// Ended is when the work was completed, or the permit stopped.
	Ended, Updated      time.Time
	Latitude, Longitude *float64
	URL                 string

	// Status is the city's status.
	Status   string
	Parties  []Party
	Assigned bool // to a general contractor, possibly a person
	Who      Who

	// Troubles are cells that were read as unknown.
	Troubles []Trouble
	// Unmapped are values without a rule.
	Unmapped []Unmapped
	// Fallback means that the point was a geocoder's, OffMap that it was beyond the box.
	Fallback, OffMap bool
	// Scrubbed means that personal data was removed from a text.
	Scrubbed bool
}

// Unmapped is a value without a rule in its table.
type Unmapped struct {
	Field string // status, primary_use, role
	Value string // "" if the column is about persons
}

func (p *Permit) unmapped(field, cell, column string, s *Source) {
	if s.personal(column) || people.Private(cell) {
		cell = ""
	}
	p.Unmapped = append(p.Unmapped, Unmapped{field, cell})
}

// Skipped is why the description leaves out a row.
func (s *Source) Skipped(cells []string) (why string, skipped bool) {
	if len(s.skip) == 0 {
		return "", false
	}
	s.row.begin(cells)
	for i, r := range s.skip {
		cell := r.of.Text(s.row.cell)
		if r.is != nil && r.is.Find(cell) >= 0 || r.isNot != nil && r.isNot.Find(cell) < 0 {
			if r.why != "" {
				return r.why, true
			}
			return fmt.Sprintf("rule %d of skip", i+1), true
		}
	}
	return "", false
}

// KeyOf is the key of a row, "" if it has none.
func (s *Source) KeyOf(cells []string) string {
	s.row.begin(cells)
	return s.key.read(s.row.cell).text
}

// Permit reads a row. The second result, if set, says why the row is not a permit.
func (s *Source) Permit(line int64, cells []string) (Permit, *Trouble) {
	s.row.begin(cells)
	p := Permit{Line: line}
	p.Key = s.short(&p, s.key)
	p.Number = s.short(&p, s.number)
	p.Address = s.short(&p, s.fields[fieldAddress])
	p.City = s.short(&p, s.fields[fieldCity])
	p.State = s.short(&p, s.fields[fieldState])
	p.Country = s.short(&p, s.fields[fieldCountry])
	p.URL = s.short(&p, s.fields[fieldURL])
	p.Description = s.text(&p, s.fields[fieldDescription], maxDescription)
	p.Filed = s.date(&p, s.fields[fieldFiled])
	p.Permitted = s.date(&p, s.fields[fieldPermitted])
	p.Ended = s.date(&p, s.fields[fieldCompleted])
	p.Updated = s.date(&p, s.fields[fieldUpdated])
	p.Units = s.whole(&p, s.fields[fieldUnits])
	p.Stories = s.whole(&p, s.fields[fieldStories])
	p.Sqft = s.amount(&p, s.fields[fieldSqft])
	p.Cost = s.amount(&p, s.fields[fieldCost])
	s.readPlace(&p)
	s.readParties(&p)
	s.readStatus(&p)
	s.readUse(&p)
	s.readName(&p)
	if p.Key == "" {
		return p, &Trouble{s.columnOf(s.key), "empty"}
	}
	if s.refuse && len(p.Troubles) > 0 {
		return p, &p.Troubles[0]
	}
	if p.Name == "" {
		return p, &Trouble{s.columnOf(s.fields[fieldName]), "empty, as is all that a project could be named by"}
	}
	p.clean()
	return p, nil
}

// clean removes personal data from the texts.
func (p *Permit) clean() {
	for _, t := range []*string{&p.Description, &p.Name} {
		if clean, changed := people.Scrub(*t); changed {
			*t, p.Scrubbed = clean, true
		}
	}
}

// trouble records that a cell was read as unknown.
func (s *Source) trouble(p *Permit, column, reason string) {
	p.Troubles = append(p.Troubles, Trouble{column, reason})
}

// unread records a cell that cannot be read, and shows it unless it may be about a person.
func (s *Source) unread(p *Permit, t *text, cell, what string) {
	column := s.columnOf(t)
	if s.personal(column) || people.Private(cell) {
		s.trouble(p, column, "the cell "+what)
		return
	}
	if runes := []rune(cell); len(runes) > 40 {
		cell = string(runes[:40]) + "…"
	}
	s.trouble(p, column, strconv.Quote(cell)+" "+what)
}

func (s *Source) short(p *Permit, t *text) string { return s.text(p, t, maxText) }

func (s *Source) text(p *Permit, t *text, limit int) string {
	v := t.read(s.row.cell).text
	if wrong := wrongText(v, limit); wrong != "" {
		s.trouble(p, s.columnOf(t), wrong)
		return mended(v, limit)
	}
	return v
}

func (s *Source) date(p *Permit, t *text) time.Time {
	cell := t.read(s.row.cell).text
	if cell == "" {
		return time.Time{}
	}
	at, err := s.dates.Parse(cell)
	if err != nil {
		s.failed(p, t, err)
	}
	return at
}

// failed records the error of a cell, which shows the cell.
func (s *Source) failed(p *Permit, t *text, err error) {
	column := s.columnOf(t)
	reason := err.Error()
	if s.personal(column) || people.Private(reason) {
		reason = "the cell cannot be read"
	}
	s.trouble(p, column, reason)
}

func (s *Source) numeric(p *Permit, t *text) (float64, bool) {
	cell := t.read(s.row.cell).text
	if cell == "" {
		return 0, false
	}
	f, known, err := s.numbers.Parse(cell)
	if err != nil {
		s.failed(p, t, err)
		return 0, false
	}
	for _, u := range t.unknowns() {
		if f == u {
			return 0, false
		}
	}
	return f, known
}

// unknowns are the numbers that mean unknown.
func (t *text) unknowns() []float64 {
	all := slices.Clone(t.unknownNumbers)
	for _, f := range t.first {
		all = append(all, f.unknowns()...)
	}
	return all
}

// amount reads a number in the unit of the description.
func (s *Source) amount(p *Permit, t *text) *float64 {
	f, known := s.numeric(p, t)
	if !known {
		return nil
	}
	switch t.unit {
	case "m2":
		f *= value.SquareMetre
	case "thousand":
		f *= 1e3
	case "million":
		f *= 1e6
	}
	return &f
}

func (s *Source) whole(p *Permit, t *text) *int64 {
	cell := t.read(s.row.cell).text
	if cell == "" {
		return nil
	}
	n, known, err := s.numbers.Whole(cell)
	if err != nil {
		s.failed(p, t, err)
		return nil
	}
	for _, u := range t.unknowns() {
		if float64(n) == u {
			return nil
		}
	}
	if !known {
		return nil
	}
	return &n
}

// readStatus sets stage and disposition: by the table of statuses, else by the dates.
func (s *Source) readStatus(p *Permit) {
	r := s.fields[fieldStatus].read(s.row.cell)
	p.Status = r.cell
	if r.unmapped {
		p.unmapped("status", r.cell, s.columnOf(s.fields[fieldStatus]), s)
	}
	p.Stage, p.Disposition, _ = source.Status(r.text)
	if p.Disposition == "" {
		p.Disposition = "active"
	}
	if p.Stage != "" {
		return
	}
	switch {
	case p.Disposition != "active" && p.Permitted.IsZero():
		p.Stage = "filed"
	case p.Disposition != "active":
		p.Stage = "permitted"
	case !p.Ended.IsZero():
		p.Stage = "completed"
	case !p.Permitted.IsZero():
		p.Stage = "permitted"
	case !p.Filed.IsZero():
		p.Stage = "filed"
	}
}

func (s *Source) readUse(p *Permit) {
	r := s.fields[fieldUse].read(s.row.cell)
	p.PrimaryUse = r.text
	if r.unmapped {
		p.unmapped("primary_use", r.cell, s.columnOf(s.fields[fieldUse]), s)
	}
}

// readName sets the name: as described, else the address, the description or the number.
func (s *Source) readName(p *Permit) {
	t := s.fields[fieldName]
	p.Name = t.read(s.row.cell).text
	if p.Name == "" && !s.refuse {
		p.Name = firstOf(p.Address, mended(p.Description, 100), p.Number)
	}
	if utf8.RuneCountInString(p.Name) > maxTitled {
		s.trouble(p, s.columnOf(t), "too long for a name")
		p.Name = mended(p.Name, maxTitled)
	}
	if wrong := wrongText(p.Name, maxText); wrong != "" {
		p.Name = mended(p.Name, maxTitled)
	}
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// AsOf is the day of the file according to a row, zero if it has none.
func (s *Source) AsOf(cells []string) time.Time {
	s.row.begin(cells)
	at, err := s.dates.Parse(s.asOf.read(s.row.cell).text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Latest is the latest date of the permit, zero when it has none.
func (p *Permit) Latest() time.Time {
	latest := p.Filed
	for _, t := range []time.Time{p.Permitted, p.Ended, p.Updated} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

// Completed is when the work was completed, zero when it was not.
func (p *Permit) Completed() time.Time {
	if p.Stage == "completed" {
		return p.Ended
	}
	return time.Time{}
}
