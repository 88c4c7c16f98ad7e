package permits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"atlas/search/catalog"
	"atlas/search/match"
)

// Links says which firms are one account.
type Links struct {
	// Linked counts the firms of the source that are other accounts.
	Linked int64  `json:"linked"`
	New    []Link `json:"new"`
	// Doubtful ones remain separate; an operator may decide (--decisions).
	Doubtful []Link   `json:"doubtful"`
	Learnt   []Learnt `json:"learnt,omitempty"`
}

// Link is a firm of the source and the account that it is, or may be.
type Link struct {
	Name       string         `json:"name"`
	ID         string         `json:"id"`
	Account    string         `json:"account"`
	AccountID  string         `json:"account_id"`
	Confidence float64        `json:"confidence"`
	Reasons    []match.Reason `json:"reasons"`
	Decided    string         `json:"decided"` // rules, operator, or nobody
}

// Learnt is what the source states about an account that is not its own.
type Learnt struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Types []string `json:"account_types"`
}

// Confidences of rules (docs/sources.md, "One firm, one account").
const (
	// Certain is the minimum confidence of a link by the rules.
	Certain = 0.97
	// Likely is the minimum confidence of a link that is listed as doubtful.
	Likely = 0.6
	// ahead is by how much the best account must exceed the next one.
	ahead = 0.02
)

// link decides which firms are one: by the operator's decisions, by the state, by the
// rules.
func (r *run) link() error {
	r.byID = make(map[string]*firm, len(r.firms.order))
	for _, f := range r.firms.order {
		r.byID[f.id] = f
	}
	r.report.Links = &Links{New: []Link{}, Doubtful: []Link{}}
	apart, err := r.decide()
	if err != nil {
		return err
	}
	candidates := newCandidates(r.firms.order)
	for i := range r.known.list {
		k := &r.known.list[i]
		if r.byID[k.ID] == nil { // the source's own accounts are among the firms
			candidates.add(candidate{record: k.Record})
		}
	}
	rules := r.source.Changes.Link != "spelling"
	for _, f := range r.firms.order {
		if f.link == "" {
			if c := (candidate{record: recordOf(f), firm: f}); rules || len(r.known.list) > 0 {
				r.byRules(f, c, candidates, apart, rules)
			}
		}
		if f.link == "" && rules {
			candidates.add(candidate{record: recordOf(f), firm: f})
		}
	}
	for _, f := range r.firms.order {
		if f.link != "" {
			r.report.Links.Linked++
		}
	}
	return nil
}

func recordOf(f *firm) match.Record {
	return match.Record{ID: f.id, Name: f.name, Domains: f.people.domains, Phone: f.phone, City: f.city, State: f.state}
}

// byRules links a firm to the account that it certainly is.
func (r *run) byRules(f *firm, c candidate, all *candidates, apart map[pair]bool, within bool) {
	var best, second Link
	for _, other := range all.of(c) {
		if apart[pairOf(f.id, other.record.ID)] || other.firm != nil && !within {
			continue
		}
		confidence, reasons := all.same(c, *other)
		l := Link{f.name, f.id, other.record.Name, other.record.ID, confidence, reasons, "rules"}
		if l.Confidence > best.Confidence {
			best, second = l, best
		} else if l.Confidence > second.Confidence {
			second = l
		}
	}
	switch {
	case best.Confidence >= Certain && (second.Confidence < Certain || best.Confidence-second.Confidence >= ahead):
		f.link, f.why = best.AccountID, "rules"
		r.report.Links.add(&r.report.Links.New, best)
	case best.Confidence >= Likely:
		best.Decided = "nobody"
		r.report.Links.add(&r.report.Links.Doubtful, best)
	}
}

func (l *Links) add(to *[]Link, one Link) {
	if one.Reasons == nil {
		one.Reasons = []match.Reason{}
	}
	if len(*to) < maxDoubts {
		*to = append(*to, one)
	}
}

// decide applies the operator's decisions, and returns which firms are separate.
func (r *run) decide() (apart map[pair]bool, err error) {
	apart = map[pair]bool{}
	for _, group := range r.rules.Different {
		ids := r.named(group)
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				apart[pairOf(a, b)] = true
				r.part(a, b)
				r.part(b, a)
			}
		}
	}
	for _, group := range r.rules.Same {
		ids := r.named(group)
		if len(ids) < 2 {
			continue
		}
		to := ids[0]
		for i, name := range group {
			if id, is := isID(name); is && (i == 0 || r.byID[id] == nil) {
				to = id
				break
			}
		}
		for _, id := range ids {
			if f := r.byID[id]; f != nil && id != to {
				r.join(f, to)
			}
		}
	}
	return apart, nil
}

