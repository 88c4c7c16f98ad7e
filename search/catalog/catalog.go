package catalog

import (
	"encoding/binary"
	"slices"
)

// Type is the JSON shape of a field's value in a record.
type Type uint8

// The types. Unknown values are null, unknown lists empty.
const (
	String  Type = iota
	Strings      // a list
	Integer      // 64 bits
	Double       // IEEE 754 binary64
	Time         // RFC 3339, UTC, milliseconds
	UUID         // 36 characters, lower case
	UUIDs        // a list
)

// Kind is how a field can be filtered; it is the `kind` of its descriptor.
type Kind string

// The kinds. Plain fields cannot be filtered and have no descriptor.
const (
	Plain    Kind = ""
	Enum     Kind = "enum"
	FullText Kind = "text"
	Number   Kind = "number"
	Date     Kind = "date"
	Geo      Kind = "geo" // a Location
	Related  Kind = "relation"
)

// Kinds lists the kinds a descriptor can have.
var Kinds = []Kind{Enum, FullText, Number, Date, Geo, Related}

// Derivation says how a load computes a field from the children of a record.
type Derivation struct {
	From  Dataset // the children
	Count bool    // the number of children; else detected_at of the newest
}

// Order is a direction of a sort.
type Order uint8

// The orders.
const (
	Unordered Order = iota
	Ascending
	Descending
)

// Rows is a set of the row types that workspaces read: a global record with the workspace's
// own values (docs/api.md, "The book" and "View records"). A record of the Data API shows
// all global fields.
type Rows uint8

// The rows.
const (
	BookRecord Rows = 1 << iota // the answer of upserts and gets of the book
	BookRow                     // searches of the book
	ViewRow                     // searches of Views
	BookRows   = BookRecord | BookRow
	SearchRows = BookRow | ViewRow
	AllRows    = BookRows | ViewRow
)

// Field is one row of the catalog: everything Atlas knows about a field of a
// record. The parsing of records and requests, descriptors, schemas, Elasticsearch
// queries and mappings, and the rows of books and Views derive from these rows.
type Field struct {
	// Name is the key in the record.
	Name string
	// Key is the key of filters and descriptors. It equals Name, except for
	// account_type.
	Key         string
	Type        Type
	Description string // in descriptors and schemas
	Example     any    // in schemas; nil: an example of the type

	Kind Kind
	// Vocabulary lists an enum's values. An enum without one is dynamic: its values are
	// those in the data, compared folded.
	Vocabulary Vocabulary
	// Domains means that the values are internet domains. Searches also find them
	// in the form that Domain returns.
	Domains bool
	// Code means that the values are numbers or codes, such as permit numbers. They are
	// compared whole, in the form that Code returns. A `query` that is a code also finds
	// them.
	Code bool
	// Phones means that the values are phone numbers, which match in the form that Phone
	// returns.
	Phones bool
	// Query means that `query` searches the field.
	Query bool
	// Words means that `query` also searches the field in all word forms. Of a vocabulary
	// it searches the labels.
	Words bool
	// FirmNames means that the values are ids of accounts, and `query` searches the present
	// names of these accounts in all word forms.
	FirmNames bool
	// Private means that only charged operations search the field. Free routes refuse
	// filters on it, and their `query` leaves it out. Otherwise they would reveal for
	// nothing whether a value exists.
	Private bool
	// OwnTerms means that a global document also indexes the terms of the field separately,
	// besides the common field that `query` searches. FullText fields always have separate
	// terms. It is for datasets with a Private field.
	OwnTerms bool
	// Headline means that a match in the field has a higher weight in the relevance
	// score. One field of each dataset has it.
	Headline bool

	// Sort means that searches of global records can sort by the field. Only searches of
	// the book can sort by an overlay field.
	Sort bool
	// HeldSort means that searches of books and Views can also sort by the global
	// field.
	HeldSort bool
	// DefaultSort is the order of a search that names no sort. One field of each
	// dataset has it.
	DefaultSort Order

	// Required means that a loaded record must have a value.
	Required bool
	// LoadTime means that a record without a value gets the time of its load.
	LoadTime bool
	// Derive is set on fields that a load computes and ignores when given.
	Derive *Derivation
	// MinChars and MaxChars bound each string, in characters.
	MinChars, MaxChars int
	// MaxItems bounds an overlay's list; those of records have MaxList.
	MaxItems int
	// Min and Max bound an overlay's number, both inclusive; both 0: unbounded.
	Min, Max int64

	// Rows are the rows that show the field.
	Rows Rows
	// Match is the key by which an upsert of the book can name a record by this field
	// instead of its id; empty: it cannot.
	Match string

	// Overlay means that the value is the workspace's own, not the global record's.
	Overlay bool
	// Only is the single dataset whose records have the overlay field; empty means
	// all held datasets.
	Only Dataset
	// Written means that workspaces write the overlay's value, which is stored in a
	// column of that name. Other values are computed and always known.
	Written bool
	// Internal means that only documents have the value, and no record shows it.
	Internal bool
	// WriteNote says in the schema what writing the value does.
	WriteNote string
}

