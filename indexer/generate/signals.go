package generate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"atlas/indexer/generate/fiction"
	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// event is something that happened to a project.
type event struct {
	kind  string
	at    int64
	stage string
}

// stageEvents are the signal types for reaching a stage.
var stageEvents = [stageCount]string{
	"", "permit_filed", "stage_changed", "stage_changed", "permit_issued", "construction_started", "project_completed",
}

var stopEvents = map[string]string{"on_hold": "project_on_hold", "cancelled": "project_cancelled", "expired": "permit_expired"}

// events appends n events of the project to list, in order of time. If the project had
// more events, some are left out. If it had fewer, cost changes are added.
func (p *project) events(d dice, list []event, n int) []event {
	list = list[:0]
	for s, kind := range stageEvents {
		if kind != "" && p.at[s] > 0 {
			list = append(list, event{kind, p.at[s], stageNames[s]})
		}
	}
	if kind := stopEvents[p.disposition]; kind != "" {
		list = append(list, event{kind, p.stopped, p.stage()})
	}
	if p.gc >= 0 {
		list = append(list, event{"gc_assigned", p.gcAt, p.stageAt(p.gcAt)})
	}
	for len(list) > n {
		at := d.IntN(len(list))
		list = slices.Delete(list, at, at+1)
	}
	for len(list) < n {
		at := p.between(d)
		list = append(list, event{"cost_changed", at, p.stageAt(at)})
	}
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return list
}

// block is the number of projects whose signal counts are drawn together. The counts
// are random but their sum over a block is exact.
const block = 1 << 16

// shares returns the number of signals of each project of a block, in list's memory:
// none for one in six, one or two for most, very many for a few.
func (w world) shares(d dice, list []int32, from, to int64) []int32 {
	list = list[:0]
	quota := to*w.Signals/w.Projects - from*w.Signals/w.Projects
	most := float64(max(3, quota/16))
	sum := int64(0)
	for i := from; i < to; i++ {
		d.set(w, signalsOf, i)
		n := int32(0)
		if !d.chance(17) {
			// The probability of n or more is proportional to n^-1.8.
			n = int32(math.Min(math.Pow(1-d.Float64(), -1/1.8), most))
		}
		list = append(list, n)
		sum += int64(n)
	}
	// A surplus is taken from projects with several signals, and a deficit is added to
	// projects with any, one signal each in turn.
	for least := int32(1); sum > quota; {
		before := sum
		for i := 0; i < len(list) && sum > quota; i++ {
			if list[i] > least {
				list[i]--
				sum--
			}
		}
		if before == sum {
			least-- // every project has at most one: take those of some
		}
	}
	for least := int32(1); sum < quota; {
		before := sum
		for i := 0; i < len(list) && sum < quota; i++ {
			if list[i] >= least {
				list[i]++
				sum++
			}
		}
		if before == sum {
			least = 0
		}
	}
	return list
}

var sources = []string{"building permits", "planning register", "inspection records", "council minutes", "news desk"}

func (w world) writeSignals(ctx context.Context, write func([]byte) error, progress *progress) error {
	if w.Projects == 0 {
		return nil
	}
	var (
		d      = newDice()
		o      ndjson.Object
		p      project
		list   []event
		shares []int32
		firms  []int64
		ids    []string
		number int64
	)
	for from := int64(0); from < w.Projects; from += block {
		to := min(from+block, w.Projects)
		shares = w.shares(d, shares, from, to)
		done := int64(0)
		for i := from; i < to; i++ {
			if (i-from)%chunk == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				progress.add(done)
				done = 0
			}
			n := int(shares[i-from])
			if n == 0 {
				continue
			}
			w.project(d, i, &p)
			id := w.id(aProject, i)
			d.set(w, eventsOf, i)
			list = p.events(d, list, n)
			for _, e := range list {
				firms = p.firmsAt(firms, e.at)
				ids = w.ids(ids, anAccount, firms)
				w.signal(d, &o, number, &p, id, e, ids)
				if err := write(o.Line()); err != nil {
					return err
				}
				number++
			}
			done += int64(n)
		}
		progress.add(done)
	}
	return nil
}

// signal writes the record of an event, except its end.
func (w world) signal(d dice, o *ndjson.Object, i int64, p *project, project string, e event, accounts []string) {
	d.set(w, aSignal, i)
	detected := d.after(e.at, 4)
	if d.chance(50) {
		detected = dated(detected)
	}
	o.Reset()
	o.Text("id", w.id(aSignal, i))
	o.Text("signal_type", e.kind)
	o.Text("title", catalog.SignalTypes.Label(e.kind)+": "+p.name)
	if d.chance(60) {
		o.Text("summary", d.prose(sentences))
	}
	o.Text("project_id", project)
	o.Text("project_name", p.name)
	o.List("account_ids", accounts)
	place(o, p.city, false)
	if d.chance(97) {
		o.Text("stage", e.stage)
	}
	o.Time("occurred_at", when(e.at))
	o.Time("detected_at", when(detected))
	if p.city != nil {
		source := hot(d, sources)
		o.Text("source", "City of "+p.city.name+" "+source)
		if d.chance(65) {
			o.Text("source_url", "https://"+fiction.Slug(p.city.name)+".example/"+fiction.Slug(source)+"/"+strconv.FormatInt(i, 10))
		}
	}
	o.Time("created_at", when(detected))
	o.Time("updated_at", when(detected))
}