// named are the ids of firms that an operator named. Unknown names are noted.
func (r *run) named(group []string) (ids []string) {
	for _, name := range group {
		if id, is := isID(name); is {
			ids = append(ids, id)
		} else if f := r.firms.byKey[firmKey(name)]; f != nil {
			ids = append(ids, f.id)
		} else {
			r.note(fmt.Sprintf("a decision names %q, which is no firm of this source", name))
		}
	}
	return ids
}

// part removes the link of a firm to an account, direct or not.
func (r *run) part(id, from string) {
	f := r.byID[id]
	if f != nil && f.link != "" && (f.link == from || final(r.byID, f) == from) {
		f.link, f.why = "", "operator"
	}
}

// join links a firm to an account.
func (r *run) join(f *firm, to string) {
	if target := r.byID[to]; target != nil && final(r.byID, target) == f.id {
		target.link, target.why = "", "" // the other way round
	}
	if f.link != to {
		l := Link{Name: f.name, ID: f.id, AccountID: to, Confidence: 1, Decided: "operator"}
		if target := r.byID[to]; target != nil {
			l.Account = target.name
		} else if at, known := r.known.byID[to]; known {
			l.Account = r.known.list[at].Name
		}
		r.report.Links.add(&r.report.Links.New, l)
	}
	f.link, f.why = to, "operator"
}

// candidate is an account that a firm may be: of the source's own firms, or an existing
// one.
type candidate struct {
	record match.Record
	firm   *firm // nil for an existing account
}

// candidates are accounts by their keys.
type candidates struct {
	by  map[uint64][]*candidate
	cut int // length at which the source cuts names off, 0 if it does not
}

// maxCommon is the maximum number of accounts with a common key that are compared.
const maxCommon = 64

func newCandidates(firms []*firm) *candidates {
	return &candidates{by: map[uint64][]*candidate{}, cut: cutLength(firms)}
}

// cutLength is the length at which a source cuts names off, 0 if it does not: the length of the
// longest names if several have it and it is neither short nor very long.
func cutLength(firms []*firm) int {
	longest, several := 0, 0
	for _, f := range firms {
		switch n := len([]rune(f.name)); {
		case n > longest:
			longest, several = n, 1
		case n == longest:
			several++
		}
	}
	if longest >= 20 && longest <= 60 && several >= 3 {
		return longest
	}
	return 0
}

// keys are the keys that a firm shares with others of its name.
func (c *candidates) keys(r match.Record) []uint64 {
	var keys []uint64
	for _, k := range match.KeysOf(catalog.Accounts, r).Keys {
		if !strings.HasPrefix(k.Text, "letters ") {
			keys = append(keys, xxhash.Sum64String(k.Text))
		}
	}
	if c.cut > 0 {
		keys = append(keys, xxhash.Sum64String("cut "+cutOff(r.Name, c.cut)))
	}
	return keys
}

func cutOff(name string, at int) string {
	runes := []rune(firmKey(name))
	return strings.TrimSpace(string(runes[:min(len(runes), at)]))
}

func (c *candidates) add(one candidate) {
	for _, k := range c.keys(one.record) {
		if len(c.by[k]) < maxCommon {
			c.by[k] = append(c.by[k], &one)
		}
	}
}

// of lists the candidates that share a key with a firm, in the order in which they were
// added.
func (c *candidates) of(one candidate) (found []*candidate) {
	for _, k := range c.keys(one.record) {
		for _, other := range c.by[k] {
			if other.record.ID != one.record.ID && !slices.Contains(found, other) {
				found = append(found, other)
			}
		}
	}
	return found
}

// same is the confidence that two firms are one. A name that was cut off counts as a longer
// one that begins with it.
func (c *candidates) same(a, b candidate) (float64, []match.Reason) {
	left, right := a.record, b.record
	if c.cut > 0 && cutOff(left.Name, c.cut) == cutOff(right.Name, c.cut) {
		if len([]rune(left.Name)) == c.cut && len(right.Name) > len(left.Name) {
			left.Name = right.Name
		} else if len([]rune(right.Name)) == c.cut && len(left.Name) > len(right.Name) {
			right.Name = left.Name
		}
	}
	return match.Same(catalog.Accounts, left, right, 0)
}
