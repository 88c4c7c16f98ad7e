package undo

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
	"atlas/workspace/audit"
	"atlas/workspace/boards"
	"atlas/workspace/people"
	"atlas/workspace/subscriptions"
	"atlas/workspace/views"
	"atlas/workspace/webhooks"
)

// MaxActions is the maximum number of actions that a request undoes.
const MaxActions = 1000

// Selection selects actions of a key.
type Selection struct {
	// Seqs are the Seqs of actions; nil: all.
	Seqs []int64
	// Since is the earliest time, zero: none.
	Since time.Time
	// Before is the Seq before which to begin, 0: the latest action.
	Before int64
	Limit  int
}

// Store has the changes by keys. *postgres.Store implements it.
type Store interface {
	// KeyEnded reports whether a workspace knows a key, and whether it is revoked there.
	KeyEnded(ctx context.Context, in workspace.ID, key workspace.KeyID) (known, revoked bool, err error)
	// KeyChanges returns the changes by a key, the latest first.
	KeyChanges(ctx context.Context, in workspace.ID, key workspace.KeyID, s Selection) ([]Change, error)
	// FirstKeyChanges returns the first of the selected changes of each object.
	FirstKeyChanges(ctx context.Context, in workspace.ID, key workspace.KeyID, s Selection, objects []uuid.UUID) ([]Change, error)
	// WithKeyChange runs do for an owner or admin in a transaction that locks the object of a
	// change. What the store changes with the context of do is part of the transaction. After a
	// rollback do may run again.
	WithKeyChange(
		ctx context.Context, in workspace.ID, key workspace.KeyID, by people.Actor, c Change,
		do func(context.Context, Change) error,
	) error
	// NoteUndone records in the audit log that actions of a key were undone.
	NoteUndone(ctx context.Context, in workspace.ID, key workspace.KeyID, undone, left int) error
}

// Cursors signs values that clients return. *search.Cursors implements it.
type Cursors interface {
	Seal(purpose string, data []byte) string
	Open(purpose, cursor string) (data []byte, ok bool)
}

// Book has the overlays of a workspace.
type Book interface {
	Delete(ctx context.Context, in workspace.ID, d catalog.Dataset, records []uuid.UUID) error
}

// Parts are the parts of a workspace whose objects keys can change.
type Parts struct {
	Book          Book
	Memberships   *views.Memberships
	Views         *views.Views
	Boards        *boards.Boards
	Webhooks      *webhooks.Webhooks
	Subscriptions *subscriptions.Subscriptions
	Invitations   *people.Invitations
	Members       *people.Members
}

// Undoer lists and undoes what keys did.
type Undoer struct {
	Store   Store
	Cursors Cursors
}

// Page is a page of a key's actions, the latest first. Next is the cursor of the next page,
// "" on the last one.
type Page struct {
	Changes []Change
	Next    string
}

// List returns the page after a cursor, "" for the first. Errors: fault.NotFound for a key that
// the workspace never had, fault.BadRequest for a cursor of another list.
func (u *Undoer) List(ctx context.Context, in workspace.ID, key workspace.KeyID, cursor string, limit int) (Page, error) {
	if _, err := u.known(ctx, in, key); err != nil {
		return Page{}, err
	}
	return u.page(ctx, in, key, Selection{Limit: limit}, cursor)
}

func (u *Undoer) known(ctx context.Context, in workspace.ID, key workspace.KeyID) (revoked bool, err error) {
	known, revoked, err := u.Store.KeyEnded(ctx, in, key)
	if err == nil && !known {
		err = fault.New(fault.NotFound, "the workspace has no API key with this id")
	}
	return revoked, err
}

func (u *Undoer) page(ctx context.Context, in workspace.ID, key workspace.KeyID, s Selection, cursor string) (Page, error) {
	if cursor != "" {
		data, ok := u.Cursors.Open(purpose(in, key), cursor)
		if !ok || len(data) != 8 {
			return Page{}, fault.New(fault.BadRequest,
				"cursor is not a cursor of what this API key did: send metadata.next as it was answered, or leave it out to begin")
		}
		s.Before = int64(binary.BigEndian.Uint64(data)) // #nosec G115 -- the same bits
	}
	limit := s.Limit
	s.Limit++
	changes, err := u.Store.KeyChanges(ctx, in, key, s)
	if err != nil {
		return Page{}, err
	}
	p := Page{Changes: changes[:min(limit, len(changes))]}
	if len(changes) > limit {
		p.Next = u.seal(in, key, p.Changes[limit-1].Seq)
	}
	return p, nil
}

func purpose(in workspace.ID, key workspace.KeyID) string {
	return "what the key " + key.String() + " did in the workspace " + in.String()
}

func (u *Undoer) seal(in workspace.ID, key workspace.KeyID, seq int64) string {
	return u.Cursors.Seal(purpose(in, key), binary.BigEndian.AppendUint64(nil, uint64(seq))) // #nosec G115 -- the same bits
}

// Request is a request to undo what a key did.
type Request struct {
	Selection
	Cursor string
	DryRun bool
	// By is the caller.
	By people.Actor
}

// Report has the results of actions, the latest first.
type Report struct {
	Results []Result
	// Next is the cursor of the remaining actions, "" for none.
	Next string
}

