package permits

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
	"atlas/search/match"
)

// accounts are the accounts that exist already, from files of accounts.
type accounts struct {
	list []knownAccount
	byID map[string]int
}

// knownAccount is one of them, and its line.
type knownAccount struct {
	match.Record
	Types []string `json:"account_types"`
	line  []byte
	// learnt are types that it lacks but the source states.
	learnt []string
}

// readAccounts reads files of accounts, or folders that have one.
func readAccounts(paths []string) (*accounts, error) {
	a := &accounts{byID: map[string]int{}}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fault.Wrap(err, fault.NotFound, "%s does not exist", path)
		}
		if info.IsDir() {
			if path, err = ndjson.Find(path, "accounts"); err != nil {
				return nil, err
			}
		}
		if path == "" {
			continue
		}
		if err := a.read(path); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *accounts) read(path string) error {
	file, err := ndjson.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	for {
		_, line, err := file.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, one := errors.AsType[*ndjson.LineError](err); one {
			continue
		}
		if err != nil {
			return err
		}
		k := knownAccount{}
		if json.Unmarshal(line, &k) != nil || k.Name == "" {
			continue // a deletion, a merge, or not an account
		}
		k.line = bytes.Clone(line)
		if at, twice := a.byID[k.ID]; twice {
			a.list[at] = k
			continue
		}
		a.byID[k.ID] = len(a.list)
		a.list = append(a.list, k)
	}
}

// writeAccounts writes the accounts of the source's own firms, merges of firms that became
// other accounts, and the firms of the state.
func (r *run) writeAccounts() error {
	r.settle()
	for _, f := range r.firms.order {
		k := storedFirm{
			Key: f.key, ID: f.id, Link: f.link, Why: f.why, Name: f.name, Phone: f.phone, City: f.city, State: f.state,
			Country: f.country,
			Types:   f.types, Created: f.created, Updated: f.updated,
		}
		if f.stored != nil {
			k.Account, k.Merged = f.stored.Account, f.stored.Merged
		}
		if err := r.writeAccount(f, &k); err != nil {
			return err
		}
		if err := r.next.add(k); err != nil {
			return err
		}
	}
	return r.writeLearnt()
}

func (r *run) writeAccount(f *firm, k *storedFirm) error {
	if to, linked := r.linked[f.id]; linked {
		if k.Account == nil || k.Merged && r.wasLinked[f.id] == to {
			return nil // it never had an account, or its merge was already written
		}
		k.Merged = true
		_, updated := dated(k.Account)
		r.object.Reset()
		r.object.Text("id", f.id)
		r.object.Text("merged_into", to)
		r.object.Time("updated_at", later(later(f.updated, updated), r.asOf))
		return r.out.Accounts.Write(r.object.Line())
	}
	whole := r.together(f)
	line := slices.Clone(accountLine(&r.object, whole, whole.updated))
	if k.Account != nil && !k.Merged {
		was, wasUpdated := dated(k.Account)
		if is, _ := dated(line); string(was) == string(is) && !whole.updated.After(wasUpdated) {
			return nil
		}
	}
	if r.old != nil {
		line = redated(line, later(whole.updated, r.asOf))
	}
	k.Account, k.Merged = line, false
	return r.out.Accounts.Write(line)
}

// together is a firm with the data of all firms linked to it.
func (r *run) together(f *firm) *firm {
	aliases := r.aliases[f.id]
	if len(aliases) == 0 {
		return f
	}
	whole := *f
	whole.types = slices.Clone(f.types)
	for _, a := range aliases {
		for _, t := range a.types {
			whole.is(t)
		}
		whole.works(a.created, a.updated)
		for to, v := range map[*string]string{&whole.phone: a.phone, &whole.city: a.city, &whole.state: a.state, &whole.country: a.country} {
			if *to == "" {
				*to = v
			}
		}
	}
	return &whole
}

// settle computes which account each firm is now, and was before.
func (r *run) settle() {
	r.linked, r.wasLinked, r.aliases = map[string]string{}, map[string]string{}, map[string][]*firm{}
	for _, f := range r.firms.order {
		if to := final(r.byID, f); to != f.id {
			r.linked[f.id] = to
			r.aliases[to] = append(r.aliases[to], f)
		}
		if f.stored != nil {
			if to := finalStored(r.byID, f); to != f.id {
				r.wasLinked[f.id] = to
			}
		}
	}
	for to, from := range r.aliases {
		if at, known := r.known.byID[to]; known {
			for _, f := range from {
				r.known.list[at].learn(f.types)
			}
		}
	}
}

// maxChain is the maximum number of links from a firm to its account.
const maxChain = 32

// final follows the links of a firm.
func final(byID map[string]*firm, f *firm) string {
	id := f.id
	for range maxChain {
		next := byID[id]
		if next == nil || next.link == "" {
			break
		}
		id = next.link
	}
	return id
}

// finalStored follows the links of an earlier state.
func finalStored(byID map[string]*firm, f *firm) string {
	id := f.id
	for range maxChain {
		next := byID[id]
		if next == nil || next.stored == nil || next.stored.Link == "" {
			break
		}
		id = next.stored.Link
	}
	return id
}

func (k *knownAccount) learn(types []string) {
	for _, t := range types {
		if !slices.Contains(k.Types, t) && !slices.Contains(k.learnt, t) {
			k.learnt = append(k.learnt, t)
		}
	}
}

// writeLearnt reports what the source states about existing accounts and, if requested, writes
// it into their full records.
func (r *run) writeLearnt() error {
	for _, k := range r.known.list {
		if len(k.learnt) == 0 {
			continue
		}
		slices.Sort(k.learnt)
		r.report.Links.Learnt = append(r.report.Links.Learnt, Learnt{k.ID, k.Name, k.learnt})
		if !r.options.Merge {
			continue
		}
		line, err := withTypes(k, r.asOf)
		if err != nil {
			return err
		}
		if err := r.out.Accounts.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// withTypes is the full record of an account with the learnt types.
func withTypes(k knownAccount, asOf time.Time) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(k.line, &members); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "an account cannot be read")
	}
	types, err := json.Marshal(slices.Sorted(slices.Values(slices.Concat(k.Types, k.learnt))))
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "an account cannot be written")
	}
	members["account_types"] = types
	var updated time.Time
	if at, dated := members["updated_at"]; dated {
		_ = json.Unmarshal(at, &updated)
	}
	delete(members, "updated_at")
	line, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "an account cannot be written")
	}
	return redated(line, later(updated, asOf)), nil
}