// Limits of a record's values.
const (
	ShortChars = 1_000  // names, titles, addresses, e-mails, URLs
	LongChars  = 20_000 // description, summary
	MaxList    = 1_000  // elements of a list
	// MaxChildren is how many related records of a kind a document contains, the newest
	// ones: Elasticsearch allows at most 10,000 nested objects per document, and each slows
	// writing. Counts are exact nevertheless.
	MaxChildren = 1_000
)

// Dynamic reports whether the field is an enum without a closed vocabulary.
func (f Field) Dynamic() bool { return f.Kind == Enum && f.Vocabulary == nil }

// IsID reports whether the field holds record ids, which are matched whole.
func (f Field) IsID() bool { return f.Type == UUID || f.Type == UUIDs }

// List reports whether the field holds several values.
func (f Field) List() bool { return f.Type == Strings || f.Type == UUIDs }

// Nullable reports whether the field can be null in a record, global or of the
// book.
func (f Field) Nullable() bool {
	if f.Overlay {
		return f.Written && !f.List() || f.Type == UUID
	}
	counted := f.Derive != nil && f.Derive.Count
	return !f.Required && !f.LoadTime && !counted && !f.List()
}

// Folded reports whether the field is searched through folded copies.
func (f Field) Folded() bool { return f.Dynamic() || f.Kind == FullText && !f.IsID() }

// CodeField is the field of a dataset whose values are codes; false: it has none.
func CodeField(d Dataset) (Field, bool) {
	return fieldWhere(d, func(f *Field) bool { return f.Code })
}

// FirmsField is the field of a dataset with FirmNames; false: it has none.
func FirmsField(d Dataset) (Field, bool) {
	return fieldWhere(d, func(f *Field) bool { return f.FirmNames })
}

// InWords reports whether a query that is read in words searches the field.
func (f Field) InWords() bool { return f.Query && !f.Private || f.Words }

// Rank is the first eight bytes of a folded text as a number: texts of different
// ranks sort as their ranks do.
func Rank(folded string) int64 {
	var first [8]byte
	copy(first[:], folded)
	return int64(binary.BigEndian.Uint64(first[:]) ^ 1<<63) // #nosec G115 -- Elasticsearch's numbers are signed
}

// Ranked reports whether the field is a text that searches can sort by.
func (f Field) Ranked() bool { return f.Sort && f.Folded() }

// Faceted reports whether facets list the field's values.
func (f Field) Faceted() bool {
	return f.Kind == Enum || f.Name == "workspace_status" || f.Name == "account_ids"
}

// FacetValue is the value that facets list for a spelling in an index of a Folding.
func (f Field) FacetValue(spelling string, by Folding) string {
	if f.Folded() {
		return by.Fold(spelling)
	}
	return spelling
}

// Grouped reports whether pivots group by the field: by its values or by its dates.
func (f Field) Grouped() bool { return f.Kind == Enum && !f.IsID() || f.Kind == Date }

// String names the field; an overlay's values may have the name of a global one.
func (f *Field) String() string {
	if f.Overlay {
		return "overlay." + f.Name
	}
	return f.Name
}

// Relation says that records of Parent have related records of Child.
type Relation struct {
	Parent, Child Dataset
	// Link is the field of the child that holds the ids of its parents.
	Link string
	// Singular names it in filters: has_<singular>, without_<singular>.
	Singular string
	// Newest is the field of the child that decides which children are the newest.
	Newest string
}

// Keys are the relation's keys in requests. `has` requires a related record that meets the
// filters, `without` requires that none does.
func (r Relation) Keys() (has, without string) { return "has_" + r.Singular, "without_" + r.Singular }

// Relations lists every relation; records link upwards only.
var Relations = []Relation{
	{Accounts, Projects, "account_ids", "project", "created_at"},
	{Accounts, Signals, "account_ids", "signal", "detected_at"},
	{Accounts, Contacts, "account_id", "contact", "created_at"},
	{Projects, Signals, "project_id", "signal", "detected_at"},
	{Contacts, Projects, "contact_ids", "project", "created_at"},
}

// RelationsOf lists the relations in which d is the parent.
func RelationsOf(d Dataset) []Relation {
	var found []Relation
	for _, r := range Relations {
		if r.Parent == d {
			found = append(found, r)
		}
	}
	return found
}

// Fields lists the fields of a dataset's records in the order a record shows
// them.
func Fields(d Dataset) []Field { return catalog[d] }

// FieldNamed returns a dataset's field by its name in the record.
func FieldNamed(d Dataset, name string) (Field, bool) {
	return fieldWhere(d, func(f *Field) bool { return f.Name == name })
}

// Headline is the field of a dataset that names its records.
func Headline(d Dataset) Field {
	f, _ := fieldWhere(d, func(f *Field) bool { return f.Headline })
	return f
}

