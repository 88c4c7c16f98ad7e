package catalog

// catalog has the fields of each dataset in the order a record shows them. A new
// global field is one row here; the client's record and docs/ name it too, which
// tests check.
var catalog = map[Dataset][]Field{
	Accounts: rows(
		name("The firm's name", Ascending),
		Field{
			Name: "account_types", Key: "account_type", Type: Strings, Kind: Enum, Vocabulary: AccountTypes,
			Words: true, Rows: AllRows, Description: "What the firm does",
		},
		Field{Name: "domains", Type: Strings, Kind: FullText, Domains: true, Query: true, MaxChars: ShortChars, Rows: BookRows, Match: "domain",
			Description: "The firm's internet domains", Example: []any{"bow-valley-builders.example"}},
		Field{Name: "website", Type: String, MaxChars: ShortChars, Rows: BookRows, Example: "https://bow-valley-builders.example"},
		phone(),
		description("What the firm says or is said of it"),
		city("City of the firm"),
		state("State or province of the firm"),
		country("Country of the firm"),
		Field{
			Name: "projects_count", Type: Integer, Kind: Number, Sort: true, HeldSort: true, Derive: count(Projects),
			Description: "How many projects name the firm", Example: 12,
		},
		Field{
			Name: "contacts_count", Type: Integer, Kind: Number, Derive: count(Contacts),
			Description: "How many contacts work for the firm", Example: 3,
		},
		Field{
			Name: "signals_count", Type: Integer, Kind: Number, Derive: count(Signals),
			Description: "How many signals name the firm", Example: 27,
		},
		Field{
			Name: "last_activity_at", Type: Time, Kind: Date, Sort: true, Derive: newest(Signals),
			Description: "When the latest signal that names the firm was detected",
		},
		created(),
		updated(),
	),
	Projects: rows(
		name("The project's name", Unordered),
		description("What is being built"),
		Field{
			Name: "address", Type: String, Kind: FullText, Query: true, MaxChars: ShortChars,
			Description: "Street address", Example: "123 8 AV SE",
		},
		shown(city("City of the project")),
		shown(state("State or province of the project")),
		country("Country of the project"),
		shown(labelled("stage", Stages, "How far the project is")),
		labelled("disposition", Dispositions, "Whether the project goes ahead"),
		shown(labelled("primary_use", PrimaryUses, "What it is built for")),
		Field{Name: "residential_units", Type: Integer, Kind: Number, Sort: true, Rows: AllRows, Description: "Number of dwellings", Example: 1},
		Field{Name: "sqft", Type: Double, Kind: Number, Sort: true, Description: "Floor area in square feet", Example: 2350.5},
		Field{Name: "stories", Type: Integer, Kind: Number, Sort: true, Description: "Number of storeys", Example: 2},
		Field{Name: "cost", Type: Double, Kind: Number, Sort: true, Description: "Estimated cost in the currency of the source", Example: 450000},
		enum("gc_status", GCStatuses, "Whether a general contractor is known"),
		Field{Name: "filed_at", Type: Time, Kind: Date, Sort: true, Description: "When the permit application was filed"},
		Field{Name: "permitted_at", Type: Time, Kind: Date, Sort: true, Description: "When the permit was issued"},
		Field{Name: "completed_at", Type: Time, Kind: Date, Description: "When the work was finished"},
		Field{Name: "detected_at", Type: Time, Kind: Date, Sort: true, LoadTime: true, Description: "When the project was first seen"},
		Field{
			Name: "last_signal_at", Type: Time, Kind: Date, Sort: true, HeldSort: true, DefaultSort: Descending,
			Derive: newest(Signals), Rows: AllRows, Description: "When the project's latest signal was detected",
		},
		Field{
			Name: "signals_count", Type: Integer, Kind: Number, Sort: true, HeldSort: true, Derive: count(Signals),
			Description: "How many signals the project has", Example: 27,
		},
		Field{Name: "account_ids", Type: UUIDs, Kind: FullText, FirmNames: true, Description: "Firms that take part, by id"},
		Field{Name: "contact_ids", Type: UUIDs, Kind: FullText, Description: "Contacts of the project, by id"},
		source(),
		sourceID(),
		sourceURL(),
		Field{Name: Latitude, Type: Double, Example: 51.0447},
		Field{Name: Longitude, Type: Double, Example: -114.0719},
		created(),
		updated(),
	),
	Contacts: rows(
		name("The person's name", Ascending),
		Field{
			Name: "title", Type: String, Kind: FullText, Query: true, MaxChars: ShortChars, Rows: AllRows,
			Description: "Position in the firm", Example: "Project manager",
		},
		Field{
			Name: "email", Type: String, Kind: FullText, Query: true, Private: true, MaxChars: ShortChars,
			Rows: AllRows, Match: "email", Description: "E-mail address", Example: "ada@bow-valley-builders.example",
		},
		phone(),
		labelled("role", ContactRoles, "What the person does"),
		enum("status", ContactStatuses, "Whether the position is current"),
		Field{Name: "account_id", Type: UUID, Kind: FullText, Rows: AllRows, Description: "The person's firm, by id"},
		Field{Name: "account_name", Type: String, Query: true, OwnTerms: true, MaxChars: ShortChars, Example: "Bow Valley Builders"},
		city("City of the person"),
		state("State or province of the person"),
		Field{
			Name: "projects_count", Type: Integer, Kind: Number, Sort: true, HeldSort: true, Derive: count(Projects),
			Description: "How many projects name the person", Example: 12,
		},
		created(),
		updated(),
	),
	Signals: rows(
		Field{Name: "signal_type", Type: String, Kind: Enum, Vocabulary: SignalTypes, Words: true, Required: true, Description: "What happened"},
		Field{
			Name: "title", Type: String, Kind: FullText, Query: true, Headline: true, Required: true,
			MaxChars: ShortChars, Description: "The signal in one line", Example: "Project manager",
		},
		Field{
			Name: "summary", Type: String, Kind: FullText, Query: true, MaxChars: LongChars,
			Description: "The signal in a few sentences", Example: "A building permit was issued.",
		},
		Field{Name: "project_id", Type: UUID, Kind: FullText, Description: "The project it happened to, by id"},
		Field{Name: "project_name", Type: String, Query: true, MaxChars: ShortChars, Example: "123 8 AV SE, New house"},
		Field{Name: "account_ids", Type: UUIDs, Kind: FullText, Description: "Firms it names, by id"},
		city("City of the project when it happened"),
		state("State or province of the project when it happened"),
		labelled("stage", Stages, "Stage of the project when it happened"),
		Field{Name: "occurred_at", Type: Time, Kind: Date, Sort: true, Required: true, Description: "When it happened"},
		Field{
			Name: "detected_at", Type: Time, Kind: Date, Sort: true, DefaultSort: Descending, LoadTime: true,
			Description: "When it was detected",
		},
		source(),
		sourceID(),
		sourceURL(),
		created(),
		Field{Name: "updated_at", Type: Time, LoadTime: true},
	),
}

