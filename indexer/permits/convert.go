package permits

import (
	"context"
	"errors"
	"io"
	"time"

	"atlas/indexer/ndjson"
	"atlas/internal/fault"
)

// Options say where the records go.
type Options struct {
	// Dir is the folder of the four files. It is created if it is missing, and
	// files of the same names are replaced.
	Dir string
	// Compression of the files; none by default.
	Compression ndjson.Compression
	// Sample adds what the permits lack: a fictitious domain for each account, and
	// fictitious contacts.
	Sample bool
	// Progress, when set, is called after each row with the bytes of the input read
	// so far, accurate to a buffer.
	Progress func(bytes int64)
}

// MaxRefusals is how many refused rows a report shows; all are counted.
const MaxRefusals = 1000

// Report is the outcome of Convert.
type Report struct {
	// Rows were read, without the header.
	Rows int64 `json:"rows"`
	// Records written, by dataset.
	Records ndjson.Counts `json:"records"`
	// UnknownStatuses counts the rows with a status that has no rule; they
	// count as filed.
	UnknownStatuses map[string]int64 `json:"unknown_statuses"`
	// RepeatedPermits counts rows with the permit number of an earlier row. Both
	// are written, under one id.
	RepeatedPermits int64 `json:"repeated_permits"`
	// RefusedRows counts the rows that gave no records. Refused shows the first
	// MaxRefusals.
	RefusedRows int64     `json:"refused_rows"`
	Refused     []Refusal `json:"refused"`
}

