package permits

import (
	"context"
	"errors"
	"io"
	"slices"
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
	// Sample, when set, adds what the permits lack: signals derived from them, a
	// fictitious domain for each account, and fictitious contacts, firms and projects,
	// whose dates lead up to this day.
	Sample time.Time
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

// Convert reads permits and writes records. Equal input and options give equal files. It
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
	if !options.Sample.IsZero() {
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
	if c.cast != nil {
		if err := c.invent(options.Sample); err != nil {
			return report, err
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

// firm is an account under construction: its dates and types are known after the
// last project.
type firm struct {
	id, key, name            string
	types                    []string
	description, phone, city string
	created, updated         time.Time
	people                   staff
}

func (f *firm) is(kind string) {
	if !slices.Contains(f.types, kind) {
		f.types = append(f.types, kind)
		slices.Sort(f.types)
	}
}

// works notes that the firm has a project with these first and last dates.
func (f *firm) works(first, last time.Time) {
	f.created = earlier(f.created, first)
	f.updated = later(f.updated, last)
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
		f = &firm{id: id("accounts", key), key: key, name: name, city: calgaryCity}
		c.firms[key] = f
		c.add(f)
	}
	return f
}

func (c *converter) add(f *firm) {
	c.order = append(c.order, f)
	if c.cast != nil {
		c.cast.join(f)
	}
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
		f.is("developer")
		firms = append(firms, f)
	}
	gc := "unknown"
	if f := c.firmOf(p.contractor); f != nil {
		f.is("general_contractor")
		gc = "assigned"
		if len(firms) == 0 || firms[0] != f {
			firms = append(firms, f)
		}
	}
	accounts := make([]string, 0, 2)
	for _, f := range firms {
		f.works(p.applied, p.latest())
		accounts = append(accounts, f.id)
	}
	var contacts []string
	if c.cast != nil {
		contacts = c.cast.work(p.applied, firms)
	}
	project := id("projects", p.number)

	o := &c.object
	o.Reset()
	o.Text("id", project)
	o.Text("name", p.name())
	o.Text("description", p.description)
	o.Text("address", p.address)
	o.Text("city", calgaryCity)
	o.Text("state", province)
	o.Text("country", country)
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
	subject := subject{key: p.number, id: project, name: p.name(), city: calgaryCity}
	for _, e := range p.events() {
		e.source, e.summary = citySource, p.description
		if err := c.signal(subject, e, accounts); err != nil {
			return err
		}
	}
	if c.cast == nil {
		return nil
	}
	for _, e := range p.derivedEvents() {
		if err := c.signal(subject, e, accounts); err != nil {
			return err
		}
	}
	return nil
}

// subject is the project of a signal.
type subject struct {
	key, id, name, city string
}

func (c *converter) signal(of subject, e event, accounts []string) error {
	detected := e.at
	if !e.detected.IsZero() {
		detected = e.detected
	}
	o := &c.object
	o.Reset()
	o.Text("id", id("signals", of.key+"/"+e.kind+e.nth))
	o.Text("signal_type", e.kind)
	o.Text("title", e.title(of.name))
	o.Text("summary", e.summary)
	o.Text("project_id", of.id)
	o.Text("project_name", of.name)
	o.List("account_ids", accounts)
	o.Text("city", of.city)
	o.Text("state", province)
	o.Text("stage", e.stage)
	o.Time("occurred_at", e.at)
	o.Time("detected_at", detected)
	o.Text("source", e.source)
	o.Time("created_at", detected)
	o.Time("updated_at", detected)
	return c.out.Signals.Write(o.Line())
}

// finish writes the accounts and their people.
func (c *converter) finish() error {
	for _, f := range c.order {
		o := &c.object
		o.Reset()
		o.Text("id", f.id)
		o.Text("name", f.name)
		o.List("account_types", f.types)
		o.List("domains", f.people.domains)
		o.Text("phone", f.phone)
		o.Text("description", f.description)
		o.Text("city", f.city)
		o.Text("state", province)
		o.Text("country", country)
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