// MatchField is the field by which upserts of the book can name a record; false means that
// they name it only by its id.
func MatchField(d Dataset) (Field, bool) {
	return fieldWhere(d, func(f *Field) bool { return f.Match != "" })
}

func fieldWhere(d Dataset, is func(*Field) bool) (Field, bool) {
	fields := catalog[d]
	for i := range fields {
		if is(&fields[i]) {
			return fields[i], true
		}
	}
	return Field{}, false
}

// DefaultOrder is the default sort of a dataset's search.
func DefaultOrder(d Dataset) (Field, Order) {
	f, _ := fieldWhere(d, func(f *Field) bool { return f.DefaultSort != Unordered })
	return f, f.DefaultSort
}

// NewestField is the field that says how new a record is: `updated_at`, for signals
// `detected_at`.
func NewestField(d Dataset) Field {
	name := "updated_at"
	if d == Signals {
		name = "detected_at"
	}
	f, _ := FieldNamed(d, name)
	return f
}

// FilterFields lists what a request on this base can filter by. In a book or a
// View `updated_at` is the overlay's. The list is shared: it must not be
// changed.
func FilterFields(d Dataset, base BaseKind) []Field { return filterFields[base][d] }

var filterFields = func() map[BaseKind]map[Dataset][]Field {
	all := map[BaseKind]map[Dataset][]Field{Data: {}, Book: {}, View: {}}
	for base, byDataset := range all {
		for _, d := range Datasets {
			for _, f := range Fields(d) {
				if f.Name == Longitude {
					f, _ = Location(d)
				}
				if f.Kind != Plain && (base == Data || f.Name != "updated_at") {
					byDataset[d] = append(byDataset[d], f)
				}
			}
			if base == Data {
				continue
			}
			// Fields of all datasets come first, then the dataset's own.
			for _, only := range []Dataset{"", d} {
				for _, f := range OverlayFields(d) {
					if f.Kind != Plain && f.Only == only {
						byDataset[d] = append(byDataset[d], f)
					}
				}
			}
		}
	}
	return all
}()

// SortFields lists what a request on this base can sort by. Only a book can be sorted by
// overlay values: outside the book they are unknown.
func SortFields(d Dataset, base BaseKind) []Field {
	var fields []Field
	for _, f := range Fields(d) {
		if f.Sort && (base == Data || f.HeldSort) {
			fields = append(fields, f)
		}
	}
	if base == Book {
		for _, f := range FilterFields(d, Book) {
			if f.Overlay && f.Sort {
				fields = append(fields, f)
			}
		}
	}
	return fields
}

// OverlayFields lists the overlay fields of a dataset. The list is shared: it must not be
// changed.
func OverlayFields(d Dataset) []Field { return overlayFields[d] }

var overlayFields = func() map[Dataset][]Field {
	all := map[Dataset][]Field{}
	for _, f := range overlayCatalog {
		for _, d := range Datasets {
			if f.Only == "" || f.Only == d {
				all[d] = append(all[d], f)
			}
		}
	}
	return all
}()

// WrittenFields lists the overlay fields that workspaces write, of all datasets.
func WrittenFields() []Field {
	var fields []Field
	for _, f := range overlayCatalog {
		if f.Written {
			fields = append(fields, f)
		}
	}
	return fields
}

// RowFields lists the fields that a row shows, in its order: those of the global
// record, then the workspace's own. A row of the book shows what the workspace
// writes before what is computed.
func RowFields(d Dataset, row Rows) []Field {
	return rowFields(d, row, func(f *Field) bool { return f.Rows&row != 0 })
}

// RowChoice lists what `fields` can choose from a row of a book or a View: all fields of
// the global record and the workspace's own. `updated_at` is the workspace's.
func RowChoice(d Dataset, row Rows) []Field {
	return rowFields(d, row, func(f *Field) bool { return !f.Internal && (f.Overlay || f.Name != "updated_at") })
}

func rowFields(d Dataset, row Rows, shown func(*Field) bool) []Field {
	var fields, computed []Field
	for _, f := range slices.Concat(Fields(d), OverlayFields(d)) {
		switch {
		case !shown(&f):
		case f.Overlay && !f.Written && row&BookRows != 0:
			computed = append(computed, f)
		default:
			fields = append(fields, f)
		}
	}
	return append(fields, computed...)
}

// SuggestCount is the field by which suggestions order the names of records; false means
// that the dataset's names are not suggested.
func SuggestCount(d Dataset) (*Field, bool) {
	f, counted := suggestCounts[d]
	return f, counted
}

var suggestCounts = func() map[Dataset]*Field {
	found := map[Dataset]*Field{}
	for d, name := range map[Dataset]string{Accounts: "projects_count", Projects: "signals_count"} {
		f, _ := FieldNamed(d, name)
		found[d] = &f
	}
	return found
}()

// Names lists the names of fields.
func Names(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// Keys lists the keys of fields.
func Keys(fields []Field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	return keys
}
