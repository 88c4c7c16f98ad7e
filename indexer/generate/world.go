package generate

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/ndjson"
)

// world is a seed and the number of records of each dataset. All records follow from
// it.
type world struct {
	seed uint64
	ndjson.Counts
}

// newWorld splits the number of records over the datasets. Small worlds get accounts
// first, then projects, signals, contacts.
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

// kind separates the random numbers of different purposes.
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

// mix is the finalizer of SplitMix64, a bijection: different inputs give different
// outputs.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// hash returns 128 bits for a record.
func (w world) hash(k kind, i int64) (uint64, uint64) {
	a := mix(mix(w.seed+0x9e3779b97f4a7c15*uint64(k)) + uint64(i)) // #nosec G115 -- mixes bits
	return a, mix(a ^ 0xd1b54a32d192ed03)
}

// id returns the id of a record, in the form of a random UUID and as unlikely to
// collide.
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

// ids returns the ids of several records of a kind in list's memory.
func (w world) ids(list []string, k kind, of []int64) []string {
	list = list[:0]
	for _, i := range of {
		list = append(list, w.id(k, i))
	}
	return list
}

// dice is a source of random numbers that is reseeded for each record, which is cheap.
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
	// Other numbers than those of the id.
	d.pcg.Seed(a^0x5851f42d4c957f2d, b)
}

// chance is true with the given probability, in percent.
func (d dice) chance(percent float64) bool { return d.Float64()*100 < percent }

// one picks an element, all equally likely.
func one[T any](d dice, list []T) T { return list[d.IntN(len(list))] }

// hot picks an element, with the first ones much more likely.
func hot[T any](d dice, list []T) T {
	return list[rank(d.Float64(), int64(len(list)))]
}

// flat flattens the head of the distribution of rank: the first of a million ranks gets
// about a thirtieth of all draws.
const flat = 2

// rank maps a number in [0, 1) to a rank below n by Zipf's law: the probability of rank
// r is proportional to 1/(r+flat).
func rank(u float64, n int64) int64 {
	r := int64(flat * (math.Exp(u*math.Log((float64(n)+flat)/flat)) - 1))
	return min(max(r, 0), n-1)
}

// below is the share of rank's draws that are below r, of n ranks.
func below(r, n int64) float64 {
	return math.Log((float64(r)+flat)/flat) / math.Log((float64(n)+flat)/flat)
}

// day is a day in milliseconds. All times here are in milliseconds since 1970.
const day = int64(24 * time.Hour / time.Millisecond)

var now = Reference.UnixMilli()

// when converts milliseconds to a time; 0 is unknown.
func when(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// after returns a time after another, on average mean days later. A time past the
// reference is replaced by a random earlier one, so that times do not pile up on the
// last day.
func (d dice) after(ms int64, mean float64) int64 {
	if at := ms + int64(d.ExpFloat64()*mean*float64(day)); at < now {
		return at
	}
	return ms + d.Int64N(max(now-ms, 1))
}

// past returns a time before the reference, on average mean days earlier.
func (d dice) past(mean float64) int64 {
	const most = 18 * 365
	return now - int64(math.Min(d.ExpFloat64()*mean, most)*float64(day)) - 1
}

// dated truncates a time to its day.
func dated(ms int64) int64 { return ms - ms%day }
