package permits

import (
	"atlas/indexer/ndjson"
	"atlas/indexer/source/permit"
)

// Bounds of the lists in a report; the counts are complete.
const (
	// MaxRefusals is how many rows and cells a report shows.
	MaxRefusals = 1000
	maxValues   = 1000 // of a field
	maxDoubts   = 1000
)

// Report is the outcome of Convert. It never has cells of columns about private persons.
type Report struct {
	Source string `json:"source"`
	// AsOf is the day of the files, "" if they do not say it.
	AsOf string `json:"as_of"`
	// Rows counts the rows read, without the header. Each is refused, skipped, or of one of
	// the Permits.
	Rows    int64 `json:"rows"`
	Permits int64 `json:"permits"`
	// Records written, by dataset.
	Records ndjson.Counts `json:"records"`
	// RepeatedPermits counts rows with the key of an earlier row.
	RepeatedPermits int64 `json:"repeated_permits"`
	// RefusedRows counts the rows that gave no records. Refused shows the first
	// MaxRefusals.
	RefusedRows int64     `json:"refused_rows"`
	Refused     []Refusal `json:"refused"`
	// SkippedRows counts the rows that the description leaves out, by reason.
	SkippedRows map[string]int64 `json:"skipped_rows"`
	// UnreadCells counts the cells that were taken as unknown. Unread shows the first
	// MaxRefusals.
	UnreadCells int64     `json:"unread_cells"`
	Unread      []Refusal `json:"unread"`
	// Fields counts the rows with each field of a project.
	Fields map[string]int64 `json:"fields"`
	// UnknownStatuses counts the rows with a status that has no rule, Unmapped those with
	// other values, by field and value.
	UnknownStatuses map[string]int64            `json:"unknown_statuses"`
	Unmapped        map[string]map[string]int64 `json:"unmapped"`
	// Names counts the names of participants by kind.
	Names Names `json:"names"`
	// Fallbacks counts points that do not mean a place, OffMap those beyond the source's
	// box, Scrubbed the rows whose texts contained personal data that was removed.
	Fallbacks int64 `json:"fallbacks"`
	OffMap    int64 `json:"off_map"`
	Scrubbed  int64 `json:"scrubbed"`
	// Links says which firms are one, nil if only equal spellings are.
	Links *Links `json:"links,omitempty"`
	// Changes counts the changes of a delta, nil without an earlier state.
	Changes *Changes `json:"changes,omitempty"`
	// Notes are for the operator of the conversion.
	Notes []string `json:"notes,omitempty"`
}

// Names counts names of participants. Persons and doubtful names do not become records.
type Names struct {
	Firms    int64 `json:"firms"`
	Persons  int64 `json:"persons"`
	Doubtful int64 `json:"doubtful"`
	Retained int64 `json:"retained_persons"`
}

// Changes counts the permits of a delta, and its signals by type.
type Changes struct {
	New       int64            `json:"new"`
	Changed   int64            `json:"changed"`
	Unchanged int64            `json:"unchanged"`
	Gone      int64            `json:"gone"`
	Older     int64            `json:"older"`
	Signals   map[string]int64 `json:"signals"`
}

// Refusal is a row that was left out, or a cell that was read as unknown, and why.
type Refusal struct {
	File string `json:"file,omitempty"`
	// Line is the line on which the row begins, counted from 1; of JSON and workbooks the
	// number of the record or row.
	Line int64 `json:"line"`
	// Field is the wrong column, "" when the row as a whole does not match its format.
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

func newReport(source string) *Report {
	return &Report{Source: source, Refused: []Refusal{}, Unread: []Refusal{}, SkippedRows: map[string]int64{}, Fields: map[string]int64{},
		UnknownStatuses: map[string]int64{}, Unmapped: map[string]map[string]int64{}}
}

// row adds the counts and refusals of a permit's row.
func (r *Report) row(file string, p *permit.Permit) {
	for _, t := range p.Troubles {
		r.UnreadCells++
		if len(r.Unread) < MaxRefusals {
			r.Unread = append(r.Unread, Refusal{file, p.Line, t.Column, t.Reason})
		}
	}
	for _, u := range p.Unmapped {
		r.unmapped(u)
	}
	r.Names.Firms += int64(p.Who.Firms)
	r.Names.Persons += int64(p.Who.Persons)
	r.Names.Doubtful += int64(p.Who.Doubtful)
	r.Names.Retained += int64(p.Who.Retained)
	for _, f := range fields(p) {
		if f.known {
			r.Fields[f.name]++
		}
	}
	for n, is := range map[*int64]bool{&r.Fallbacks: p.Fallback, &r.OffMap: p.OffMap, &r.Scrubbed: p.Scrubbed} {
		if is {
			*n++
		}
	}
}

func (r *Report) unmapped(u permit.Unmapped) {
	counts := r.UnknownStatuses
	if u.Field != "status" {
		if counts = r.Unmapped[u.Field]; counts == nil {
			counts = map[string]int64{}
			r.Unmapped[u.Field] = counts
		}
	}
	value := u.Value
	if _, known := counts[value]; !known && len(counts) >= maxValues {
		value = "…"
	}
	counts[value]++
}

// known says whether a permit has a field.
type known struct {
	name  string
	known bool
}

// fields lists the fields of a project in the order of the record.
func fields(p *permit.Permit) []known {
	return []known{
		{"name", p.Name != ""}, {"description", p.Description != ""}, {"address", p.Address != ""},
		{"city", p.City != ""}, {"state", p.State != ""},
		{"country", p.Country != ""}, {"stage", p.Stage != ""}, {"disposition", p.Disposition != ""}, {"primary_use", p.PrimaryUse != ""},
		{"residential_units", p.Units != nil}, {"sqft", p.Sqft != nil}, {"stories", p.Stories != nil}, {"cost", p.Cost != nil},
		{"filed_at", !p.Filed.IsZero()}, {"permitted_at", !p.Permitted.IsZero()}, {"completed_at", !p.Completed().IsZero()},
		{"account_ids", len(p.Parties) > 0}, {"latitude", p.Latitude != nil}, {"source_url", p.URL != ""},
	}
}

// FieldNames lists the fields that Fields counts, in the order of the record.
func FieldNames() (names []string) {
	for _, f := range fields(&permit.Permit{}) {
		names = append(names, f.name)
	}
	return names
}
