package generate

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/ndjson"
)

// world is a seed and how many records of each kind there are: all that is
// needed to tell any record of it.
type world struct {
	seed uint64
	ndjson.Counts
}

// newWorld splits the number of records over the kinds. The smallest worlds
// get accounts first, then projects, signals, contacts.
func newWorld(seed uint64, records int64) world {
	w := world{seed: seed}
	w.Accounts = max(1, records*12/100)
	left := records - w.Accounts
	w.Projects = min(max(1, records*26/100), left)
	left -= w.Projects
	w.Contacts = min(records*22/100, left)
	w.Signals = left - w.Contacts
	return w
}

// kind keeps the random numbers of unlike things apart.
type kind uint64

const (
	anAccount kind = iota + 1
	aContact
	aProject
	aSignal
	accountName
	accountPlace
	signalsOf
	eventsOf
)

// mix is the finalizer of SplitMix64, a bijection: unlike numbers stay unlike.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// hash gives 128 bits for a record.
func (w world) hash(k kind, i int64) (uint64, uint64) {
	a := mix(mix(w.seed+0x9e3779b97f4a7c15*uint64(k)) + uint64(i)) // #nosec G115 -- mixes bits
	return a, mix(a ^ 0xd1b54a32d192ed03)
}

// id gives the id of a record, shaped as a random UUID and as unlikely to be
// met twice.
func (w world) id(k kind, i int64) string {
	a, b := w.hash(k, i)
	var raw uuid.UUID
	for n := range 8 {
		raw[n] = byte(a >> (8 * n))   // #nosec G115 -- mixes bits
		raw[n+8] = byte(b >> (8 * n)) // #nosec G115 -- mixes bits
	}
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	return raw.String()
}

// ids gives the ids of several records of a kind in list's memory.
func (w world) ids(list []string, k kind, of []int64) []string {
	list = list[:0]
	for _, i := range of {
		list = append(list, w.id(k, i))
	}
	return list
}

// dice is a source of random numbers that is set anew for each record, which
// costs next to nothing.
type dice struct {
	*rand.Rand
	pcg *rand.PCG
}

func newDice() dice {
	pcg := rand.NewPCG(0, 0)
	return dice{rand.New(pcg), pcg} // #nosec G404 -- made-up data that a seed repeats
}

func (d dice) set(w world, k kind, i int64) {
	a, b := w.hash(k, i)
	// Not what the id was made of.
	d.pcg.Seed(a^0x5851f42d4c957f2d, b)
}

// chance is true in so many of a hundred cases.
func (d dice) chance(percent float64) bool { return d.Float64()*100 < percent }

// one picks from a list, all alike.
func one[T any](d dice, list []T) T { return list[d.IntN(len(list))] }

// hot picks from a list, early ones far more often.
func hot[T any](d dice, list []T) T {
	return list[rank(d.Float64(), int64(len(list)))]
}

// flat is how far the head of the distribution of rank is flattened: the first
// of a million ranks gets about a thirtieth of all.
const flat = 2

// rank turns a number in [0, 1) into a rank below n by Zipf's law: the chance
// of rank r goes with 1/(r+flat).
func rank(u float64, n int64) int64 {
	r := int64(flat * (math.Exp(u*math.Log((float64(n)+flat)/flat)) - 1))
	return min(max(r, 0), n-1)
}

// below is the share of rank's draws that fall below a rank of n.
func below(r, n int64) float64 {
	return math.Log((float64(r)+flat)/flat) / math.Log((float64(n)+flat)/flat)
}

// day is a day in milliseconds; all times here are in milliseconds since 1970.
const day = int64(24 * time.Hour / time.Millisecond)

var now = Reference.UnixMilli()

// when turns milliseconds into a time; 0 is unknown.
func when(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// after returns a time some days after another, on average mean. What would
// fall past the reference falls somewhere before it, so that the last day is
// no heap.
func (d dice) after(ms int64, mean float64) int64 {
	if at := ms + int64(d.ExpFloat64()*mean*float64(day)); at < now {
		return at
	}
	return ms + d.Int64N(max(now-ms, 1))
}

// past returns a time some days before the reference, on average mean.
func (d dice) past(mean float64) int64 {
	const most = 18 * 365
	return now - int64(math.Min(d.ExpFloat64()*mean, most)*float64(day)) - 1
}

// dated drops the time of the day.
func dated(ms int64) int64 { return ms - ms%day }
