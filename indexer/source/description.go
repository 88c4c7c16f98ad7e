package source

// Description is one source. The tags are the keys of the YAML file and their explanation
// in the JSON Schema.
type Description struct {
	Version int    `key:"version" required:"true" doc:"Version of this language: 1."`
	Name    string `key:"source" required:"true" doc:"Short name: lower-case letters, digits and hyphens. Ids of records depend on it: it must not change."`
	Title   string `key:"title" required:"true" doc:"Name of the source, which projects and signals carry in their field source."`

	Page        string `key:"page" doc:"Web page of the data set."`
	Licence     string `key:"licence" doc:"Licence of the data."`
	Attribution string `key:"attribution" doc:"Line that must stand where the data is shown."`
	Terms       string `key:"terms" doc:"Web page of the terms of use."`
	Tried       string `key:"tried" doc:"What this description was tried on, and when."`
	Namespace   string `key:"namespace" doc:"UUID namespace of the ids of records. By default it is made of the name, so that equal numbers and firms of two sources are not one record."`

	Read     Reading  `key:"read" doc:"How the file is written. What is left out is found from the file."`
	Values   Values   `key:"values" doc:"How cells are read."`
	Columns  []Column `key:"columns" doc:"Columns made of others, by name; templates name them like those of the file. One can name those before it."`
	Personal []string `key:"personal" doc:"Columns of private persons, by patterns such as owner*: no report shows their cells. Columns of names, phones and addresses of persons count without being listed."`
	Public   []string `key:"public" doc:"Columns that look as if they were of persons but are not, by patterns."`
	Skip     []Rule   `key:"skip" doc:"Rows to leave out: those that meet one of the rules."`

	Key     string `key:"key" required:"true" doc:"What distinguishes permits: a template such as {permit_number}. Rows with one key are one permit."`
	Number  string `key:"number" doc:"The permit's number as people write it, for source_id; the key by default."`
	Repeats string `key:"repeats" enum:"latest,phases,separate" doc:"Rows with one key: latest (default) takes the latest row, and from those before what it lacks; phases adds costs, units and areas up, and is complete when all are; separate writes each, under one id."`
	AsOf    Value  `key:"as_of" doc:"Day that the file is of, such as a column with the day of the export; the latest in the file counts. --as-of wins. By default it is a date in the name of the file, else the latest date of its rows."`

	Project Project `key:"project" required:"true" doc:"What becomes of a permit."`
	Firms   []Firm  `key:"firms" doc:"Who takes part. Private persons become no record."`
	Changes Changes `key:"changes" doc:"What next week's file says about this week's."`
	Pull    Pull    `key:"pull" doc:"Where atlas index pull gets the data."`
}

// Reading describes the format of a file.
type Reading struct {
	Format    string `key:"format" enum:"csv,json,ndjson,xlsx" doc:"Format of the file."`
	Encoding  string `key:"encoding" enum:"auto,utf-8,utf-16,windows-1252" doc:"auto (default): a byte order mark, else UTF-8, and rows that are not UTF-8 as Windows-1252. utf-8 refuses those rows."`
	Delimiter string `key:"delimiter" doc:"Character between cells: , ; | or a tab."`
	SkipLines int    `key:"skip_lines" doc:"Lines above the row that names the columns."`
	FillShort bool   `key:"fill_short" doc:"Rows with too few cells lack the last ones; by default they are left out."`
	Path      string `key:"path" doc:"Where the array of rows is in a JSON file, such as d.results."`
	Sheet     string `key:"sheet" doc:"Sheet of a workbook; the first by default."`
	Member    string `key:"member" doc:"Pattern of the name of the file within a .zip, such as *.csv."`
}

