package pull

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/source"
	"atlas/internal/durable"
	"atlas/internal/fault"
)

// Options say what is fetched, and where it is stored.
type Options struct {
	Source *source.Description
	// Dir is the folder of the file and of the state from which the next pull continues.
	Dir string
	// Token is the app token, "" for none. It is only sent to the host of the source.
	Token string
	// All fetches all rows, even if an earlier pull is known.
	All bool
	// Client sends the requests; by default one with timeouts.
	Client *http.Client
	// Wait waits between attempts; by default it sleeps.
	Wait func(ctx context.Context, d time.Duration) error
	// Progress, when set, is called after each page with the rows so far, and the total
	// that the interface reports, 0 if it does not.
	Progress func(rows, total int64)
}

// Report is the outcome of a pull.
type Report struct {
	Source string `json:"source"`
	File   string `json:"file"`
	Rows   int64  `json:"rows"`
	// Total is the number of rows that the interface reports, 0 if it does not.
	Total int64 `json:"total"`
	// Part means that only rows changed since Since were requested.
	Part    bool   `json:"part"`
	Since   string `json:"since,omitempty"`
	Resumed bool   `json:"resumed"`
	Retries int    `json:"retries"`
}

// state is pull.json: the progress of a pull, and where the last one ended.
type state struct {
	Address string `json:"address"`
	Where   string `json:"where"`
	// Newest is the last change that a finished pull saw.
	Newest string `json:"newest,omitempty"`
	// The pull in progress.
	Running bool   `json:"running"`
	Since   string `json:"since,omitempty"`
	Seen    string `json:"seen,omitempty"` // the last change that it saw
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
}

// page is a part of the rows.
type page struct {
	rows []jsontext.Value
	more bool
	// newest is the last change among them, "" if unknown.
	newest string
}

// service is an interface of a city.
type service interface {
	// page fetches rows from an offset that changed after since ("" for all).
	page(ctx context.Context, offset int64, since string) (page, error)
	// count returns the number of these rows. It is called once.
	count(ctx context.Context, since string) (int64, error)
}

const stateName = "pull.json"

// Pull fetches the rows. Errors: BadRequest for a source without an address, or one that
// the server refuses; Unavailable for a server that does not answer; Internal for files.
func Pull(ctx context.Context, o Options) (Report, error) {
	p := o.Source.Pull
	if p.Interface == "" {
		return Report{}, fault.New(fault.BadRequest, "the description of %s has no pull with an interface and an address", o.Source.Name)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil { // #nosec G301 -- as folders of records
		return Report{}, fault.Wrap(err, fault.Internal, "%s cannot be created", o.Dir)
	}
	r := &run{options: o, path: filepath.Join(o.Dir, stateName), report: Report{Source: o.Source.Name}}
	r.client = &client{http: o.Client, wait: o.Wait, token: o.Token, retries: &r.report.Retries}
	if err := r.client.prepare(p); err != nil {
		return r.report, err
	}
	if p.Interface == "soda" {
		r.service = &soda{client: r.client, of: p}
	} else {
		r.service = &arcgis{client: r.client, of: p}
	}
	lock, err := durable.Lock(r.path+".lock", 0o644)
	if errors.Is(err, durable.ErrLocked) {
		return r.report, fault.New(fault.BadRequest, "another pull is writing to %s", o.Dir)
	}
	if err != nil {
		return r.report, fault.Wrap(err, fault.Internal, "%s cannot be locked", o.Dir)
	}
	defer durable.Unlock(lock) //nolint:errcheck // a lock
	return r.report, r.all(ctx)
}

// run is one pull.
type run struct {
	options Options
	path    string
	client  *client
	service service
	state   state
	report  Report
}

func (r *run) all(ctx context.Context) error {
	if err := r.begin(); err != nil {
		return err
	}
	name := r.options.Source.Name + ".ndjson"
	if r.state.Since != "" {
		name = r.options.Source.Name + "-changed.ndjson"
	}
	r.report.File = filepath.Join(r.options.Dir, name)
	r.report.Since, r.report.Part = r.state.Since, r.state.Since != ""
	file, err := os.OpenFile(r.report.File+".partial", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return r.failed(err)
	}
	defer file.Close() //nolint:errcheck // closed below
	if err := file.Truncate(r.state.Bytes); err != nil {
		return r.failed(err)
	}
	if _, err := file.Seek(r.state.Bytes, io.SeekStart); err != nil {
		return r.failed(err)
	}
	for more := true; more; {
		if more, err = r.next(ctx, file); err != nil {
			return err
		}
	}
	if err := errors.Join(file.Close(), os.Rename(r.report.File+".partial", r.report.File), durable.SyncFolder(r.options.Dir)); err != nil {
		return r.failed(err)
	}
	r.report.Rows, r.report.Total = r.state.Rows, max(r.report.Total, r.state.Rows)
	r.state = state{Address: r.state.Address, Where: r.state.Where, Newest: max(r.state.Seen, r.state.Newest)}
	return r.save()
}

// begin reads the state of an earlier pull. It ignores one of another address or condition.
func (r *run) begin() error {
	p := r.options.Source.Pull
	if _, err := durable.ReadJSON(r.path, &r.state); err != nil {
		return fault.Wrap(err, fault.Internal, "%s cannot be read", r.path)
	}
	if r.state.Address != p.URL || r.state.Where != p.Where {
		r.state = state{Address: p.URL, Where: p.Where}
	}
	if r.report.Resumed = r.state.Running && !(r.options.All && r.state.Since != ""); r.report.Resumed {
		return nil
	}
	r.state = state{Address: p.URL, Where: p.Where, Newest: r.state.Newest, Running: true, Since: r.state.Newest}
	if r.options.All {
		r.state.Since = ""
	}
	return r.save()
}

// next fetches a page and appends it to the file. The state is written after the page is on
// disk, so that an interrupted pull has each page once.
func (r *run) next(ctx context.Context, file *os.File) (more bool, err error) {
	found, err := r.service.page(ctx, r.state.Rows, r.state.Since)
	if err != nil {
		return false, err
	}
	w := bufio.NewWriter(file)
	for _, row := range found.rows {
		_, _ = w.Write(row) // Flush has the error
		_ = w.WriteByte('\n')
		r.state.Bytes += int64(len(row)) + 1
	}
	if err := errors.Join(w.Flush(), file.Sync()); err != nil {
		return false, r.failed(err)
	}
	r.state.Rows += int64(len(found.rows))
	r.state.Seen = max(r.state.Seen, found.newest)
	if r.report.Total == 0 && found.more { // 0: not reported, which is not an error
		r.report.Total, _ = r.service.count(ctx, r.state.Since)
	}
	if r.options.Progress != nil {
		r.options.Progress(r.state.Rows, r.report.Total)
	}
	return found.more && len(found.rows) > 0, r.save()
}

func (r *run) save() error {
	if err := durable.ReplaceJSON(r.path, r.state); err != nil {
		return fault.Wrap(err, fault.Internal, "%s cannot be written", r.path)
	}
	return nil
}

func (r *run) failed(err error) error {
	return fault.Wrap(err, fault.Internal, "%s cannot be written", r.report.File)
}
