package permits

import (
	"context"
	_ "embed"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"atlas/indexer/generate/fiction"
	"atlas/indexer/ndjson"
	"atlas/indexer/source"
	"atlas/indexer/source/permit"
)

//go:embed calgary-permits.csv
var calgary []byte

// Calgary are the permits that come with the program (README.md beside this file has
// their licence).
func Calgary() Input { return Memory("calgary-permits.csv", calgary) }

// Sample writes the sample: the permits of Calgary, supplemented with clearly marked
// made-up data, with dates up to a day. Errors: those of Convert.
func Sample(ctx context.Context, dir string, today time.Time) (*Report, error) {
	return ConvertSample(ctx, Options{Inputs: []Input{Calgary()}, Dir: dir}, today)
}

// ConvertSample is Convert of permits in the form of Calgary, with the additions of Sample.
func ConvertSample(ctx context.Context, options Options, today time.Time) (*Report, error) {
	d, err := source.Open("calgary")
	if err != nil {
		return nil, err
	}
	options.Source, options.sample = d, today
	return Convert(ctx, options)
}

// derivedEvents returns events that a permit implies without a date. They get the day of issue:
// the contractor must be known by then, and work may begin after it.
func derivedEvents(p *permit.Permit, title string) []event {
	if p.Permitted.IsZero() {
		return nil
	}
	source := title + " (day assumed)"
	var list []event
	var applicant, builder string
	for _, y := range p.Parties {
		if y.Type == contractor {
			builder = y.Name
		} else {
			applicant = y.Name
		}
	}
	if builder != "" && firmKey(builder) != firmKey(applicant) {
		list = append(list, event{kind: "gc_assigned", at: p.Permitted, stage: "permitted", source: source,
			summary: "The permit names " + builder + " as its contractor."})
	}
	if p.Stage == "under_construction" {
		list = append(list, event{kind: "construction_started", at: p.Permitted, stage: p.Stage, source: source,
			summary: "The permit waits for an inspection on site: " + p.Status + "."})
	}
	return list
}

// Where the fictitious firms and projects are.
const (
	calgaryCity      = "Calgary"
	province         = "AB"
	country          = "CA"
	fictitiousSource = "Made up for the sample (fictitious)"
)

// mark ends the names of fictitious firms and projects, and the titles of fictitious
// people.
const mark = " (fictitious)"

const (
	// Every hundredth contact, beginning with the 40th, has no project.
	idleEvery, idleAt = 100, 40
	// A firm gets one more person after every growEvery projects.
	growEvery = 12
)

// cast adds fictitious domains and people to firms. They depend only on the permits read so
// far, so equal input gives equal people.
type cast struct {
	source *permit.Source
	slugs  map[string]bool
	firms  []*firm
	people int
}

// staff is what the sample adds to one firm.
type staff struct {
	domains  []string
	members  []*member
	boxes    map[string]bool
	random   *rand.Rand
	projects int
}

// member is one made-up contact.
type member struct {
	id, name, title, email, phone, role, status string
	created, updated                            time.Time
	idle                                        bool // never on a project
}

// join gives a firm its own domain. The second firm also gets that of the first, so that a
// domain can identify two accounts.
func (c *cast) join(f *firm) {
	name := fiction.Slug(strings.TrimSuffix(f.name, mark))
	slug := name
	for n := 2; c.slugs[slug]; n++ {
		slug = name + "-" + strconv.Itoa(n)
	}
	c.slugs[slug] = true
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(f.key))
	f.people = staff{
		domains: []string{slug + ".example"},
		boxes:   map[string]bool{},
		random:  rand.New(rand.NewPCG(hash.Sum64(), 0)), // #nosec G404 -- made-up data that a seed repeats
	}
	c.firms = append(c.firms, f)
	if len(c.firms) == 2 {
		f.people.domains = append(f.people.domains, c.firms[0].people.domains[0])
	}
}

// work assigns people of the firms to a project and returns their ids: for a firm's
// first project all of its people, later one or two.
func (c *cast) work(at time.Time, firms []*firm) []string {
	var ids []string
	for _, f := range firms {
		t := &f.people
		t.projects++
		var on []*member
		switch {
		case t.projects == 1:
			for range 2 + t.random.IntN(4) {
				on = append(on, c.hire(f, at))
			}
		case t.projects%growEvery == 0:
			on = append(on, c.hire(f, at))
		default:
			one := t.random.IntN(len(t.members))
			on = append(on, t.members[one])
			if next := (one + 1) % len(t.members); next != one && t.random.IntN(3) == 0 {
				on = append(on, t.members[next])
			}
		}
		for _, m := range on {
			if m.idle {
				continue
			}
			m.created = earlier(m.created, at)
			m.updated = later(m.updated, at)
			ids = append(ids, m.id)
		}
	}
	return ids
}

func (c *cast) hire(f *firm, at time.Time) *member {
	t := &f.people
	r := t.random
	first, last := fiction.Person(r)
	box := fiction.Mailbox(first, last)
	for n := 2; t.boxes[box]; n++ {
		box = fiction.Mailbox(first, last) + strconv.Itoa(n)
	}
	t.boxes[box] = true
	m := &member{
		id:    c.source.ID("contacts", f.key+"/"+strconv.Itoa(len(t.members)+1)),
		name:  first + " " + last,
		email: box + "@" + t.domains[0],
		phone: fiction.Phone(r, 403),
		role:  fiction.Role(r),
		status: [10]string{
			"inactive", "unverified", "unverified", "active", "active", "active", "active", "active", "active",
			"active",
		}[r.IntN(10)],
		created: at,
		updated: at,
		idle:    c.people%idleEvery == idleAt,
	}
	m.title = fiction.Title(r, m.role) + mark
	// The first contacts of two firms with a common domain share an address in it.
	if len(t.members) == 0 && len(c.firms) >= 2 && f == c.firms[1] {
		m.email = sharedBox + "@" + c.firms[0].people.domains[0]
	}
	if len(t.members) == 0 && f == c.firms[0] {
		m.email = sharedBox + "@" + t.domains[0]
	}
	t.members = append(t.members, m)
	c.people++
	return m
}

// sharedBox is the mailbox two contacts share.
const sharedBox = "office"

func (m *member) line(o *ndjson.Object, f *firm) []byte {
	o.Reset()
	o.Text("id", m.id)
	o.Text("name", m.name)
	o.Text("title", m.title)
	o.Text("email", m.email)
	o.Text("phone", m.phone)
	o.Text("role", m.role)
	o.Text("status", m.status)
	o.Text("account_id", f.id)
	o.Text("account_name", f.name)
	o.Text("city", f.city)
	o.Text("state", f.state)
	o.Time("created_at", m.created)
	o.Time("updated_at", m.updated)
	return o.Line()
}
