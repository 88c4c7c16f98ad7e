package query

import (
	"encoding/binary"
	"slices"
)

// Dataset is one of the four kinds of global records, and the name of its
// index alias.
type Dataset string

// The datasets.
const (
	Accounts Dataset = "accounts"
	Contacts Dataset = "contacts"
	Projects Dataset = "projects"
	Signals  Dataset = "signals"
)

// Datasets lists them parents last: a dataset's children stand before it, so
// derived fields can be computed in this order.
var Datasets = []Dataset{Signals, Projects, Contacts, Accounts}

// Held lists the datasets of which a workspace can hold records.
var Held = []Dataset{Accounts, Contacts, Projects}

// IsDataset tells whether name is one of the four.
func IsDataset(name string) bool { return slices.Contains(Datasets, Dataset(name)) }

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
	Related  Kind = "relation"
)

// Kinds lists the kinds a descriptor can have.
var Kinds = []Kind{Enum, FullText, Number, Date, Related}

// Derivation says how a load computes a field from a record's children.
type Derivation struct {
	From  Dataset // the children
	Count bool    // how many there are; else the newest one's detected_at
}

// Field is one row of the catalog: everything Atlas knows about a field of a
// record. Request validation, descriptors, Elasticsearch clauses, the check of
// the mappings and the parsing of records all come from these rows, so a new
// field is one row here and its line in mappings/.
type Field struct {
	// Name is the key in the record.
	Name string
	// Key is the key of filters and descriptors: Name, but for account_type.
	Key  string
	Type Type
	Kind Kind
	// Vocabulary lists an enum's values. An enum without one is dynamic: its
	// values are what the data holds, compared folded.
	Vocabulary Vocabulary
	// Sort: the field can be sorted by. Query: `query` searches it.
	Sort, Query bool
	// Required in a record that is loaded.
	Required bool
	// MaxChars bounds each string, in characters.
	MaxChars int
	// Derive is set on fields that a load computes and ignores when given.
	Derive *Derivation
	// Domains: the values are internet domains, which are found by what Domain
	// makes of them too.
	Domains bool
	// Overlay: the value is the workspace's own, not the global record's.
	Overlay bool
	// Description is what a person reads in the descriptor.
	Description string
}

// Limits of a record's values.
const (
	ShortChars = 1_000  // names, titles, addresses, e-mails, URLs
	LongChars  = 20_000 // description, summary
	MaxList    = 1_000  // elements of a list
	// MaxChildren is how many related records of a kind a document keeps, the
	// newest: Elasticsearch bounds nested objects per document at 10,000 in
	// all, and writing slows with each. Counts are exact all the same.
	MaxChildren = 1_000
)

// Dynamic tells whether the field is an enum without a closed vocabulary.
func (f Field) Dynamic() bool { return f.Kind == Enum && f.Vocabulary == nil }

// IsID tells whether the field holds record ids, which are matched whole.
func (f Field) IsID() bool { return f.Type == UUID || f.Type == UUIDs }

// List tells whether the field holds several values.
func (f Field) List() bool { return f.Type == Strings || f.Type == UUIDs }

// Folded tells whether the field is searched through folded copies.
func (f Field) Folded() bool { return f.Dynamic() || f.Kind == FullText && !f.IsID() }

// Rank is the first eight bytes of a folded text as a number: texts of different
// ranks are in the order of their ranks.
func Rank(folded string) int64 {
	var first [8]byte
	copy(first[:], folded)
	return int64(binary.BigEndian.Uint64(first[:]) ^ 1<<63) // #nosec G115 -- Elasticsearch's numbers are signed
}

// Ranked tells whether the field is a text that is sorted by.
func (f Field) Ranked() bool { return f.Sort && f.Folded() }

// Relation says that records of Parent have related records of Child.
type Relation struct {
	Parent, Child Dataset
	// Link is the child's field that holds the parent's id or ids.
	Link string
	// Singular names it in filters: has_<singular>, without_<singular>.
	Singular string
	// Newest is the child's field by which the newest are kept.
	Newest string
}

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