// overlayCatalog has the overlay fields. A new field that workspaces write is one row here
// and a column of that name (a migration of workspace/postgres); the client and docs/ name
// it too, which tests check.
var overlayCatalog = overlays(
	Field{Name: "icp_tier", Only: Accounts, Type: String, Kind: Enum, Vocabulary: ICPTiers, Written: true, Rows: AllRows,
		Description: "How well the account fits the workspace's ideal customer profile",
		WriteNote:   "A new tier schedules a recomputation of `atlas_score`, which follows within seconds."},
	Field{Name: "atlas_score", Only: Accounts, Type: Integer, Kind: Number, Sort: true, Max: 100, Rows: AllRows,
		Description: "Computed score of the account for the workspace, 0 to 100", Example: 73},
	Field{Name: "workspace_status", Type: String, Kind: FullText, Words: true, MinChars: 1, MaxChars: 100, Written: true, Rows: AllRows,
		Description: "The workspace's own status of the record", Example: "in talks"},
	Field{Name: "notes", Type: String, Kind: FullText, Words: true, MaxChars: 10_000, Written: true, Rows: BookRows,
		Description: "The workspace's notes on the record", Example: "Met at the fair."},
	Field{Name: "tags", Type: Strings, Kind: Enum, Words: true, MinChars: 1, MaxChars: 64, MaxItems: 50, Written: true, Rows: AllRows,
		Description: "The workspace's tags of the record", Example: []any{"north", "priority"}},
	Field{Name: "atlas_trend", Only: Accounts, Type: String, Vocabulary: Trends, Rows: BookRows},
	Field{Name: "updated_at", Type: Time, Kind: Date, Sort: true, Rows: SearchRows,
		Description: "When the workspace last changed its annotations of the record"},
	Field{Name: "updated_by", Type: UUID,
		Description: "The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user"},
)

