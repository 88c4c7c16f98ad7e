package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// Ledger is the history of one workspace's credits. What it counts lies between
// what was delivered and that plus what is in doubt, at every moment at which it
// is read; and the ceiling ends it. It is safe for concurrent use.
type Ledger struct {
	// Base is what it counted at the beginning, when nothing was under way.
	Base int64
	// Ceiling of the workspace. Its page is the most that one request takes.
	Ceiling, Page int64

	lock sync.Mutex
	all  []Spending
}

// Spending is one request, as its client knows it.
type Spending struct {
	Call, Return int64
	// Charged is what an answer says that it cost; Doubt, what a request without
	// one, or one that was answered 503, may have cost. Lost tells the former.
	Charged, Doubt int64
	Lost           bool
	// Used is what the answer says is used; where it says nothing, -1.
	Used int64
	// Limited tells that it was refused because the ceiling is used up.
	Limited bool
}

// Add takes a request.
func (l *Ledger) Add(s Spending) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.all = append(l.all, s)
}

// Close holds what is used when nothing is under way any more against all
// requests. Of those that were answered 503 only what the servers logged as not
// settled may have been charged.
func (l *Ledger) Close(used, unsettled int64) (wrong []string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	least, lost := l.Base, int64(0)
	for _, s := range l.all {
		least += s.Charged
		if s.Lost {
			lost += s.Doubt
		}
	}
	if used < least || used > least+lost+unsettled {
		wrong = append(wrong, fmt.Sprintf("%d are used at the end, %d were delivered, at most %d were lost, and %d are logged as not settled", used, least, lost, unsettled))
	}
	return wrong
}

// Judge returns what is impossible, and how many readings were judged.
func (l *Ledger) Judge() (readings int, wrong []string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	returned := sums(l.all, func(s Spending) int64 { return s.Return }, func(s Spending) int64 { return s.Charged })
	called := sums(l.all, func(s Spending) int64 { return s.Call }, func(s Spending) int64 { return s.Charged + s.Doubt })
	for _, s := range l.all {
		// Its own charge is in what it says is used, whatever came before.
		least, most := l.Base+returned(s.Call)+s.Charged, l.Base+called(s.Return)
		at := fmt.Sprintf("a request from %.3f to %.3f s", seconds(s.Call), seconds(s.Return))
		if s.Used >= 0 {
			readings++
			if s.Used < least || s.Used > most {
				wrong = append(wrong, fmt.Sprintf("%s was told that %d are used, it is between %d and %d", at, s.Used, least, most))
			}
		}
		if s.Limited && most < l.Ceiling {
			wrong = append(wrong, fmt.Sprintf("%s was refused, and at most %d of %d are used", at, most, l.Ceiling))
		}
		if before := l.Base + returned(s.Call); s.Charged > 0 && before >= l.Ceiling {
			wrong = append(wrong, fmt.Sprintf("%s was served, and %d of %d were used before", at, before, l.Ceiling))
		}
	}
	if all := l.Base + returned(1<<62); all > l.Ceiling+l.Page-1 {
		wrong = append(wrong, fmt.Sprintf("%d were delivered of a ceiling of %d, with pages of %d", all, l.Ceiling, l.Page))
	}
	return readings, wrong
}

// sums answers how much there is of all whose time is before a given one.
func sums(all []Spending, at, of func(Spending) int64) func(int64) int64 {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Spending) int { return cmp.Compare(at(a), at(b)) })
	until := make([]int64, len(sorted)+1)
	for i, s := range sorted {
		until[i+1] = until[i] + of(s)
	}
	return func(t int64) int64 {
		return until[sort.Search(len(sorted), func(i int) bool { return at(sorted[i]) >= t })]
	}
}
