package permits

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"atlas/indexer/generate/fiction"
	"atlas/search/catalog"
)

// The stages in their order.
const (
	preFiling = iota
	filed
	underReview
	approved
	permitted
	underConstruction
	completed
	stageCount
)

const (
	// firmsOfType is how many fictitious firms there are of each type. Multiplied by
	// stemStep it is the number of stems, so that the names of a type differ.
	firmsOfType = 8
	stemStep    = 3
	// Every stopEvery-th project of a use, beginning with the stopAt-th, is not active.
	stopEvery, stopAt = 7, 4
)

// stageDays is the usual time from the previous stage to each stage, in days, followed by
// the time that a project counts as completed.
var stageDays = [stageCount + 1]int{0, 75, 20, 80, 30, 40, 420, 500}

// stageSignals are the types of signals of the stages.
var stageSignals = [stageCount]string{
	"stage_changed", "permit_filed", "stage_changed", "stage_changed", "permit_issued", "construction_started",
	"project_completed",
}

// stageStops are the dispositions that a stopped project of each stage can have.
var stageStops = [stageCount][]string{
	{"on_hold", "cancelled"}, {"refused", "cancelled"}, {"refused", "on_hold"}, {"on_hold", "cancelled"},
	{"expired", "cancelled"}, {"on_hold"}, {"active"},
}

// howMany returns the number of projects of a use at a stage. The real permits lack large
// multifamily projects under construction most.
func howMany(use string, stage int) int {
	n := map[string]int{"multifamily": 5, "mixed_use": 3}[use]
	if n > 0 && stage == underConstruction {
		return n*3 + 3
	}
	return max(n, 2)
}

// fictitious is a made-up project.
type fictitious struct {
	key, name, disposition, gcStatus string
	building
	town                string
	latitude, longitude float64
	homes, stories      int64
	sqft, cost          float64
	stage               int
	at                  [stageCount]time.Time // when it reached the stages
	end                 time.Time             // of its events: completed, stopped, or today
	gcAt                time.Time
}

// invent adds fictitious firms and projects of every type, use, stage and disposition.
func (c *converter) invent(today time.Time) error {
	today = today.UTC().Truncate(day)
	firms := c.inventFirms()
	for u, b := range buildings {
		n := 0
		for stage := range stageCount {
			for range howMany(b.use, stage) {
				r := rand.New(rand.NewPCG(uint64(u), uint64(n))) // #nosec G404 G115 -- made-up data that a seed repeats
				p := fictitious{building: b, stage: stage, key: "fictitious/" + b.use + "/" + strconv.Itoa(n)}
				site := u*5 + n
				p.name = sites[site%len(sites)] + " " + b.kinds[n/len(sites)%len(b.kinds)] + mark
				p.draw(r, today, n)
				if err := c.writeFictitious(r, &p, firms); err != nil {
					return err
				}
				n++
			}
		}
	}
	return nil
}

func (c *converter) inventFirms() map[string][]*firm {
	firms := map[string][]*firm{}
	for t, kind := range catalog.AccountTypes.Values() {
		for i := range firmsOfType {
			name := stems[(t*5+i*stemStep)%len(stems)] + " " + trades[kind][i%len(trades[kind])] + mark
			f := &firm{id: c.source.ID("accounts", "fictitious/"+name), key: firmKey(name), name: name, types: []string{kind},
				city: towns[(t+i*5)%len(towns)].name, state: province, country: country, description: "Made up for the sample."}
			if other := asWell[kind]; other != "" && i%4 == 1 {
				f.is(other)
			}
			c.firms.add(f)
			c.join(f)
			f.phone = fiction.Phone(f.people.random, 403)
			firms[kind] = append(firms[kind], f)
		}
	}
	return firms
}

// draw sets all but the name and the stage of the n-th project of a use.
func (p *fictitious) draw(r *rand.Rand, today time.Time, n int) {
	t := towns[r.IntN(len(towns))]
	p.town = t.name
	p.latitude = degrees(t.latitude + t.reach*(2*r.Float64()-1))
	p.longitude = degrees(t.longitude + t.reach*(2*r.Float64()-1))

	p.cost = p.building.cost[0] * math.Pow(p.building.cost[1]/p.building.cost[0], r.Float64())
	p.sqft = p.cost / 290
	if least, most := p.building.homes[0], p.building.homes[1]; most > 0 {
		p.homes = int64(least + r.IntN(most-least+1))
		p.sqft = float64(p.homes) * (650 + 500*r.Float64())
		p.cost *= float64(p.homes)
	}
	p.stories = min(1+int64(p.sqft/18e3), 32)
	p.cost, p.sqft = math.Round(p.cost/1000)*1000, math.Round(p.sqft/10)*10

	// Go back from today through the stages.
	at := today.Add(-day * time.Duration(1+r.IntN(stageDays[p.stage+1])))
	for s := p.stage; s >= preFiling; s-- {
		p.at[s] = at
		at = at.Add(-day * time.Duration(float64(stageDays[s])*(0.6+0.8*r.Float64())))
	}
	p.disposition, p.end = "active", today
	if stops := stageStops[p.stage]; n%stopEvery == stopAt {
		p.disposition = stops[n/stopEvery%len(stops)]
	}
	if p.stage == completed {
		p.end = p.at[completed]
	} else if p.disposition != "active" {
		p.end = between(r, p.at[p.stage], today)
	}
	p.gcStatus = "unassigned"
	switch {
	case p.stage >= underConstruction:
		p.gcStatus, p.gcAt = "assigned", between(r, p.at[approved], p.at[underConstruction])
	case p.stage >= approved && n%2 == 0:
		p.gcStatus, p.gcAt = "assigned", between(r, p.at[approved], p.end)
	case n%4 == 3:
		p.gcStatus = "unknown"
	}
}