// Values describes how cells are read.
type Values struct {
	None    []string `key:"none" doc:"Cells that mean no value, in all columns: N/A, (null), UNKNOWN*. The empty cell always does."`
	Dates   []string `key:"dates" enum:"m/d/y,d/m/y,unix,serial" doc:"Forms of dates that are not clear by themselves. Two-digit years, a time of day and time zones are read in all."`
	Zone    string   `key:"zone" doc:"Time zone of the source, such as America/Chicago; UTC by default."`
	Decimal string   `key:"decimal" enum:"point,comma" doc:"What separates decimals; point by default."`
	Errors  string   `key:"errors" enum:"drop,refuse" doc:"A cell that cannot be read: drop (default) takes it as unknown and counts it; refuse leaves the row out."`
}

// Column is a column made of others.
type Column struct {
	Name string
	Value
}

// Value is a text made of columns: a template alone, a mapping with options, or a list of
// these, of which the first with a value is used.
type Value struct {
	Of      string   `key:"of" doc:"Template: {number} {street}, or {a|b} for the first of two columns with a value, {a|} for one that may be missing."`
	After   string   `key:"after" doc:"Only what stands after this text; all if it does not occur."`
	Before  string   `key:"before" doc:"Only what stands before this text; all if it does not occur."`
	Match   string   `key:"match" doc:"Regular expression (RE2): its first group, or what it matches; no value if it does not match."`
	Without string   `key:"without" doc:"Regular expression (RE2) of what is taken out."`
	Case    string   `key:"case" enum:"upper,lower,title" doc:"Case of letters."`
	Unknown []string `key:"unknown" doc:"Values that mean unknown here, such as 0 or 1 for a cost. * stands for any text; numbers are compared as numbers."`
	Table   []Entry  `key:"table" doc:"Values by patterns of the text: Issued: permitted, \"Hold*\": on_hold, /regular expression/. Whole values are tried first, then patterns in their order; case and spaces do not matter."`
	Default string   `key:"default" doc:"Value where there is no other."`
	Unit    string   `key:"unit" enum:"sqft,m2,thousand,million" doc:"Unit of numbers without one in their cell."`
	First   []Value  // the list form
}

// IsZero reports whether the value is not given.
func (v Value) IsZero() bool { return v.Of == "" && v.Default == "" && len(v.First) == 0 }

// Entry is a row of a table.
type Entry struct{ Pattern, Value string }

// Rule matches rows whose value is, or is not, among some.
type Rule struct {
	Of    string   `key:"of" required:"true" doc:"Template of the columns to look at."`
	Is    []string `key:"is" doc:"Patterns as in tables, one of which the value matches; \"\" is no value."`
	IsNot []string `key:"is_not" doc:"Patterns, none of which the value matches."`
	Why   string   `key:"why" doc:"Reason, for the report."`
}

// Project describes the fields of a project.
type Project struct {
	Name        Value `key:"name" doc:"Name; by default address and kind, or the number."`
	Description Value `key:"description" doc:"What is built. Phone numbers, e-mail addresses and labelled names are taken out."`
	Address     Value `key:"address" doc:"Street address."`
	City        Value `key:"city" doc:"City."`
	State       Value `key:"state" doc:"State or province."`
	Country     Value `key:"country" doc:"Country."`

	Status     Value `key:"status" doc:"Stage, disposition, or both (permitted cancelled), by a table of the city's statuses. A disposition alone has the stage permitted if the permit was issued, else filed. Without status the dates decide."`
	PrimaryUse Value `key:"primary_use" doc:"Use, by a table of the city's types or classes."`

	Units   Value `key:"residential_units" doc:"Number of dwellings."`
	Sqft    Value `key:"sqft" doc:"Floor area; unit m2 converts it."`
	Stories Value `key:"stories" doc:"Number of storeys."`
	Cost    Value `key:"cost" doc:"Estimated cost."`

	Filed     Value `key:"filed_at" doc:"Day of the application."`
	Permitted Value `key:"permitted_at" doc:"Day of issue."`
	Completed Value `key:"completed_at" doc:"Day of completion; of a permit that stopped, the day it ended."`
	Updated   Value `key:"updated_at" doc:"Day of the last change of the row."`

	Location Location `key:"location" doc:"Where it is."`
	URL      Value    `key:"url" doc:"Web page of the permit."`
}