// Result is the result of an action.
type Result struct {
	Change
	Outcome State
	// Err is the error of a rule that forbids it, nil otherwise.
	Err *fault.Error
}

// reserve is the part of a request's time that is left for its answer.
const reserve = 3 * time.Second

// Undo takes the objects of selected actions back to their state before the first of these,
// each in its own transaction. It leaves objects that others changed since, and actions that
// are already undone. Errors: those of List, fault.APIKeyActive for a key that is not revoked.
func (u *Undoer) Undo(ctx context.Context, in workspace.ID, key workspace.KeyID, parts Parts, r Request) (Report, error) {
	revoked, err := u.known(ctx, in, key)
	switch {
	case err != nil:
		return Report{}, err
	case !revoked:
		return Report{}, fault.New(fault.APIKeyActive, "revoke this API key first: what it does meanwhile would not be undone")
	}
	page, err := u.page(ctx, in, key, r.Selection, r.Cursor)
	if err != nil {
		return Report{}, err
	}
	first, err := u.first(ctx, in, key, r.Selection, page.Changes)
	if err != nil {
		return Report{}, err
	}
	report := Report{Results: make([]Result, 0, len(page.Changes)), Next: page.Next}
	outcomes := map[audit.Subject]Result{}
	undone := 0
	for i, c := range page.Changes {
		outcome, known := outcomes[c.Subject]
		if !known {
			if deadline, limited := ctx.Deadline(); i > 0 && limited && time.Until(deadline) < reserve {
				report.Next = u.seal(in, key, page.Changes[i-1].Seq)
				break
			}
			if outcome, err = u.one(ctx, in, key, parts, r, first[c.Subject]); err != nil {
				return Report{}, err
			}
			outcomes[c.Subject] = outcome
		}
		if outcome.Outcome == Undone {
			undone++
		}
		report.Results = append(report.Results, Result{c, outcome.Outcome, outcome.Err})
	}
	if !r.DryRun {
		err = u.Store.NoteUndone(ctx, in, key, undone, len(report.Results)-undone)
	}
	return report, err
}

// first returns the first selected change of each object of changes.
func (u *Undoer) first(
	ctx context.Context, in workspace.ID, key workspace.KeyID, s Selection, changes []Change,
) (map[audit.Subject]Change, error) {
	ids := make([]uuid.UUID, len(changes))
	for i, c := range changes {
		ids[i] = c.ID
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	firsts, err := u.Store.FirstKeyChanges(ctx, in, key, s, slices.Compact(ids))
	bySubject := make(map[audit.Subject]Change, len(firsts))
	for _, c := range firsts {
		bySubject[c.Subject] = c
	}
	return bySubject, err
}

// one undoes a change and the key's later changes of the object.
func (u *Undoer) one(
	ctx context.Context, in workspace.ID, key workspace.KeyID, parts Parts, r Request, c Change,
) (Result, error) {
	if state := c.State(); r.DryRun || state != Possible {
		if state == Possible {
			state = Undone
		}
		return Result{Outcome: state}, nil
	}
	var outcome State
	err := u.Store.WithKeyChange(ctx, in, key, r.By, c, func(ctx context.Context, c Change) error {
		if outcome = c.State(); outcome != Possible {
			return nil
		}
		outcome = Undone
		return parts.restore(ctx, in, r.By, c)
	})
	if refusal, is := errors.AsType[*fault.Error](err); is && slices.Contains(refusals, refusal.Code) {
		return Result{Outcome: Refused, Err: refusal}, nil
	}
	return Result{Outcome: outcome}, err
}

// refusals are the codes of errors that leave one object as it is and do not stop the others.
var refusals = []fault.Code{
	fault.Forbidden, fault.LastOwner, fault.NotFound, fault.ViewNotFound, fault.ViewFull,
	fault.RecordNotFound, fault.RecordNotVisible, fault.LimitReached,
}

// restore restores an object to its state before a change.
func (p Parts) restore(ctx context.Context, in workspace.ID, by people.Actor, c Change) (err error) {
	switch c.Kind {
	case audit.Overlay:
		return p.Book.Delete(ctx, in, c.Dataset, []uuid.UUID{c.ID})
	case audit.Membership:
		if c.Op == audit.Upsert {
			return p.Memberships.Remove(ctx, in, views.ID(c.View), []uuid.UUID{c.ID})
		}
		refused, err := p.Memberships.Add(ctx, in, views.ID(c.View), []uuid.UUID{c.ID})
		if err == nil {
			err = refused[0]
		}
		return err
	case audit.View:
		return p.Views.Delete(ctx, in, views.ID(c.ID))
	case audit.Board:
		return p.Boards.Delete(ctx, in, boards.ID(c.ID))
	case audit.Webhook:
		return p.Webhooks.Delete(ctx, in, webhooks.ID(c.ID))
	case audit.Subscription:
		return p.Subscriptions.Delete(ctx, in, subscriptions.ID(c.ID))
	case audit.Invitation:
		_, err = p.Invitations.Revoke(ctx, in, by, people.InvitationID(c.ID))
	case audit.Member:
		_, err = p.Members.SetRole(ctx, in, by, workspace.UserID(c.ID), c.RoleBefore)
	default:
		err = fault.New(fault.Internal, "a %s cannot be restored", c.Kind)
	}
	return err
}
