// Package erasure decides which records are suppressed: records of persons, firms and projects
// that were erased on request and that no load may restore (docs/privacy.md).
//
// It stores no value of a person, only keyed digests of normalized values. It does no I/O:
// package eraser erases, and Postgres stores the list.
package erasure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
)

// Kind is the kind of value by which a suppression identifies a record.
type Kind string

// The kinds. An id identifies a record of any dataset but signals; the other kinds identify
// persons.
const (
	ID    Kind = "id"
	Email Kind = "email"
	Phone Kind = "phone"
	// NameFirm is the name of a person together with that of the firm.
	NameFirm Kind = "name_firm"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{ID, Email, Phone, NameFirm} }

// Datasets are those whose records can be suppressed.
func Datasets() []catalog.Dataset {
	return []catalog.Dataset{catalog.Contacts, catalog.Accounts, catalog.Projects}
}

// Values are the values that identify a record. Missing values are "".
type Values struct{ ID, Email, Phone, Name, Firm string }

// Normal is the value of a kind by the newest normalization, "" if there is none.
func (v Values) Normal(k Kind) string { return v.of(k, Newest) }

// of is the normalized value of a kind, "" if there is none.
func (v Values) of(k Kind, normalization int) string {
	n := normalizations[normalization]
	switch k {
	case ID:
		return n.id(v.ID)
	case Email:
		return n.email(v.Email)
	case Phone:
		return n.phone(v.Phone)
	case NameFirm:
		return n.nameFirm(v.Name, v.Firm)
	}
	return ""
}

// Digest is a keyed digest of a normalized value.
type Digest [sha256.Size]byte

// Suppression is an entry of the list.
type Suppression struct {
	ID      uuid.UUID
	Dataset catalog.Dataset
	Kind    Kind
	// Normalization and Key are the numbers of the normalization and the key of the digest.
	Normalization int
	Key           int
	Digest        Digest
	// KeyCheck identifies the key with the number; zero: not known.
	KeyCheck Digest
	// Reason and By are what the operator stated.
	Reason, By string
	Added      time.Time
	// Applied is when the record was erased everywhere, nil: not finished.
	Applied *time.Time
	// Removed is when loading was allowed again, nil: it is not.
	Removed *time.Time
	// Of is the suppression that this one belongs to and is removed with, zero for none.
	Of uuid.UUID
	// Seq is the position in the order of additions.
	Seq int64
}

// New makes a suppression with the newest normalization and key. Error: fault.BadRequest if no
// value is of the kind, or the kind does not identify records of the dataset.
func (k Keys) New(d catalog.Dataset, kind Kind, v Values) (Suppression, error) {
	return k.make(d, kind, v, Newest)
}

func (k Keys) make(d catalog.Dataset, kind Kind, v Values, normalization int) (Suppression, error) {
	s := Suppression{ID: uuid.New(), Dataset: d, Kind: kind, Normalization: normalization, Key: k.newest()}
	switch {
	case s.Key == 0:
		return s, errNoKey
	case d == catalog.Signals || !catalog.IsDataset(string(d)):
		return s, fault.New(fault.BadRequest, "records of %s cannot be suppressed: give accounts, contacts or projects", d)
	case kind != ID && d != catalog.Contacts:
		return s, fault.New(fault.BadRequest, "records of %s are suppressed by id: only contacts by %s", d, kind)
	}
	normal := v.of(kind, normalization)
	if normal == "" {
		return s, fault.New(fault.BadRequest, "%s", unusable[kind])
	}
	s.Digest, s.KeyCheck = digest(k[s.Key], d, kind, normalization, normal), k.check(s.Key)
	return s, nil
}

// unusable says what a value of a kind must be.
var unusable = map[Kind]string{
	ID:       "the id is not a UUID, such as 7f9b3a52-6a65-4d0e-9f55-0a4f6f3a5b10",
	Email:    "the e-mail address must have one @ with text on both sides, such as ada@bow-valley-builders.example",
	Phone:    "the phone number must have 7 to 15 digits, such as +1 403 555 0100",
	NameFirm: "a name is suppressed together with the name of its firm: both must have letters or digits",
}

// digest must never change: it is compared with lists that are years old.
func digest(key []byte, d catalog.Dataset, kind Kind, normalization int, normal string) (sum Digest) {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{"atlas suppression", string(d), string(kind), normal} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	mac.Write([]byte{byte(normalization)}) // #nosec G115 -- there are few
	mac.Sum(sum[:0])
	return sum
}

