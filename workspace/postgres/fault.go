package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
)

const backend = "postgres"

// violations says what breaking a constraint means to a caller, by its name.
var violations = map[string]func(error) *fault.Error{
	"workspaces_pkey": func(err error) *fault.Error {
		return invalid(err, "id", "is the id of another workspace")
	},
	"members_pkey": func(err error) *fault.Error {
		return fault.Wrap(err, fault.AlreadyMember, "this user is a member of the workspace already")
	},
	"members_workspace":              noWorkspace,
	"api_key_workspaces_workspace":   noWorkspace,
	"invitations_workspace":          noWorkspace,
	"invitations_open":               alreadyInvited,
	"signal_subscriptions_workspace": noWorkspace,
	"skills_workspace":               noWorkspace,
	"skills_workspace_slug":          skillConflict,
	"skills_personal_slug":           skillConflict,
	"views_workspace":                noWorkspace,
	"views_name":                     viewNameConflict,
	"view_records_view":              viewNotFound,
	"favorites_view":                 viewNotFound,
	"held_records_workspace":         noWorkspace,
	"overlays_workspace":             noWorkspace,
	"book_additions_workspace":       noWorkspace,
	"projectors_workspace":           noWorkspace,
}

func noWorkspace(err error) *fault.Error {
	return fault.Wrap(err, fault.NotFound, "there is no workspace with this id")
}

func invalid(cause error, field, message string) *fault.Error {
	e := fault.Wrap(cause, fault.InvalidInput, "the request is not valid")
	e.Issues = []fault.Issue{{Code: fault.Custom, Path: []string{field}, Message: message}}
	return e
}

// toFault turns a driver's error into a fault, by code and never by text. It
// is the only place that does. What is a fault already stays as it is.
func toFault(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*fault.Error](err); ok {
		return known
	}
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		if violation, ok := violations[answer.ConstraintName]; ok && strings.HasPrefix(answer.Code, "23") {
			return violation(err)
		}
		if passing(answer.Code) {
			return fault.Away(err, backend)
		}
		return internal(err)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if connecting || network || pgconn.Timeout(err) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.Away(err, backend)
	}
	return internal(err)
}

// internal is what is left: a fault of this program, or of its schema.
func internal(err error) *fault.Error {
	return fault.Wrap(err, fault.Internal, "something went wrong on our side")
}

// passing reports whether a SQLSTATE is of the kind that goes away by itself,
// or by the operator, and not by changing the request.
func passing(code string) bool {
	switch code {
	case "57014", // statement timeout
		"55P03", // lock not available
		"55006", // object in use
		"40001", // serialization failure
		"40P01", // deadlock
		"25P03", // idle in transaction too long
		"25006", // read-only: a standby
		"3D000", // no such database
		"42P01": // no such table: not migrated yet
		return true
	}
	switch code[:min(2, len(code))] {
	case "08", // connection
		"28", // login refused
		"53", // out of memory, disk, connections
		"57", // shut down, starting up
		"58": // the machine under it
		return true
	}
	return false
}