// Location describes where a project is.
type Location struct {
	Latitude  Value    `key:"latitude" doc:"Degrees north."`
	Longitude Value    `key:"longitude" doc:"Degrees east."`
	Point     Value    `key:"point" doc:"Both in one cell: (41.88, -87.62) is latitude first, POINT (-87.62 41.88) longitude first."`
	X         Value    `key:"x" doc:"Easting in a projected system."`
	Y         Value    `key:"y" doc:"Northing in a projected system."`
	EPSG      int      `key:"epsg" doc:"EPSG code of the system of x and y, such as 26917 (UTM zone 17N) or 2277 (Texas Central, US survey feet)."`
	Ignore    []string `key:"ignore" doc:"Points that mean no place, such as a geocoder's fallback: 30.267153, -97.7430608."`
	Within    []string `key:"within" doc:"Box around all places of the source: south, west, north, east in degrees. Points beyond it are unknown, and counted."`
}

// Firm describes the participants of a permit.
type Firm struct {
	Name     Value  `key:"name" required:"true" doc:"The name. With numbered, # in columns is the number: {CONTRACTOR_#_NAME}."`
	Type     Value  `key:"type" required:"true" doc:"Account type: a constant, or a table of the city's roles. none is nobody who takes part."`
	Numbered int    `key:"numbered" doc:"How many columns of this kind there are: # in the templates of this entry is 1, 2, … up to it."`
	Cell     string `key:"cell" enum:"name,firm,person-firm,firm-person,list,labelled" doc:"What is in the cell: name (default) is a firm or a person, which rules tell apart; firm is always a firm; person-firm is 'Jane Doe, Acme Inc'; firm-person the other way round; list has several, separated by semicolons, bars or line ends; labelled is a list in which each has its role, 'Contractor: Acme Inc', which the table of type is asked for."`
	Phone    Value  `key:"phone" doc:"Phone of the firm; of persons none is kept."`
	City     Value  `key:"city" doc:"City of the firm; that of the projects by default only if it says so."`
	State    Value  `key:"state" doc:"State or province of the firm."`
	Country  Value  `key:"country" doc:"Country of the firm."`
	Persons  string `key:"persons" enum:"leave_out,keep" doc:"Private persons: leave_out (default), or keep as records, which needs why."`
	Why      string `key:"why" doc:"Why private persons are kept: the law or agreement that allows it."`
}

// Changes describes how a later file changes an earlier one.
type Changes struct {
	Complete bool   `key:"complete" doc:"The file has all permits: those of the state that it lacks are gone. A pulled part never is complete."`
	Cost     string `key:"cost" doc:"Share by which a cost must change for a signal, such as 5%, which is the default."`
	Link     string `key:"link" enum:"rules,spelling" doc:"Names of firms: rules (default) take spellings of one firm for one; spelling compares them without case and spaces alone."`
}

// Pull describes where the data is fetched.
type Pull struct {
	Interface string `key:"interface" enum:"soda,arcgis" doc:"soda: Socrata's SODA; arcgis: a layer of an ArcGIS FeatureServer or MapServer."`
	URL       string `key:"url" doc:"Address: https://data.example.gov/resource/abcd-1234, or the layer: https://…/FeatureServer/0."`
	Token     string `key:"token" doc:"Environment variable with the app token, which goes to this host only."`
	Changed   string `key:"changed" doc:"Column with the time of the last change, so that only newer rows are fetched; of SODA :updated_at by default."`
	Where     string `key:"where" doc:"Condition in the language of the interface."`
	Page      int    `key:"page" doc:"Rows of a request; 5000 by default, of ArcGIS what the server allows."`
}
