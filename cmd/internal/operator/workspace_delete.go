package operator

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/internal/elastic"
	"atlas/internal/fault"
	"atlas/internal/timer"
	"atlas/service/credits"
	"atlas/workspace"
	"atlas/workspace/auditlog"
	"atlas/workspace/people"
	"atlas/workspace/postgres"
)

// closing is how long requests continue that a server admitted before it knew that the
// workspace is closed.
const closing = 6 * time.Second

type workspaceDeleteCmd struct {
	database
	cli.Elastic

	RedisURL    string       `name:"redis-url" env:"ATLAS_REDIS_URL" placeholder:"URL" help:"Redis, as for atlas serve."`
	RedisPrefix string       `name:"redis-prefix" env:"ATLAS_REDIS_PREFIX" default:"atlas:credits:" help:"What the names of all Redis keys begin with (default: atlas:credits:)."`
	AuditKey    string       `name:"audit-key" env:"ATLAS_AUDIT_KEY" type:"existingfile" placeholder:"FILE" help:"The key of the servers, in PEM, which signs the end of the workspace's audit log."`
	ID          workspace.ID `arg:"" help:"Id of the workspace."`
	Confirm     string       `placeholder:"NAME" help:"Delete it: the name of the workspace. Without it nothing is changed, and what is in the workspace is listed."`
	Export      string       `type:"path" placeholder:"DIR" help:"Write everything to this new folder first."`
}

// Help is shown below the options.
func (workspaceDeleteCmd) Help() string {
	return `Deletes a workspace with everything in it: rows in Postgres, documents of held records in all generations, keys of Redis, sessions and accounts of members who are in no other workspace. Requests get 403 from the beginning. Of its audit log the end of the chain stays. Killed half-way, run it again to finish. At the end everything is searched for the id, and what is left is listed with the reason.

Status: 0 deleted, or listed; 1 not finished (run it again to finish); 2 arguments or configuration make no sense; 3 something is left that should not be.`
}

// deletion is a run of the command.
type deletion struct {
	*workspaceDeleteCmd
	system *postgres.System
	es     *elastic.Client
	redis  redis.UniversalClient
	key    ed25519.PrivateKey
	say    func(format string, args ...any)
}

// Run lists the content of the workspace, or deletes it.
func (c *workspaceDeleteCmd) Run(ctx context.Context, s *cli.Streams) error {
	d := deletion{workspaceDeleteCmd: c, say: func(format string, args ...any) { _, _ = fmt.Fprintf(s.Err, format+"\n", args...) }}
	if err := d.open(ctx); err != nil {
		return err
	}
	defer d.system.Close()
	defer func() { _ = d.redis.Close() }()
	report, err := d.run(ctx)
	if err != nil {
		return wrongRole(cli.Explain(err))
	}
	var rows [][]string
	for _, p := range report.Places {
		rows = append(rows, []string{p.Store, p.Place, strconv.FormatInt(p.Count, 10), p.Why})
	}
	if err := c.answer(s.Out, report, "STORE PLACE COUNT WHY", rows); err != nil {
		return err
	}
	d.printRest(report)
	for _, p := range report.Places {
		if report.Deleted && p.Unexpected {
			return cli.ExitError(leftStatus)
		}
	}
	return nil
}

// deletionLease is the maximum time that another run waits for a killed one.
const deletionLease = 10 * time.Second

// leftStatus is the status of a deletion that left data behind.
const leftStatus = 3

func (d *deletion) open(ctx context.Context) (err error) {
	var f cli.Problems
	d.Elastic.Check(&f)
	if d.RedisURL == "" {
		f.Add("--redis-url (ATLAS_REDIS_URL) is required, such as redis://127.0.0.1:6379/0")
	} else if d.redis, err = credits.Open(d.RedisURL); err != nil {
		f.Add("--redis-url (ATLAS_REDIS_URL): %v, such as redis://127.0.0.1:6379/0", err)
	}
	if d.AuditKey != "" {
		text, err := os.ReadFile(d.AuditKey)
		if err == nil {
			d.key, _, err = auditlog.ReadKey(text)
		}
		if err == nil && d.key == nil {
			err = fmt.Errorf("it is the public half: the private key signs")
		}
		if err != nil {
			f.Add("--audit-key (ATLAS_AUDIT_KEY): %v", err)
		}
	}
	if err := f.Err(); err != nil {
		return err
	}
	if d.es, err = d.Open(); err != nil {
		return err
	}
	d.system, err = postgres.OpenSystem(ctx, d.PostgresSystemURL, postgres.Options{
		MaxConns: 2, Command: cli.CommandOf(ctx), Account: account(), StatementTimeout: 10 * time.Minute,
	})
	return err
}

// WorkspaceDeletion is what the command found or did, as --json prints it.
type WorkspaceDeletion struct {
	ID      workspace.ID `json:"id"`
	Name    string       `json:"name,omitempty"`
	Deleted bool         `json:"deleted"`
	// Exported is the folder to which everything was written first.
	Exported string `json:"exported,omitempty"`
	// Places are where data of the workspace is; of a deleted one where it remains, and
	// why.
	Places []Place `json:"places"`
	// Accounts are members who are in no other workspace; of a deleted one those whose
	// account remains, because they made something elsewhere.
	Accounts []workspace.UserID `json:"accounts"`
	// Audit is the end of its audit log.
	Audit *ChainEnd `json:"audit,omitempty"`
}

// ChainEnd is the last event of a chain of the audit log.
type ChainEnd struct {
	Number int64  `json:"number"`
	Digest string `json:"digest"`
	Signed bool   `json:"signed"`
}

// Place has data of a workspace.
type Place struct {
	Store      string `json:"store"`
	Place      string `json:"place"`
	Count      int64  `json:"count"`
	Why        string `json:"why"`
	Unexpected bool   `json:"unexpected"`
}