// OverlayFields lists what a workspace adds to the records it keeps in its
// book.
func OverlayFields(d Dataset) []Field {
	fields := []Field{
		{Name: "workspace_status", Type: String, Kind: FullText, MaxChars: 100, Description: "The workspace's own status of the record"},
		{Name: "notes", Type: String, Kind: FullText, MaxChars: 10_000, Description: "The workspace's notes on the record"},
		{Name: "tags", Type: Strings, Kind: Enum, MaxChars: 64, Description: "The workspace's tags of the record"},
		{Name: "updated_at", Type: Time, Kind: Date, Sort: true, Description: "When the workspace last changed its annotations of the record"},
	}
	if d == Accounts {
		fields = append(fields,
			Field{Name: "icp_tier", Type: String, Kind: Enum, Vocabulary: ICPTiers, Description: "How well the account fits the workspace's ideal customer profile"},
			Field{Name: "atlas_score", Type: Integer, Kind: Number, Sort: true, Description: "Computed score of the account for the workspace, 0 to 100"},
		)
	}
	for i := range fields {
		fields[i].Key = fields[i].Name
		fields[i].Overlay = true
	}
	return fields
}

// FieldNamed returns a dataset's field by its name in the record.
func FieldNamed(d Dataset, name string) (Field, bool) {
	for _, f := range catalog[d] {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

var catalog = map[Dataset][]Field{
	Accounts: rows(
		name("The firm's name"),
		Field{Name: "account_types", Key: "account_type", Type: Strings, Kind: Enum, Vocabulary: AccountTypes, Description: "What the firm does"},
		Field{Name: "domains", Type: Strings, Kind: FullText, Domains: true, Query: true, MaxChars: ShortChars, Description: "The firm's internet domains"},
		Field{Name: "website", Type: String, MaxChars: ShortChars},
		Field{Name: "phone", Type: String, MaxChars: ShortChars},
		Field{Name: "description", Type: String, Kind: FullText, Query: true, MaxChars: LongChars, Description: "What the firm says or is said of it"},
		place("city", "City of the firm"),
		place("state", "State or province of the firm"),
		place("country", "Country of the firm"),
		count("projects_count", Projects, true, "How many projects name the firm"),
		count("contacts_count", Contacts, false, "How many contacts work for the firm"),
		count("signals_count", Signals, false, "How many signals name the firm"),
		Field{Name: "last_activity_at", Type: Time, Kind: Date, Sort: true, Derive: &Derivation{From: Signals}, Description: "When the latest signal that names the firm was detected"},
		date("created_at", "When the record was created"),
		date("updated_at", "When the record last changed"),
	),
	Projects: rows(
		name("The project's name"),
		Field{Name: "description", Type: String, Kind: FullText, Query: true, MaxChars: LongChars, Description: "What is being built"},
		Field{Name: "address", Type: String, Kind: FullText, Query: true, MaxChars: ShortChars, Description: "Street address"},
		place("city", "City of the project"),
		place("state", "State or province of the project"),
		place("country", "Country of the project"),
		enum("stage", Stages, "How far the project is"),
		enum("disposition", Dispositions, "Whether the project goes ahead"),
		enum("primary_use", PrimaryUses, "What it is built for"),
		Field{Name: "residential_units", Type: Integer, Kind: Number, Sort: true, Description: "Number of dwellings"},
		Field{Name: "sqft", Type: Double, Kind: Number, Sort: true, Description: "Floor area in square feet"},
		Field{Name: "stories", Type: Integer, Kind: Number, Sort: true, Description: "Number of storeys"},
		Field{Name: "cost", Type: Double, Kind: Number, Sort: true, Description: "Estimated cost in the currency of the source"},
		enum("gc_status", GCStatuses, "Whether a general contractor is known"),
		unsortable("filed_at", "When the permit application was filed"),
		unsortable("permitted_at", "When the permit was issued"),
		unsortable("completed_at", "When the work was finished"),
		date("detected_at", "When the project was first seen"),
		Field{Name: "last_signal_at", Type: Time, Kind: Date, Sort: true, Derive: &Derivation{From: Signals}, Description: "When the project's latest signal was detected"},
		count("signals_count", Signals, true, "How many signals the project has"),
		Field{Name: "account_ids", Type: UUIDs, Kind: FullText, Description: "Firms that take part, by id"},
		Field{Name: "contact_ids", Type: UUIDs, Kind: FullText, Description: "Contacts of the project, by id"},
		Field{Name: "latitude", Type: Double},
		Field{Name: "longitude", Type: Double},
		date("created_at", "When the record was created"),
		date("updated_at", "When the record last changed"),
	),
	Contacts: rows(
		name("The person's name"),
		Field{Name: "title", Type: String, Kind: FullText, Query: true, MaxChars: ShortChars, Description: "Position in the firm"},
		Field{Name: "email", Type: String, Kind: FullText, Query: true, MaxChars: ShortChars, Description: "E-mail address"},
		Field{Name: "phone", Type: String, MaxChars: ShortChars},
		enum("role", ContactRoles, "What the person does"),
		enum("status", ContactStatuses, "Whether the position is current"),
		Field{Name: "account_id", Type: UUID, Kind: FullText, Description: "The person's firm, by id"},
		Field{Name: "account_name", Type: String, Query: true, MaxChars: ShortChars},
		place("city", "City of the person"),
		place("state", "State or province of the person"),
		count("projects_count", Projects, true, "How many projects name the person"),
		date("created_at", "When the record was created"),
		date("updated_at", "When the record last changed"),
	),
	Signals: rows(
		Field{Name: "signal_type", Type: String, Kind: Enum, Vocabulary: SignalTypes, Required: true, Description: "What happened"},
		Field{Name: "title", Type: String, Kind: FullText, Query: true, Required: true, MaxChars: ShortChars, Description: "The signal in one line"},
		Field{Name: "summary", Type: String, Kind: FullText, Query: true, MaxChars: LongChars, Description: "The signal in a few sentences"},
		Field{Name: "project_id", Type: UUID, Kind: FullText, Description: "The project it happened to, by id"},
		Field{Name: "project_name", Type: String, Query: true, MaxChars: ShortChars},
		Field{Name: "account_ids", Type: UUIDs, Kind: FullText, Description: "Firms it names, by id"},
		place("city", "City of the project when it happened"),
		place("state", "State or province of the project when it happened"),
		enum("stage", Stages, "Stage of the project when it happened"),
		Field{Name: "occurred_at", Type: Time, Kind: Date, Sort: true, Required: true, Description: "When it happened"},
		date("detected_at", "When it was detected"),
		Field{Name: "source", Type: String, MaxChars: ShortChars},
		Field{Name: "source_url", Type: String, MaxChars: ShortChars},
		date("created_at", "When the record was created"),
		Field{Name: "updated_at", Type: Time},
	),
}

// rows puts the id first and lets the key default to the name.
func rows(fields ...Field) []Field {
	fields = append([]Field{{Name: "id", Type: UUID, Required: true}}, fields...)
	for i := range fields {
		if fields[i].Key == "" {
			fields[i].Key = fields[i].Name
		}
	}
	return fields
}

func name(description string) Field {
	return Field{Name: "name", Type: String, Kind: FullText, Sort: true, Query: true, Required: true, MaxChars: ShortChars, Description: description}
}

func place(name, description string) Field {
	return Field{Name: name, Type: String, Kind: Enum, MaxChars: ShortChars, Description: description}
}

func enum(name string, v Vocabulary, description string) Field {
	return Field{Name: name, Type: String, Kind: Enum, Vocabulary: v, Description: description}
}

func count(name string, of Dataset, sort bool, description string) Field {
	return Field{Name: name, Type: Integer, Kind: Number, Sort: sort, Derive: &Derivation{From: of, Count: true}, Description: description}
}

func date(name, description string) Field {
	return Field{Name: name, Type: Time, Kind: Date, Sort: true, Description: description}
}

func unsortable(name, description string) Field {
	f := date(name, description)
	f.Sort = false
	return f
}
