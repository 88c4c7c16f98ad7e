package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"atlas/internal/fault"
	"atlas/workspace/scim"
)

const backend = "postgres"

// violations has the error of each constraint violation, by constraint name.
var violations = map[string]func(error) *fault.Error{
	"workspaces_pkey": func(err error) *fault.Error {
		return invalid(err, "id", "is the id of another workspace")
	},
	"members_pkey": func(err error) *fault.Error {
		return fault.Wrap(err, fault.AlreadyMember, "this user is a member of the workspace already")
	},
	"members_workspace":              unknownWorkspace,
	"audit_values_workspace":         unknownWorkspace,
	"records_delivered_workspace":    unknownWorkspace,
	"key_policies_workspace":         unknownWorkspace,
	"identity_domains_workspace":     unknownWorkspace,
	"identity_domains_proved":        provedByAnother,
	"identity_providers_workspace":   unknownWorkspace,
	"api_key_workspaces_workspace":   unknownWorkspace,
	"api_keys_workspace":             unknownWorkspace,
	"invitations_workspace":          unknownWorkspace,
	"invitations_open":               alreadyInvited,
	"signal_subscriptions_workspace": unknownWorkspace,
	"skills_workspace":               unknownWorkspace,
	"skills_workspace_slug":          skillConflict,
	"skills_personal_slug":           skillConflict,
	"views_workspace":                unknownWorkspace,
	"views_name":                     viewNameConflict,
	"view_records_view":              viewNotFound,
	"favorites_view":                 viewNotFound,
	"held_records_workspace":         unknownWorkspace,
	"overlays_workspace":             unknownWorkspace,
	"book_additions_workspace":       unknownWorkspace,
	"projectors_workspace":           unknownWorkspace,
	"jobs_workspace":                 unknownWorkspace,
	"webhooks_workspace":             unknownWorkspace,
	"credit_notices_workspace":       unknownWorkspace,
	"stored_answers_workspace":       unknownWorkspace,
	"boards_workspace":               unknownWorkspace,
	"merged_overlays_workspace":      unknownWorkspace,
	"dismissed_signals_workspace":    unknownWorkspace,
	"signal_digests_workspace":       unknownWorkspace,
	"unsubscribed_users_workspace":   unknownWorkspace,
	"favorites_member":               unknownWorkspace,
	"view_alerts_member":             unknownWorkspace,
	"watched_views_view":             viewNotFound,
	"scim_tokens_workspace":          unknownWorkspace,
	"scim_users_workspace":           unknownWorkspace,
	"scim_groups_workspace":          unknownWorkspace,
	"scim_users_user_name":           taken("User", "userName"),
	"scim_users_external_id":         taken("User", "externalId"),
	"scim_users_address":             taken("User", "e-mail address to sign in with"),
	"scim_groups_name":               taken("Group", "displayName"),
}

// taken is the error for a value that another SCIM resource has.
func taken(resource, attribute string) func(error) *fault.Error {
	return func(err error) *fault.Error { return scim.Taken(err, resource, attribute) }
}

func unknownWorkspace(err error) *fault.Error {
	return fault.Wrap(err, fault.NotFound, "there is no workspace with this id")
}

func provedByAnother(err error) *fault.Error {
	return fault.Wrap(err, fault.Forbidden, "another workspace has proved this domain: it must give the domain up first")
}

func invalid(cause error, field, message string) *fault.Error {
	return fault.Validation(fault.Issue{Code: fault.Custom, Path: []string{field}, Message: message}).Because(cause)
}

// toFault converts a driver's error to a fault, by its code and never by its text. No other
// place does. A fault is returned unchanged.
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
		if transient(answer.Code) {
			return fault.BackendUnavailable(err, backend)
		}
		return internalError(err)
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if connecting || network || pgconn.Timeout(err) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.BackendUnavailable(err, backend)
	}
	return internalError(err)
}

// internalError is for all other errors: defects of this program or its schema.
func internalError(err error) *fault.Error {
	return fault.Wrap(err, fault.Internal, "something went wrong on our side")
}

// transient reports whether a SQLSTATE describes a state of the database that ends
// by itself or that the operator ends. Changing the request would not help.
func transient(code string) bool {
	switch code {
	case "57014", // statement timeout
		"55P03", // lock not available
		"55006", // object in use
		"40001", // serialization failure
		"40P01", // deadlock
		"25P03", // idle in transaction too long
		"25006", // read-only: a standby server
		"3D000", // no such database
		"42P01": // no such table: not migrated yet
		return true
	}
	switch code[:min(2, len(code))] {
	case "08", // connection
		"28", // login refused
		"53", // out of memory, disk, connections
		"57", // shut down, starting up
		"58": // system error, such as I/O
		return true
	}
	return false
}
