package generate

import (
	"context"
	"math"
	"slices"
	"strconv"

	"atlas/indexer/ndjson"
)

// project is a computed project, from which its record and its signals are made.
type project struct {
	name, description, address, use string
	city                            *city
	latitude, longitude             float64
	units, stories                  int64 // -1 unknown
	sqft, cost                      float64
	timeline
	gcStatus string
	firms    []int64
	gc       int64 // the general contractor, -1 for none
	gcAt     int64 // when it was assigned
	people   []int64
}

// project computes project i into p, to reuse p's memory.
func (w world) project(d dice, i int64, p *project) {
	d.set(w, aProject, i)
	p.timeline.draw(d)
	p.use = one(d, uses)
	w.draw(d, p)
	w.link(d, i, p)
}

// draw sets the properties of a project other than its times and firms.
func (w world) draw(d dice, p *project) {
	p.city, p.latitude, p.longitude = nil, math.NaN(), math.NaN()
	if !d.chance(2) {
		p.city = &cities[rank(d.Float64(), int64(len(cities)))]
		if d.chance(88) {
			p.latitude = rounded(p.city.latitude+d.NormFloat64()*0.06, 1e6)
			p.longitude = rounded(p.city.longitude+d.NormFloat64()*0.08, 1e6)
		}
	}
	p.address = ""
	if d.chance(92) {
		p.address = strconv.Itoa(1+d.IntN(9800)) + " " + one(d, streets)
	}
	p.name = d.projectName(p.use, p.address)
	p.description = ""
	if d.chance(75) {
		p.description = d.prose(sentences)
	}
	p.units, p.stories, p.sqft, p.cost = -1, -1, math.NaN(), math.NaN()
	size := d.NormFloat64()
	switch p.use {
	case "single_family":
		if d.chance(90) {
			p.units = min(int64(d.IntN(4)), 1)
		}
		size -= 1.2
	case "multifamily", "mixed_use":
		if d.chance(85) {
			p.units = 2 + int64(math.Exp(2.2+1.3*size))
		}
		size += 0.8
	default:
		if d.chance(40) {
			p.units = 0
		}
	}
	if d.chance(55) {
		p.stories = min(1+int64(math.Exp(0.4+0.8*size)), 80)
	}
	if d.chance(65) {
		p.sqft = rounded(math.Exp(8.5+1.1*size), 1)
	}
	if d.chance(82) {
		p.cost = rounded(math.Exp(12.2+1.4*size+0.5*d.NormFloat64()), 1)
		if d.chance(15) {
			p.cost = rounded(p.cost+d.Float64(), 100)
		}
	}
}

// rounded rounds f to a multiple of 1/per.
func rounded(f, per float64) float64 { return math.Round(f*per) / per }

// firm draws an account of one of the given trades. The first accounts are much more
// frequent.
func (w world) firm(d dice, of []int64) int64 {
	r := rank(d.Float64(), w.Accounts)
	if r = r - r%int64(len(trades)) + one(d, of); r >= w.Accounts {
		r = d.Int64N(w.Accounts)
	}
	return r
}

// link assigns firms to a project. Project i usually belongs to account i, so that
// nearly every account has one. Zipf's law gives a few accounts thousands.
func (w world) link(d dice, i int64, p *project) {
	p.firms, p.people, p.gc, p.gcAt = p.firms[:0], p.people[:0], -1, 0
	add := func(a int64) {
		if !slices.Contains(p.firms, a) {
			p.firms = append(p.firms, a)
		}
	}
	if i < w.Accounts && d.chance(88) {
		add(i)
	} else if d.chance(55) {
		add(w.firm(d, developers))
	}
	for n := 0; n < 4 && d.chance(22); n++ {
		add(w.firm(d, advisers))
	}
	p.gcStatus = "unknown"
	switch n := d.Float64() * 100; {
	case n < 48:
		if p.gcAt = p.between(d); p.gcAt > 0 {
			p.gcStatus = "assigned"
			p.gc = w.firm(d, contractors)
			add(p.gc)
		}
	case n < 68:
		p.gcStatus = "unassigned"
	case n < 72:
		p.gcStatus = "" // the status is unknown as well
	}
	if d.chance(35) {
		return
	}
	for _, a := range p.firms {
		for n := 0; n < 3 && (n == 0 || d.chance(30)); n++ {
			p.addPerson(w.staff(d, a))
		}
	}
	if d.chance(12) {
		p.addPerson(w.freelancer(d))
	}
}

func (p *project) addPerson(contact int64) {
	if contact >= 0 && !slices.Contains(p.people, contact) {
		p.people = append(p.people, contact)
	}
}

// firmsAt appends the firms of the project at a time to list. The general contractor is
// included from gcAt.
func (p *project) firmsAt(list []int64, at int64) []int64 {
	list = list[:0]
	for _, a := range p.firms {
		if a != p.gc || at >= p.gcAt {
			list = append(list, a)
		}
	}
	return list
}

func (w world) writeProjects(ctx context.Context, write func([]byte) error, progress *progress) error {
	d := newDice()
	var o ndjson.Object
	var p project
	var ids []string
	return each(ctx, w.Projects, progress, func(i int64) error {
		w.project(d, i, &p)
		o.Reset()
		o.Text("id", w.id(aProject, i))
		o.Text("name", p.name)
		o.Text("description", p.description)
		o.Text("address", p.address)
		place(&o, p.city, true)
		o.Text("stage", p.stage())
		o.Text("disposition", p.disposition)
		o.Text("primary_use", p.use)
		number(&o, "residential_units", p.units)
		o.Float("sqft", p.sqft)
		number(&o, "stories", p.stories)
		o.Float("cost", p.cost)
		o.Text("gc_status", p.gcStatus)
		o.Time("filed_at", when(p.at[filed]))
		o.Time("permitted_at", when(p.at[permitted]))
		o.Time("completed_at", when(p.at[completed]))
		o.Time("detected_at", when(p.detected))
		ids = w.ids(ids, anAccount, p.firms)
		o.List("account_ids", ids)
		ids = w.ids(ids, aContact, p.people)
		o.List("contact_ids", ids)
		o.Float("latitude", p.latitude)
		o.Float("longitude", p.longitude)
		o.Time("created_at", when(p.detected))
		o.Time("updated_at", when(p.updated))
		return write(o.Line())
	})
}

func number(o *ndjson.Object, key string, n int64) {
	if n >= 0 {
		o.Int(key, n)
	}
}