// overlays sets the key to the name by default.
func overlays(fields ...Field) []Field {
	for i := range fields {
		fields[i].Key, fields[i].Overlay = fields[i].Name, true
	}
	return fields
}

// rows puts the id first and sets the key to the name by default.
func rows(fields ...Field) []Field {
	fields = append([]Field{{Name: "id", Type: UUID, Required: true, Rows: AllRows}}, fields...)
	for i := range fields {
		if fields[i].Key == "" {
			fields[i].Key = fields[i].Name
		}
	}
	return fields
}

func name(description string, defaultSort Order) Field {
	return Field{Name: "name", Type: String, Kind: FullText, Query: true, Headline: true, Sort: true, HeldSort: true, DefaultSort: defaultSort,
		Required: true, MaxChars: ShortChars, Rows: AllRows, Description: description, Example: "Bow Valley Builders"}
}

func description(description string) Field {
	return Field{
		Name: "description", Type: String, Kind: FullText, Query: true, MaxChars: LongChars, Description: description,
		Example: "Builds and renovates houses.",
	}
}

func phone() Field {
	return Field{Name: "phone", Type: String, Phones: true, MaxChars: ShortChars, Example: "+1 403 555 0100"}
}

func city(description string) Field    { return place("city", description, "Calgary") }
func state(description string) Field   { return place("state", description, "AB") }
func country(description string) Field { return place("country", description, "CA") }

func place(name, description, example string) Field {
	return Field{Name: name, Type: String, Kind: Enum, Words: true, MaxChars: ShortChars, Description: description, Example: example}
}

func source() Field {
	return Field{
		Name: "source", Type: String, Kind: Enum, MaxChars: ShortChars, Description: "Data source",
		Example: "City of Calgary building permits",
	}
}

func sourceID() Field {
	return Field{
		Name: "source_id", Type: String, Kind: FullText, Code: true, Query: true, MaxChars: ShortChars,
		Description: "Permit number", Example: "BP2026-00001",
	}
}

func sourceURL() Field {
	return Field{Name: "source_url", Type: String, MaxChars: ShortChars, Example: "https://permits.example/BP2026-00001"}
}

func enum(name string, v Vocabulary, description string) Field {
	return Field{Name: name, Type: String, Kind: Enum, Vocabulary: v, Description: description}
}

// labelled is an enum whose labels `query` searches.
func labelled(name string, v Vocabulary, description string) Field {
	f := enum(name, v, description)
	f.Words = true
	return f
}

func created() Field {
	return Field{
		Name: "created_at", Type: Time, Kind: Date, Sort: true, HeldSort: true, LoadTime: true,
		Description: "When the record was created",
	}
}

func updated() Field {
	return Field{Name: "updated_at", Type: Time, Kind: Date, Sort: true, LoadTime: true, Description: "When the record last changed"}
}

func count(of Dataset) *Derivation  { return &Derivation{From: of, Count: true} }
func newest(of Dataset) *Derivation { return &Derivation{From: of} }

// shown adds the field to all rows of workspaces.
func shown(f Field) Field {
	f.Rows = AllRows
	return f
}
