// Package jobs is the queue of work outside of requests: delivering a webhook, sending an
// e-mail. A job is a row in Postgres, written in the transaction that causes it, so neither
// exists without the other. Any number of servers take jobs from it; a job of a server that
// died is due when its lease ends.
//
// A job runs at least once. Its Handler must tolerate a second run of the same job: it
// passes on the job's ID, so that a receiver recognizes the duplicate.
//
// The package of the Handler defines what a job does. This is not a scheduler of regular
// work, which has a lease of its own (workspace/postgres). docs/decisions/028.
package jobs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"atlas/workspace"
)

type jobKind struct{}

// ID identifies a job in its workspace.
type ID = workspace.TypedID[jobKind]

// NewID returns a new random id. IDFor is for jobs that may be added twice.
func NewID() ID { return ID(workspace.NewUUID()) }

// IDFor returns the id of the job for an event. It is always the same for a lane and an event,
// so adding the job twice changes nothing.
func IDFor(lane uuid.UUID, event string) ID { return ID(uuid.NewSHA1(lane, []byte(event))) }

// Kind says which Handler runs a job.
type Kind string

// State is the state of a job.
type State string

// The states of a job.
const (
	Pending State = "pending"
	Done    State = "done"
	Failed  State = "failed"
)

// States returns every State.
func States() []State { return []State{Pending, Done, Failed} }

// New is a job to add.
type New struct {
	// ID is NewID, or IDFor if the job may be added twice. A job whose ID the workspace
	// already has is not added.
	ID        ID
	Workspace workspace.ID
	Kind      Kind
	// Lane has its own limit of concurrent jobs, so that one slow receiver does not block
	// others: a webhook, or the workspace.
	Lane uuid.UUID
	// Order, when not "", serializes jobs: the next job of a lane and an order begins when the
	// previous one is done or has failed permanently. At most 200 characters. Only one writer
	// at a time may add jobs with the same order.
	Order string
	// Payload is JSON: ids and small values, never data that can be looked up.
	Payload json.RawMessage
	// RunAt is when the job is due.
	RunAt time.Time
}

// Job is a job that a Handler runs, or that is listed.
type Job struct {
	New
	State State
	// Attempts is how many attempts have ended, since the job was added or restarted.
	Attempts int
	// Status is the HTTP status that the last attempt got, 0 for none.
	Status int
	// Error is why the last attempt failed, "" if it did not.
	Error     string
	CreatedAt time.Time
	EndedAt   *time.Time

	lease uuid.UUID
}

// Lease identifies this claim of the job, for stores.
func (j Job) Lease() uuid.UUID { return j.lease }

// Claimed returns j with its lease, for stores.
func (j Job) Claimed(lease uuid.UUID) Job { j.lease = lease; return j }

// Result is the outcome of an attempt.
type Result struct {
	// Err is nil for a success.
	Err error
	// Final ends a failed job: it is not retried.
	Final bool
	// After, if longer than the pause of the Handler, is the pause before the next attempt.
	After time.Duration
	// Postponed means that nothing was tried: the job is due after After.
	Postponed bool
	// Status is the HTTP status of the attempt, 0 for none.
	Status int
}

// Ended is the end of an attempt, as a store records it.
type Ended struct {
	Job Job
	// State is Pending when the job is retried, at RunAt.
	State  State
	RunAt  time.Time
	At     time.Time
	Status int
	Error  string
}

// Queue stores jobs for a Runner. *postgres.System implements it.
type Queue interface {
	// DueLanes returns lanes with jobs of a kind that may be due, at most limit after a lane.
	DueLanes(ctx context.Context, kind Kind, now time.Time, after uuid.UUID, limit int) ([]uuid.UUID, error)
	// ClaimJobs takes due jobs of each lane, at most as many as given, and only the first of
	// each order. No other caller takes them before until.
	ClaimJobs(ctx context.Context, kind Kind, lanes []LaneClaim, now, until time.Time) ([]Job, error)
	// EndJobs records ends of attempts. It ignores jobs that have another lease by now.
	EndJobs(ctx context.Context, ended []Ended) error
}

// LaneClaim is how many jobs to take from a lane.
type LaneClaim struct {
	Lane  uuid.UUID
	Limit int
}