// way is how the digests of some suppressions are computed.
type way struct {
	dataset            catalog.Dataset
	kind               Kind
	normalization, key int
}

// Set is the list of suppressions, indexed for looking up records. A nil *Set is empty. It is
// safe for concurrent use.
type Set struct {
	keys    Keys
	entries map[way]map[Digest][]uuid.UUID
	// takes has the suppressions to which the ids of their records are added, taken how many
	// ids each has. ids are these ids, including those removed from the list one by one: they
	// are not added again.
	takes   map[uuid.UUID]bool
	taken   map[uuid.UUID]int
	ids     map[way]map[Digest][]uuid.UUID
	through int64
}

// NewSet makes a Set of the suppressions that are not removed. Error: fault.BadRequest if the
// key or the normalization of one is unknown.
func NewSet(keys Keys, list []Suppression) (*Set, error) {
	s := &Set{
		keys: keys, entries: map[way]map[Digest][]uuid.UUID{},
		takes: map[uuid.UUID]bool{}, taken: map[uuid.UUID]int{}, ids: map[way]map[Digest][]uuid.UUID{},
	}
	for _, e := range list {
		s.through = max(s.through, e.Seq)
		err := keys.Know(e)
		if err != nil && e.Removed == nil {
			return nil, err
		}
		w := way{e.Dataset, e.Kind, e.Normalization, e.Key}
		if err == nil && e.isID() {
			put(s.ids, w, e.Digest, e.Of)
		}
		if e.Removed == nil {
			s.takes[e.ID] = e.takesIDs()
			s.taken[e.Of]++
			put(s.entries, w, e.Digest, e.ID)
		}
	}
	return s, nil
}

func put(in map[way]map[Digest][]uuid.UUID, w way, sum Digest, id uuid.UUID) {
	if in[w] == nil {
		in[w] = map[Digest][]uuid.UUID{}
	}
	in[w][sum] = append(in[w][sum], id)
}

// Through is the Seq of the newest suppression in the Set.
func (s *Set) Through() int64 {
	if s == nil {
		return 0
	}
	return s.through
}

// Empty reports whether nothing of a dataset is suppressed.
func (s *Set) Empty(d catalog.Dataset) bool {
	if s == nil {
		return true
	}
	for w := range s.entries {
		if w.dataset == d {
			return false
		}
	}
	return true
}

// Find returns the suppressions of a record.
func (s *Set) Find(d catalog.Dataset, v Values) (found []uuid.UUID) {
	if s == nil {
		return nil
	}
	return s.find(s.entries, d, v)
}

func (s *Set) find(in map[way]map[Digest][]uuid.UUID, d catalog.Dataset, v Values) (found []uuid.UUID) {
	for w, digests := range in {
		if w.dataset != d {
			continue
		}
		normal := v.of(w.kind, w.normalization)
		if normal == "" {
			continue
		}
		found = append(found, digests[digest(s.keys[w.key], d, w.kind, w.normalization, normal)]...)
	}
	return found
}

// Has reports whether a record is suppressed.
func (s *Set) Has(d catalog.Dataset, v Values) bool {
	return len(s.Find(d, v)) > 0
}

// Version identifies the state of the list.
type Version struct{ Through, Removed int64 }

// Record is a record that is being erased.
type Record struct {
	Dataset catalog.Dataset
	ID      uuid.UUID
	// Suppressions are the reasons for its erasure.
	Suppressions []uuid.UUID
	// Related are records whose documents contain values of it.
	Related map[catalog.Dataset][]uuid.UUID
}

// Erased counts what was deleted from workspaces.
type Erased struct{ Overlays, Memberships, Answers int64 }

// Link lets the owner of a contact's e-mail address erase the contact (package removal). It has
// no value of the person.
type Link struct {
	ID uuid.UUID
	// Contact is the contact that it erases.
	Contact uuid.UUID
	// Address has the keyed digest of the contact's e-mail address when the link was made: a
	// later address can have another owner.
	Address Suppression
	// By is who asked for it.
	By string
	// Due is when its e-mail may be sent.
	Created, Due, Expires time.Time
	// Used is when the contact was erased by it, nil if it was not.
	Used *time.Time
}

// Request asks for links to the contacts that have an e-mail address (package removal).
type Request struct {
	ID uuid.UUID
	// Sealed is the address, encrypted.
	Sealed []byte
	// Digest is a keyed digest of the address, Network one of the caller's network, nil if that
	// is unknown.
	Digest  Digest
	Network []byte
	Created time.Time
}
