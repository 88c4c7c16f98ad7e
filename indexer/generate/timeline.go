package generate

// The stages of a project, in order.
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

var stageNames = [stageCount]string{"pre_filing", "filed", "under_review", "approved", "permitted", "under_construction", "completed"}

// stageDays is the average time from the previous stage to each stage, in days.
var stageDays = [stageCount]float64{0, 90, 14, 60, 20, 60, 350}

// timeline has the times of a project. Times are whole days, except detected and
// updated. 0 is unknown or never.
type timeline struct {
	at          [stageCount]int64
	reached     int
	disposition string
	stopped     int64 // when the disposition stopped being active
	begin, end  int64 // the period in which the project is known
	detected    int64
	updated     int64
}

func (t *timeline) stage() string { return stageNames[t.reached] }

// draw moves a project through its stages up to the reference day or the stage at which
// it stops.
func (t *timeline) draw(d dice) {
	*t = timeline{disposition: "active"}
	clock := d.past(750)
	t.begin = dated(clock)
	first := preFiling
	if d.chance(75) {
		first = filed // most projects are first known when they file
	}
	t.at[first], t.reached = t.begin, first
	for s := first + 1; s < stageCount; s++ {
		clock += int64(d.ExpFloat64() * stageDays[s] * float64(day))
		if clock >= now {
			break
		}
		t.at[s], t.reached = dated(clock), s
	}
	if d.chance(17) {
		t.stop(d, first)
	}
	t.end = dated(now - 1)
	switch {
	case t.stopped > 0:
		t.end = t.stopped
	case t.reached == completed:
		t.end = t.at[completed]
	}
	// A nightly run detects half of the projects, so many share a time.
	t.detected = d.after(t.begin, 12)
	if d.chance(50) {
		t.detected = dated(t.detected)
	}
	t.updated = max(t.detected, d.after(max(t.at[t.reached], t.stopped), 9))
	// Some dates are missing in registers.
	for _, s := range []int{filed, permitted} {
		if d.chance(4) {
			t.at[s] = 0
		}
	}
}

// stop stops a project at one of its stages.
func (t *timeline) stop(d dice, first int) {
	last := first + d.IntN(t.reached-first+1)
	if last == completed {
		return
	}
	for s := last + 1; s < stageCount; s++ {
		t.at[s] = 0
	}
	t.reached = last
	t.stopped = dated(d.after(t.at[last], 150))
	switch n := d.IntN(100); {
	case n < 34:
		t.disposition = "on_hold"
	case n < 70:
		t.disposition = "cancelled"
	case n < 88 && last >= filed:
		t.disposition = "expired"
	case last >= filed && last <= underReview:
		t.disposition = "refused"
	default:
		t.disposition = "cancelled"
	}
}

// between draws a day of the project's period.
func (t *timeline) between(d dice) int64 {
	return dated(t.begin + int64(d.Float64()*float64(t.end-t.begin+1)))
}

// stageAt returns the stage of a project on a day.
func (t *timeline) stageAt(ms int64) string {
	for s := t.reached; s > preFiling; s-- {
		if t.at[s] > 0 && t.at[s] <= ms {
			return stageNames[s]
		}
	}
	// No stage is known at that time: use the first known one.
	for s := range stageCount {
		if t.at[s] > 0 {
			return stageNames[s]
		}
	}
	return stageNames[t.reached]
}