func (d *deletion) run(ctx context.Context) (r WorkspaceDeletion, err error) {
	r.ID = d.ID
	if d.Confirm == "" {
		_, gone, err := d.look(ctx, &r)
		switch {
		case err != nil:
			return r, err
		case d.Export != "":
			return r, cli.ConfigError{"--export goes with --confirm"}
		case !gone:
			return d.list(ctx, r)
		}
		return d.remains(ctx, r)
	}
	// Another run may be in progress: the content is read when it has ended.
	err = patient{d.system}.WithLease(ctx, "deletion of "+d.ID.String(), account(), deletionLease, func(ctx context.Context) error {
		state, gone, err := d.look(ctx, &r)
		switch {
		case err != nil:
			return err
		case !gone && d.Confirm != r.Name:
			return cli.ConfigError{fmt.Sprintf("the workspace is called %q: --confirm %q deletes it", r.Name, r.Name)}
		case d.Export != "" && !state.Begun.IsZero():
			return cli.ConfigError{"its deletion has begun, so that not everything is there anymore: leave out --export"}
		case !state.Ended.IsZero():
			return d.system.SignEnd(ctx, d.ID, d.sign)
		}
		if err := d.checkKey(ctx); err != nil {
			return err
		}
		return d.delete(ctx, gone, &r)
	})
	if err != nil {
		return r, err
	}
	return d.remains(ctx, r)
}

// look reads the progress of the deletion, and whether the workspace's own row is gone.
func (d *deletion) look(ctx context.Context, r *WorkspaceDeletion) (state postgres.Deletion, gone bool, err error) {
	if state, err = d.system.DeletionOf(ctx, d.ID); err != nil {
		return state, false, err
	}
	w, err := d.system.WorkspaceByID(ctx, d.ID)
	gone = fault.CodeOf(err) == fault.NotFound && !state.Begun.IsZero()
	if err != nil && !gone {
		return state, gone, err
	}
	r.Name = w.Name
	if !gone && !state.Ended.IsZero() {
		state = postgres.Deletion{} // of another deletion with this id
	}
	return state, gone, nil
}

// checkKey refuses to leave the end of a log unsigned if others are signed.
func (d *deletion) checkKey(ctx context.Context) error {
	if d.key != nil {
		return nil
	}
	signs, err := d.system.Signs(ctx)
	if err == nil && signs {
		err = cli.ConfigError{"--audit-key (ATLAS_AUDIT_KEY) is required, because the servers sign: it signs the end of the workspace's audit log"}
	}
	return err
}

// delete deletes in an order in which the remaining data shows what is left to do.
func (d *deletion) delete(ctx context.Context, gone bool, r *WorkspaceDeletion) error {
	if !gone {
		if err := d.closeAndExport(ctx, r); err != nil {
			return err
		}
	}
	d.say("deleting its rows")
	if err := d.system.DeleteWorkspace(ctx, d.ID); err != nil {
		return err
	}
	err := d.system.ForgetChain(ctx, d.ID, d.system.Clock().Now(), d.sign)
	if errors.Is(err, postgres.ErrBrokenChain) {
		d.say("its audit log stays: %v", err)
	} else if err != nil {
		return err
	}
	d.say("deleting its documents, and what Redis has of it")
	if err := d.deleteDocuments(ctx); err != nil {
		return err
	}
	state, err := d.system.DeletionOf(ctx, d.ID)
	if err != nil {
		return err
	}
	if r.Accounts, err = d.system.KnownUsers(ctx, state.Users); err != nil {
		return err
	}
	without := slices.DeleteFunc(state.Users, func(id workspace.UserID) bool { return slices.Contains(r.Accounts, id) })
	if err := d.deleteKeys(ctx, without); err != nil {
		return err
	}
	return d.system.EndDeletion(ctx, d.ID)
}

// closeAndExport ends all access, so that nothing changes any more, and writes the export.
func (d *deletion) closeAndExport(ctx context.Context, r *WorkspaceDeletion) error {
	if d.Export != "" {
		if err := d.checkFolder(); err != nil {
			return err
		}
	}
	free := workspace.Free
	directory := people.NewDirectory(d.system, d.system.Clock().Now)
	if _, err := directory.SetWorkspace(ctx, d.ID, people.WorkspaceChange{Plan: &free}); err != nil {
		return err
	}
	d.say("closing the workspace")
	if err := timer.Sleep(ctx, closing); err != nil {
		return err
	}
	if d.Export == "" {
		return nil
	}
	d.say("writing everything to %s", d.Export)
	r.Exported = d.Export
	return d.export(ctx, r.Name)
}

// sign signs the end of the chain.
func (d *deletion) sign(h *auditlog.Head, _ auditlog.Checkpoint) {
	if d.key != nil {
		h.Checkpoint.Sign(h.Chain, d.key)
	}
}

// printRest prints what the table does not contain.
func (d *deletion) printRest(r WorkspaceDeletion) {
	switch {
	case !r.Deleted && r.Name == "":
		d.say("its deletion is not finished: --confirm with its name goes on")
		return
	case !r.Deleted:
		d.say("nothing was changed; accounts of members who are in no other workspace: %d", len(r.Accounts))
		d.say("--confirm %q deletes all of it; --export DIR writes it to a folder first", r.Name)
		return
	case len(r.Accounts) > 0:
		d.say("accounts that stay, because they made something in a workspace that they had left: %v", r.Accounts)
	}
	if r.Audit != nil {
		d.say("the audit log ended with event %d, digest %s", r.Audit.Number, r.Audit.Digest)
	}
	d.say("not searched: the write-ahead log and dead rows of Postgres, backups, snapshots, replicas, logs, exports and copies of followers")
}