// degrees rounds an angle to about 10 cm.
func degrees(f float64) float64 { return math.Round(f*1e6) / 1e6 }

// between returns a random day from first to before last, or first.
func between(r *rand.Rand, first, last time.Time) time.Time {
	days := int(last.Sub(first) / day)
	return first.Add(day * time.Duration(r.IntN(max(days, 1))))
}

// team draws the firms of the project.
func (p *fictitious) team(r *rand.Rand, firms map[string][]*firm) []*firm {
	kinds := []string{p.lead}
	if p.gcStatus == "assigned" {
		kinds = append(kinds, "general_contractor")
	}
	if p.stage >= underConstruction {
		kinds = append(kinds, "subcontractor", "supplier")
	}
	for _, kind := range []string{"architect", "engineer", "lender", "broker", "other"} {
		if r.IntN(2) == 0 && kind != p.lead {
			kinds = append(kinds, kind)
		}
	}
	team := make([]*firm, len(kinds))
	for i, kind := range kinds {
		team[i] = firms[kind][r.IntN(firmsOfType)]
	}
	return team
}

func (c *converter) writeFictitious(r *rand.Rand, p *fictitious, firms map[string][]*firm) error {
	var accounts []string
	team := p.team(r, firms)
	for _, f := range team {
		f.works(p.at[preFiling], p.end)
		accounts = append(accounts, f.id)
	}
	project := c.source.ID("projects", p.key)
	stage := catalog.Stages[p.stage].Value

	o := &c.object
	o.Reset()
	o.Text("id", project)
	o.Text("name", p.name)
	o.Text("description", "Made up for the sample, as are its firms and people.")
	o.Text("city", p.town)
	o.Text("state", province)
	o.Text("country", country)
	o.Text("stage", stage)
	o.Text("disposition", p.disposition)
	o.Text("primary_use", p.use)
	o.Int("residential_units", p.homes)
	o.Float("sqft", p.sqft)
	o.Int("stories", p.stories)
	o.Float("cost", p.cost)
	o.Text("gc_status", p.gcStatus)
	o.Time("filed_at", p.at[filed])
	o.Time("permitted_at", p.at[permitted])
	o.Time("completed_at", p.at[completed])
	o.Time("detected_at", p.at[preFiling])
	o.List("account_ids", accounts)
	o.List("contact_ids", c.cast.work(p.at[preFiling], team))
	o.Text("source", fictitiousSource)
	o.Float("latitude", p.latitude)
	o.Float("longitude", p.longitude)
	o.Time("created_at", p.at[preFiling])
	o.Time("updated_at", p.end)
	if err := c.out.Projects.Write(o.Line()); err != nil {
		return err
	}
	of := subject{key: p.key, id: project, name: p.name, city: p.town, state: province}
	for _, e := range p.events(r) {
		if err := c.out.Signals.Write(signalLine(&c.object, c.source, of, e, accounts)); err != nil {
			return err
		}
	}
	return nil
}

// events returns the events of the project.
func (p *fictitious) events(r *rand.Rand) []event {
	var list []event
	add := func(kind, nth string, at time.Time, summary string) {
		stage := preFiling
		for s := filed; s <= p.stage && !p.at[s].After(at); s++ {
			stage = s
		}
		detected := at.Add(day * time.Duration(r.IntN(4)))
		if detected.After(p.end) {
			detected = at
		}
		list = append(list, event{
			kind: kind, nth: nth, at: at, detected: detected, stage: catalog.Stages[stage].Value, summary: summary,
			source: fictitiousSource,
		})
	}
	for s := preFiling; s <= p.stage; s++ {
		add(stageSignals[s], "/"+catalog.Stages[s].Value, p.at[s], "The stage is now: "+catalog.Stages[s].Label+".")
	}
	if !p.gcAt.IsZero() {
		add("gc_assigned", "", p.gcAt, "The project has a general contractor.")
	}
	if kind, ok := stops[p.disposition]; ok {
		add(kind, "", p.end, "The project is now: "+catalog.Dispositions.Label(p.disposition)+".")
	}
	if p.stage > filed {
		days := []time.Time{between(r, p.at[filed], p.end), between(r, p.at[filed], p.end)}[:r.IntN(3)]
		slices.SortFunc(days, func(a, b time.Time) int { return b.Compare(a) })
		cost := p.cost
		for i, at := range days {
			before := cost * (0.88 + 0.2*r.Float64())
			add("cost_changed", "/"+strconv.Itoa(i), at, fmt.Sprintf("The estimated cost went from %.2f to %.2f million.", before/1e6, cost/1e6))
			cost = before
		}
	}
	return list
}
