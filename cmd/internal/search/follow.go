package search

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
)

// Follow is `atlas follow`.
type Follow struct {
	apiAccess
	creditLimit

	Dataset  string        `arg:"" enum:"accounts,contacts,projects,signals" help:"Global dataset: accounts, contacts, projects, signals."`
	Filter   []string      `short:"f" sep:"none" placeholder:"KEY=VALUE" help:"Condition on a field of the record; may be repeated, see above."`
	Dir      string        `type:"path" placeholder:"FOLDER" help:"Keep the records in files of FOLDER/DATASET."`
	Postgres string        `env:"ATLAS_FOLLOW_POSTGRES_URL" placeholder:"URL" help:"Keep the records in a table of this Postgres database instead."`
	Table    string        `placeholder:"NAME" help:"The table; it is created if it is missing."`
	Once     bool          `help:"End when the copy is equal to the data, instead of following on."`
	Verify   bool          `help:"Then read all records again, compare them with the copy, and end."`
	Wait     time.Duration `default:"2m" placeholder:"DURATION" help:"How long --verify waits, where it finds a difference, for changes that a load or a delta has made and not published yet, 0s to 24h (default: 2m)."`
	Restart  bool          `help:"Read all records anew, and replace what is there."`
	Yes      bool          `short:"y" help:"Do not ask before reading many records."`
}

// Exit statuses of atlas follow.
const (
	differentStatus = 3
	tooOldStatus    = 5
)

// Help is shown below the options.
func (Follow) Help() string {
	return `Keeps a copy of a dataset equal to it: reads all records once, and then what changed. Each record costs a credit. Whatever ends it, kill -9 included, the same command goes on where it stopped.

With --dir the records are lines of 256 files, FOLDER/DATASET/00.ndjson to ff.ndjson, by the first two digits of their ids, sorted by id. Each file is replaced as a whole; files without records are removed. With --postgres the table has the columns id uuid, record jsonb and updated_at timestamptz, when the row was last written. Tables NAME_follow and NAME_staged beside it hold the state. A copy is complete when the first reading ends; --restart leaves the copy as it was until then, and what has not changed untouched.

--filter takes the forms of atlas search, for fields of the record itself: stage=permitted, name=garage, name==garage, cost=1000..50000, JSON. The service reports no changes of other conditions. A record that no longer matches is removed.

Status: 0 equal to the data (--once, --verify), 1 failed, 2 arguments make no sense, 3 the copy is damaged, or --verify found a difference, 4 stopped at a limit of credits, 5 the changes since the last run are no longer stored, so only --restart goes on, 130 interrupted; after 1, 4 and 130 the same command goes on.`
}

