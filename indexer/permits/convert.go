package permits

import (
	"context"

	"atlas/indexer/ndjson"
	"atlas/indexer/source/permit"
	"atlas/internal/fault"
)

// Convert reads permits and writes records. Equal input and options give equal files. It
// leaves out and reports unusable rows. It renames the files to their final names
// only at the end: after an error the folder is unchanged. Errors: BadRequest for a
// file that is not of the source, NotFound, Internal for a file that cannot be read or
// written, or the error of ctx.
func Convert(ctx context.Context, options Options) (*Report, error) {
	s, err := permit.Compile(options.Source)
	if err != nil {
		return nil, err
	}
	letters, err := newDeadLetters(options.DeadLetters)
	if err != nil {
		return nil, err
	}
	defer letters.abort()
	report := newReport(s.Name)
	from := &scan{source: s, report: report, letters: letters, several: len(options.Inputs) > 1, progress: options.Progress}
	if streams(options) {
		err = stream(ctx, options, s, from)
	} else {
		err = sorted(ctx, options, s, from)
	}
	if err != nil {
		return report, err
	}
	return report, letters.commit()
}

// streams reports whether rows can be converted one by one, in the order of the file,
// without knowledge of later rows.
func streams(o Options) bool {
	return o.Source.Repeats == "separate" && o.Source.Changes.Link == "spelling" && o.Since == "" && o.State == "" &&
		len(o.Accounts) == 0 && o.Decisions == ""
}

// converter writes projects and signals row by row. In memory it has only the firms, which
// are few.
type converter struct {
	source *permit.Source
	out    *ndjson.Folder
	firms  *firms
	cast   *cast // nil without the sample's additions
	object ndjson.Object
}

// stream converts row by row.
func stream(ctx context.Context, options Options, s *permit.Source, from *scan) error {
	c := &converter{source: s, firms: newFirms(s)}
	if !options.sample.IsZero() {
		c.cast = &cast{source: s, slugs: map[string]bool{}}
	}
	seen := map[string]struct{}{}
	err := from.inputs(ctx, options.Inputs, func(p *permit.Permit) error {
		if _, repeated := seen[p.Key]; repeated {
			from.report.RepeatedPermits++
		}
		seen[p.Key] = struct{}{}
		return c.start(options, func() error { return c.convert(p) })
	})
	if c.out != nil {
		defer c.out.Abort()
	}
	if err != nil {
		return err
	}
	from.report.Permits = int64(len(seen))
	return c.start(options, func() error { return c.finish(options, from.report) })
}

// start opens the folder before the first record: a file that does not belong to the source
// leaves no folder behind.
func (c *converter) start(options Options, then func() error) error {
	if c.out == nil {
		out, err := ndjson.CreateFolder(options.Dir, options.Compression)
		if err != nil {
			return err
		}
		c.out = out
	}
	return then()
}

func (c *converter) join(f *firm) {
	if c.cast != nil {
		c.cast.join(f)
	}
}

// convert writes the project and the signals of a permit.
func (c *converter) convert(p *permit.Permit) error {
	var on []*firm
	var accounts []string
	for _, y := range c.firms.parties(p, c.join) {
		on = append(on, y.firm)
		accounts = append(accounts, y.firm.id)
	}
	var contacts []string
	if c.cast != nil {
		contacts = c.cast.work(first(p), on)
	}
	if err := c.out.Projects.Write(projectLine(&c.object, c.source, p, accounts, contacts)); err != nil {
		return err
	}
	list := events(p, c.source.Title)
	if c.cast != nil {
		list = append(list, derivedEvents(p, c.source.Title)...)
	}
	for _, e := range list {
		if err := c.out.Signals.Write(signalLine(&c.object, c.source, subjectOf(c.source, p), e, accounts)); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the accounts and their people, and renames the files to their final names.
func (c *converter) finish(options Options, report *Report) error {
	if c.cast != nil {
		if err := c.invent(options.sample); err != nil {
			return err
		}
	}
	for _, f := range c.firms.order {
		if err := c.out.Accounts.Write(accountLine(&c.object, f, f.updated)); err != nil {
			return err
		}
		for _, m := range f.people.members {
			if err := c.out.Contacts.Write(m.line(&c.object, f)); err != nil {
				return err
			}
		}
	}
	if err := c.out.Commit(); err != nil {
		return err
	}
	if err := writeTerms(options.Dir, c.source.Description); err != nil {
		return err
	}
	report.Records = c.out.Counts()
	return nil
}

func notWritten(err error, path string) error {
	return fault.Wrap(err, fault.Internal, "%s cannot be written", path)
}
