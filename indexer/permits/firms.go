package permits

import (
	"slices"
	"strings"
	"time"

	"atlas/indexer/source/permit"
)

// firm is an account under construction: its dates and types are known after the last
// project.
type firm struct {
	id, key, name        string
	types                []string
	description, phone   string
	city, state, country string
	created, updated     time.Time
	people               staff
	// link is the id of the firm's account, "" for its own.
	link string
	why  string // what decided it
	// stored is the firm in the state of the previous conversion, nil if it is new.
	stored *storedFirm
}

func (f *firm) is(kind string) {
	if !slices.Contains(f.types, kind) {
		f.types = append(f.types, kind)
		slices.Sort(f.types)
	}
}

// works records a project of the firm with these first and last dates.
func (f *firm) works(first, last time.Time) {
	f.created = earlier(f.created, first)
	f.updated = later(f.updated, last)
}

// learn stores the place of the firm, from the first row that has it.
func (f *firm) learn(p permit.Party) {
	for to, v := range map[*string]string{&f.phone: p.Phone, &f.city: p.City, &f.state: p.State, &f.country: p.Country} {
		if *to == "" {
			*to = v
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier treats a zero time as unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// firmKey is equal for all spellings of a name that differ only in case and spaces.
func firmKey(name string) string {
	return strings.ToUpper(strings.Join(strings.Fields(name), " "))
}

// firms are the firms of a source, by key and in the order of their appearance.
type firms struct {
	source *permit.Source
	byKey  map[string]*firm
	order  []*firm
}

func newFirms(s *permit.Source) *firms { return &firms{source: s, byKey: map[string]*firm{}} }

// of returns the firm of a name, nil for an empty one; isNew means that it had not appeared
// yet.
func (f *firms) of(name string) (found *firm, isNew bool) {
	key := firmKey(name)
	if key == "" {
		return nil, false
	}
	if known := f.byKey[key]; known != nil {
		return known, false
	}
	made := &firm{id: f.source.ID("accounts", key), key: strings.Clone(key), name: strings.Clone(name)}
	f.add(made)
	return made, true
}

func (f *firms) add(made *firm) {
	f.byKey[made.key] = made
	f.order = append(f.order, made)
}

// party is a firm's part in a permit.
type party struct {
	firm *firm
	role string
}

// parties returns the firms of a permit, each once, and records what the permit states
// about them.
func (f *firms) parties(p *permit.Permit, joined func(*firm)) (all []party) {
	for _, y := range p.Parties {
		one, isNew := f.of(y.Name)
		if one == nil {
			continue
		}
		if isNew && joined != nil {
			joined(one)
		}
		one.is(y.Type)
		one.learn(y)
		if !slices.ContainsFunc(all, func(other party) bool { return other.firm == one }) {
			all = append(all, party{one, y.Type})
		} else if y.Type == contractor {
			all = append(slices.DeleteFunc(all, func(other party) bool { return other.firm == one }), party{one, y.Type})
		}
	}
	for _, one := range all {
		one.firm.works(first(p), p.Latest())
	}
	return all
}

// contractor is the type of firm that a project is assigned to.
const contractor = "general_contractor"

// first is when a permit first appeared: its application, else its earliest date.
func first(p *permit.Permit) time.Time {
	if !p.Filed.IsZero() {
		return p.Filed
	}
	return earlier(earlier(p.Permitted, p.Ended), p.Updated)
}
