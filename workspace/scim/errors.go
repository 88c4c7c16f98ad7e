package scim

import "atlas/internal/fault"

// Type is the scimType of an error (RFC 7644, 3.12). It is the cause of a fault.Error, whose
// message is the detail.
type Type string

// The types.
const (
	InvalidFilter Type = "invalidFilter"
	InvalidPath   Type = "invalidPath"
	InvalidSyntax Type = "invalidSyntax"
	InvalidValue  Type = "invalidValue"
	Mutability    Type = "mutability"
	NoTarget      Type = "noTarget"
	TooMany       Type = "tooMany"
	Uniqueness    Type = "uniqueness"
)

func (t Type) Error() string { return string(t) }

func refuse(t Type, format string, args ...any) *fault.Error {
	return fault.Wrap(t, fault.BadRequest, format, args...)
}

// Taken is the error for a value that another resource of the workspace has.
func Taken(_ error, resource, attribute string) *fault.Error {
	return fault.Wrap(Uniqueness, fault.BadRequest, "another %s of the workspace has this %s", resource, attribute)
}

// Unknown is the error for a resource that the workspace does not have.
func Unknown(resource string) *fault.Error {
	return fault.New(fault.NotFound, "the workspace has no %s with this id", resource)
}

// Unproved is the error for an address in a domain that the workspace has not proved.
func Unproved(domain string) *fault.Error {
	return refuse(InvalidValue, "the workspace has not proved the domain %.100q: people of it can be provisioned after that", domain)
}

// LastOwner is the error for ending the membership of the only owner.
func LastOwner() *fault.Error {
	return fault.New(fault.LastOwner, "this person is the last owner of the workspace and stays a member: make another owner first")
}

// Outdated is the error for an If-Match of an earlier version.
func Outdated() *fault.Error {
	return fault.New(fault.RevisionConflict, "the resource has changed since the version of If-Match")
}

// UnknownMember is the error for a member of a group who is not a user of the workspace.
func UnknownMember() *fault.Error {
	return refuse(InvalidValue, "members must be the ids of Users of the workspace")
}
