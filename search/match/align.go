package match

import (
	"math"
	"strings"
	"unicode/utf8"

	"atlas/internal/edits"
)

// features are the differences between two names. Each is 0 where the names agree.
type features [featureCount]float64

const (
	fTypo          = iota // edits of paired distinctive words, by their letters
	fTypoFirst            // their first letters differ
	fTypoTrade            // edits of other paired words, by their letters
	fCoreMissing          // share of the distinctive words that only one name has
	fCoreConflict         // share of the distinctive words for which each name has another
	fTradeMissing         // one name has trades that the other does not
	fTradeConflict        // each has other trades
	fPlaceMissing
	fPlaceConflict
	fNumberMissing
	fNumberConflict
	fOrder     // paired words are in another order
	fLegal     // the legal forms differ
	fJoined    // "west can" for "westcan"
	fAlias     // one of several names is meant
	fShort     // few letters of distinctive words are paired
	fShortOpen // the same, where a trade is missing
	featureCount
)

// paired reports how the words of two forms correspond.
type paired struct {
	features
	shared int // letters of paired distinctive words
}

// compare aligns two forms.
func compare(a, b form) paired {
	var p paired
	pairA, pairB := make([]int, len(a.words)), make([]int, len(b.words))
	for i := range pairA {
		pairA[i] = -1
	}
	for j := range pairB {
		pairB[j] = -1
	}
	pair := func(i, j int) {
		pairA[i], pairB[j] = j, i
	}
	for i, w := range a.words {
		for j, v := range b.words {
			if pairB[j] < 0 && w.text == v.text {
				pair(i, j)
				break
			}
		}
	}
	joined := p.join(a.words, b.words, pairA, pairB) + p.join(b.words, a.words, pairB, pairA)
	p.features[fJoined] = float64(joined)
	for i, w := range a.words {
		if pairA[i] != -1 {
			continue
		}
		best, at := math.Inf(1), -1
		for j, v := range b.words {
			if pairB[j] == -1 && (w.class != number && v.class != number && (w.class != place || v.class != place)) {
				if d := apart(w, v); d < best {
					best, at = d, j
				}
			}
		}
		if at >= 0 {
			pair(i, at)
			p.typo(w, b.words[at], best)
		}
	}
	p.rest(a.words, b.words, pairA, pairB)
	if a.legal != "" && b.legal != "" && a.legal != b.legal {
		p.features[fLegal] = 1
	}
	return p
}

// joinedWord marks a word that is paired with two words of the other name.
const joinedWord = -2

// join pairs neighbours of a with one word of b.
func (p *paired) join(a, b []word, pairA, pairB []int) (n int) {
	for i := 0; i+1 < len(a); i++ {
		if pairA[i] != -1 || pairA[i+1] != -1 {
			// One part may already be paired with another word. "good earth earthworks" is
			// rare.
			continue
		}
		for j, v := range b {
			if pairB[j] == -1 && (a[i].as+a[i+1].as == v.as || stem(a[i].as+a[i+1].as) == v.text) {
				pairA[i], pairA[i+1], pairB[j] = joinedWord, joinedWord, joinedWord
				p.shared += len(v.text)
				n++
				break
			}
		}
	}
	return n
}

// apart is the distance of two words, in edits by letters; infinite for different words.
func apart(a, b word) float64 {
	if hasDigit(a.text) || hasDigit(b.text) {
		return math.Inf(1)
	}
	// A word with a typo may have no canonical spelling.
	return min(between(a.text, b.text, a.class != core && b.class != core), between(a.as, b.as, a.class != core && b.class != core))
}

func between(a, b string, begins bool) float64 {
	x, y := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	shortest, longest := min(x, y), max(x, y)
	most := 0
	switch {
	case shortest >= 14:
		most = 3
	case shortest >= 10:
		most = 2
	case shortest >= 4:
		most = 1
	}
	// A prefix: "const" for "construction".
	if begins && shortest >= 3 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return 0.15
	}
	if most == 0 || longest-shortest > most {
		return math.Inf(1)
	}
	d := edits.Distance(a, b, most)
	if d > most {
		return math.Inf(1)
	}
	return float64(d) / float64(longest)
}

func (p *paired) typo(a, b word, d float64) {
	if a.class != core && b.class != core {
		p.features[fTypoTrade] += d
		return
	}
	p.features[fTypo] += d
	first, _ := utf8.DecodeRuneInString(a.text)
	other, _ := utf8.DecodeRuneInString(b.text)
	if first != other {
		p.features[fTypoFirst]++
	}
}

// rest scores the words that are not paired, and the order of the paired ones.
func (p *paired) rest(a, b []word, pairA, pairB []int) {
	var open, all [2][legal]float64 // letters by class
	sides := [2][]word{a, b}
	pairs := [2][]int{pairA, pairB}
	for s, words := range sides {
		for i, w := range words {
			letters := float64(utf8.RuneCountInString(w.text))
			// A name that is all trades has them as core words, the other name as trades.
			if at := pairs[s][i]; at >= 0 && sides[1-s][at].class == trade {
				w.class = trade
			}
			if w.class == core {
				letters = max(letters, 3)
			}
			all[s][w.class] += letters
			if pairs[s][i] == -1 {
				open[s][w.class] += letters
			} else if pairs[s][i] >= 0 && s == 0 && (w.class == core || w.class == number) {
				p.shared += len(w.text)
			}
		}
	}
	f := &p.features
	whole := max(all[0][core]+all[0][number], all[1][core]+all[1][number], 1)
	less, more := min(open[0][core], open[1][core]), max(open[0][core], open[1][core])
	f[fCoreConflict] = less / whole
	f[fCoreMissing] = (more - less) / whole
	flag := func(missing, conflict int, c class) {
		switch x, y := open[0][c], open[1][c]; {
		case x > 0 && y > 0:
			f[conflict] = 1
		case x > 0 || y > 0:
			f[missing] = 1
		}
	}
	flag(fTradeMissing, fTradeConflict, trade)
	flag(fPlaceMissing, fPlaceConflict, place)
	flag(fNumberMissing, fNumberConflict, number)
	last := -1
	for _, j := range pairA {
		if j >= 0 {
			if j < last {
				f[fOrder] = 1
			}
			last = j
		}
	}
	f[fShort] = 1 / math.Sqrt(max(float64(p.shared), 1))
	if f[fTradeMissing] > 0 || f[fTradeConflict] > 0 || f[fCoreMissing] > 0 {
		f[fShortOpen] = f[fShort]
	}
}
