package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// Ledger is the history of one workspace's credits. At each reading, the counted
// credits must be between those delivered and those plus the ones with an unknown
// outcome. The ceiling is respected. It is safe for concurrent use.
type Ledger struct {
	// Base is the count at the beginning, when no request is in progress.
	Base int64
	// Ceiling is the workspace's ceiling. Page is the most that one request costs.
	Ceiling, Page int64

	lock sync.Mutex
	all  []Spending
}

// Spending is one request as its client observed it.
type Spending struct {
	Call, Return int64
	// Charged is the cost in the answer. Doubt is the maximum cost of a request without
	// an answer or with a 503. Lost says that there was no answer.
	Charged, Doubt int64
	Lost           bool
	// Used is the usage in the answer, -1 if it has none.
	Used int64
	// Limited says that the request was refused because the ceiling was used up.
	Limited bool
}

// Add adds a request.
func (l *Ledger) Add(s Spending) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.all = append(l.all, s)
}

// Close compares the usage when no request is in progress with all requests. Of the
// requests that were answered with 503, only those that the servers logged as unsettled
// may have been charged.
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

// Judge returns all violations, and the number of readings that were checked.
func (l *Ledger) Judge() (readings int, wrong []string) {
	l.lock.Lock()
	defer l.lock.Unlock()
	returned := sums(l.all, func(s Spending) int64 { return s.Return }, func(s Spending) int64 { return s.Charged })
	called := sums(l.all, func(s Spending) int64 { return s.Call }, func(s Spending) int64 { return s.Charged + s.Doubt })
	for _, s := range l.all {
		// The usage in an answer includes its own charge.
		least, most := l.Base+returned(s.Call)+s.Charged, l.Base+called(s.Return)
		at := fmt.Sprintf("a request from %.3f to %.3f s", seconds(s.Call), seconds(s.Return))
		if s.Used >= 0 {
			readings++
			if s.Used < least || s.Used > most {
				wrong = append(wrong, fmt.Sprintf("%s got the answer that %d are used, it is between %d and %d", at, s.Used, least, most))
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

// sums returns a function that adds up all values with a time before the given one.
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