// Refusal is a row that was left out, and why.
type Refusal struct {
	// Line the row begins on, counted from 1.
	Line int64 `json:"line"`
	// Field is the wrong column, "" when the row as a whole is not CSV.
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// Convert reads permits and writes records. Equal input gives equal files. It
// leaves out and reports unusable rows. It renames the files to their final names
// only at the end: after an error the folder is unchanged. Errors: BadRequest for a
// file that is not a permits file, Internal for a file that cannot be read or
// written, or the error of ctx.
func Convert(ctx context.Context, csv io.Reader, options Options) (Report, error) {
	report := Report{UnknownStatuses: map[string]int64{}, Refused: []Refusal{}}
	counted := &counter{from: csv}
	in := newRows(counted)
	_, fields, err := in.read()
	if err != nil {
		if _, ok := errors.AsType[*rowError](err); ok || errors.Is(err, io.EOF) {
			return report, fault.Wrap(err, fault.BadRequest, "this is not a permits file: its first row names no columns")
		}
		return report, fault.Wrap(err, fault.Internal, "the permits cannot be read")
	}
	head, err := parseHeader(fields)
	if err != nil {
		return report, err
	}
	in.width = head.width
	out, err := ndjson.CreateFolder(options.Dir, options.Compression)
	if err != nil {
		return report, err
	}
	defer out.Abort()

	c := converter{out: out, report: &report, firms: map[string]*firm{}, seen: map[string]struct{}{}}
	if options.Sample {
		c.cast = &cast{slugs: map[string]bool{}}
	}
	for {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		line, fields, err := in.read()
		if errors.Is(err, io.EOF) {
			break
		}
		bad, isRow := errors.AsType[*rowError](err)
		if err != nil && !isRow {
			return report, fault.Wrap(err, fault.Internal, "the permits cannot be read after line %d", line)
		}
		report.Rows++
		var p permit
		if bad == nil {
			p, bad = head.parse(fields)
		}
		if bad != nil {
			report.refuse(line, bad)
			continue
		}
		if err := c.convert(p); err != nil {
			return report, err
		}
		if options.Progress != nil {
			options.Progress(counted.n)
		}
	}
	if err := c.finish(); err != nil {
		return report, err
	}
	if err := out.Commit(); err != nil {
		return report, err
	}
	report.Records = out.Counts()
	return report, nil
}

func (r *Report) refuse(line int64, bad *rowError) {
	r.RefusedRows++
	if len(r.Refused) < MaxRefusals {
		r.Refused = append(r.Refused, Refusal{Line: line, Field: bad.field, Reason: bad.reason})
	}
}

// counter counts what is read from the input.
type counter struct {
	from io.Reader
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

// firm is an account under construction: its dates and roles are known after the
// last row.
type firm struct {
	id, key, name    string
	created, updated time.Time
	contracts        bool
	applies          bool
	people           staff
}

// converter writes projects and signals row by row. It keeps only the firms, which
// are few.
type converter struct {
	out    *ndjson.Folder
	report *Report
	firms  map[string]*firm
	order  []*firm // by first appearance
	seen   map[string]struct{}
	cast   *cast // nil without the sample's additions
	object ndjson.Object
}

// firmOf returns the firm of a name, nil for an empty one.
func (c *converter) firmOf(name string) *firm {
	key := firmKey(name)
	if key == "" {
		return nil
	}
	f := c.firms[key]
	if f == nil {
		f = &firm{id: id("accounts", key), key: key, name: name}
		c.firms[key] = f
		c.order = append(c.order, f)
		if c.cast != nil {
			c.cast.join(f)
		}
	}
	return f
}

// convert writes the project and the signals of a permit.
func (c *converter) convert(p permit) error {
	if _, again := c.seen[p.number]; again {
		c.report.RepeatedPermits++
	}
	c.seen[p.number] = struct{}{}
	stage, disposition, known := p.stageOf()
	if !known {
		c.report.UnknownStatuses[p.status]++
	}
	var firms []*firm
	if f := c.firmOf(p.applicant); f != nil {
		f.applies = true
		firms = append(firms, f)
	}
	gc := "unknown"
	if f := c.firmOf(p.contractor); f != nil {
		f.contracts = true
		gc = "assigned"
		if len(firms) == 0 || firms[0] != f {
			firms = append(firms, f)
		}
	}
	accounts := make([]string, 0, 2)
	for _, f := range firms {
		f.created = earlier(f.created, p.applied)
		f.updated = later(f.updated, p.latest())
		accounts = append(accounts, f.id)
	}
	var contacts []string
	if c.cast != nil {
		contacts = c.cast.work(p, firms)
	}
	project := id("projects", p.number)

	o := &c.object
	o.Reset()
	o.Text("id", project)
	o.Text("name", p.name())
	o.Text("description", p.description)
	o.Text("address", p.address)
	o.Text("city", "Calgary")
	o.Text("state", "AB")
	o.Text("country", "CA")
	o.Text("stage", stage)
	o.Text("disposition", disposition)
	o.Text("primary_use", p.primaryUse())
	if p.units != nil {
		o.Int("residential_units", *p.units)
	}
	optional(o, "sqft", p.sqft)
	optional(o, "cost", p.cost)
	o.Text("gc_status", gc)
	o.Time("filed_at", p.applied)
	o.Time("permitted_at", p.issued)
	if p.status == "Completed" {
		o.Time("completed_at", p.ended)
	}
	o.Time("detected_at", p.applied)
	o.List("account_ids", accounts)
	o.List("contact_ids", contacts)
	optional(o, "latitude", p.latitude)
	optional(o, "longitude", p.longitude)
	o.Time("created_at", p.applied)
	o.Time("updated_at", p.latest())
	if err := c.out.Projects.Write(o.Line()); err != nil {
		return err
	}
	return c.signals(p, project, accounts)
}

func (c *converter) signals(p permit, project string, accounts []string) error {
	for _, e := range p.events() {
		o := &c.object
		o.Reset()
		o.Text("id", id("signals", p.number+"/"+e.kind))
		o.Text("signal_type", e.kind)
		o.Text("title", e.title(p.name()))
		o.Text("summary", p.description)
		o.Text("project_id", project)
		o.Text("project_name", p.name())
		o.List("account_ids", accounts)
		o.Text("city", "Calgary")
		o.Text("state", "AB")
		o.Text("stage", e.stage)
		o.Time("occurred_at", e.at)
		o.Time("detected_at", e.at)
		o.Text("source", "City of Calgary building permits")
		o.Time("created_at", e.at)
		o.Time("updated_at", e.at)
		if err := c.out.Signals.Write(o.Line()); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the accounts and their people.
func (c *converter) finish() error {
	for _, f := range c.order {
		o := &c.object
		o.Reset()
		o.Text("id", f.id)
		o.Text("name", f.name)
		var types []string
		if f.applies {
			types = append(types, "developer")
		}
		if f.contracts {
			types = append(types, "general_contractor")
		}
		o.List("account_types", types)
		o.List("domains", f.people.domains)
		o.Text("city", "Calgary")
		o.Text("state", "AB")
		o.Text("country", "CA")
		o.Time("created_at", f.created)
		o.Time("updated_at", f.updated)
		if err := c.out.Accounts.Write(o.Line()); err != nil {
			return err
		}
		for _, m := range f.people.members {
			if err := c.out.Contacts.Write(m.line(o, f)); err != nil {
				return err
			}
		}
	}
	return nil
}

func optional(o *ndjson.Object, key string, value *float64) {
	if value != nil {
		o.Float(key, *value)
	}
}