// tableName leaves room for the suffixes of the tables beside it.
var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,62}\.)?[a-z_][a-z0-9_]{0,55}$`)

func (c *Follow) Check() error {
	var f cli.Problems
	c.apiAccess.Check(&f)
	c.creditLimit.Check(&f)
	if c.Dir == "" && c.Table == "" && c.Postgres != "" {
		f.Add("--table is missing, the name of the table in --postgres (ATLAS_FOLLOW_POSTGRES_URL)")
	} else if (c.Dir == "") == (c.Table == "") {
		f.Add("give either --dir or --table")
	} else if c.Table == "" && c.Postgres != "" {
		f.Add("--postgres (ATLAS_FOLLOW_POSTGRES_URL) needs --table; --dir keeps the copy in files")
	}
	if c.Table != "" {
		f.URL("--postgres (ATLAS_FOLLOW_POSTGRES_URL)", c.Postgres, "postgres", "postgresql")
		if !tableName.MatchString(c.Table) {
			f.Add("--table must be NAME or SCHEMA.NAME of a-z, 0-9 and _, a name of at most 56 characters")
		}
	}
	if c.Wait < 0 || c.Wait > 24*time.Hour {
		f.Add("--wait must be 0s to 24h")
	}
	// Forms that need no field descriptions are checked here, so that all problems are
	// reported at once.
	for _, text := range c.Filter {
		if _, relations, err := parseFilters([]string{text}, func() ([]client.Field, error) { return nil, errUndescribed }); err != nil &&
			!errors.Is(err, errUndescribed) {
			if problems, ok := errors.AsType[cli.ConfigError](err); ok {
				f = append(f, problems...)
			}
		} else if relations != nil {
			f.Add("--filter %s: %s", text, ownFieldsOnly)
		}
	}
	return f.Err()
}

var errUndescribed = errors.New("the fields are not known yet")

const ownFieldsOnly = "the service reports no changes of related records; give fields of the record itself"

// Run follows to the end of the changes, or until it is interrupted.
func (c *Follow) Run(ctx context.Context, s *cli.Streams) error {
	shown := newExportProgress(s.Err)
	api, err := c.open(shown.observe)
	if err != nil {
		return err
	}
	wanted := searchOptions{conditions: conditions{Dataset: c.Dataset, Filter: c.Filter}, Sort: "created_at:asc"}
	t, q, err := wanted.resolve(ctx, api, nil, nil)
	if err != nil {
		return apiError(s.Err, err)
	}
	if q.Relations != nil {
		return cli.ConfigError{"--filter: " + ownFieldsOnly}
	}
	of, err := c.describe(ctx, api, exportOf{Dataset: c.Dataset, Search: q})
	if err != nil {
		return apiError(s.Err, err)
	}
	f := following{
		budget: c.budget(), source: api.Dataset(client.DatasetName(c.Dataset)), request: q, target: t, shown: shown,
		once: c.Once || c.Verify, wait: c.Wait,
	}
	f.agree = func(ctx context.Context) error { return c.agree(ctx, s.Err, &f) }
	place, err := c.openCopy(ctx, &f)
	if err != nil {
		return err
	}
	defer f.copy.close()
	if err := f.state.continues(of, place, c.Restart); err != nil {
		return err
	}
	err = f.run(ctx)
	if err == nil && c.Verify {
		err = f.verify(ctx)
	}
	return f.finish(s.Err, place, err)
}

// openCopy opens and locks the copy, reads its state, and returns its name for messages.
func (c *Follow) openCopy(ctx context.Context, f *following) (place string, err error) {
	if c.Dir != "" {
		folder, err := openFolder(c.Dir, c.Dataset, &f.state)
		if err != nil {
			return "", err
		}
		f.copy = folder
		return folder.dir, nil
	}
	table, err := openTable(ctx, c.Postgres, c.Table, &f.state)
	if err != nil {
		return "", err
	}
	f.copy = table
	return "the table " + c.Table, nil
}

// asksFrom is the price of a read above which confirmation is asked for on a terminal.
const asksFrom = 1_000

var errDeclined = errors.New("declined")

// agree says what reading all records costs, and asks for confirmation on a terminal.
func (c *Follow) agree(ctx context.Context, to io.Writer, f *following) error {
	cost, err := f.source.Cost(ctx, client.Search{Filters: f.request.Filters, Limit: 1})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(to, "reading %s %s costs as many credits\n", cli.Grouped(cost.Count), f.target.name)
	return f.shown.agree(ctx, cost.Count, c.Yes, "")
}

// confirm asks a question, and returns errDeclined for any answer but yes. It returns the
// error of ctx without waiting for an answer.
func confirm(ctx context.Context, from io.Reader, to io.Writer) error {
	_, _ = fmt.Fprint(to, "Go on? [y/N] ")
	answered := make(chan string, 1)
	go func() {
		answer := bufio.NewScanner(from)
		answer.Scan()
		answered <- answer.Text()
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case text := <-answered:
		if text == "y" || text == "yes" {
			return nil
		}
		return errDeclined
	}
}

// finish prints how the run ended and returns its exit status.
func (f *following) finish(to io.Writer, place string, err error) error {
	f.shown.clear()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format+"\n", args...) }
	spent, done := f.spending(f.state.Credits), fmt.Sprintf("%s rows and %s changes", cli.Grouped(f.state.Rows), cli.Grouped(f.state.Changes))
	different, isDifferent := errors.AsType[*differentError](err)
	_, isDamaged := errors.AsType[*damagedError](err)
	switch {
	case err == nil:
		say("%s is equal to %s: %s read; %s", place, f.target.name, done, spent)
	case isDifferent:
		say("%s is not equal to %s, and no change of that was reported within %v: %v; %s; while a load or a delta is under way, give more --wait, or verify again when it has ended; else --restart mends it", place, f.target.name, different.waited, err, spent)
		return cli.ExitError(differentStatus)
	case isDamaged:
		say("%s is not equal to %s: %v; %s; --restart mends it", place, f.target.name, err, spent)
		return cli.ExitError(differentStatus)
	case errors.Is(err, errDeclined):
		say("nothing was read")
		return cli.ExitError(1)
	case errors.Is(err, client.ErrCursorTooOld):
		say("the changes since the last run are no longer stored; %s; --restart reads all %s anew", spent, f.target.name)
		return cli.ExitError(tooOldStatus)
	case errors.Is(err, client.ErrBadRequest):
		say("the service does not know the cursor anymore; %s; --restart reads all %s anew", spent, f.target.name)
		return apiError(to, err)
	default:
		return stopped(to, err, done, spent)
	}
	return nil
}

// compactLine returns a record as one line.
func compactLine(record json.RawMessage) []byte {
	line, _ := ndjsonRows{}.append(nil, record)
	return line[:len(line)-1]
}
