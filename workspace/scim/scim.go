// Package scim has the rules of SCIM 2.0 (RFC 7643, 7644), by which a company's identity
// provider manages the members of a workspace (docs/scim.md): schemas, filters, patches,
// users, groups and the tokens of providers.
//
// It does not answer requests (service/api) or store (workspace/postgres), and knows no
// provider by name: what Okta and Entra send beyond the standard is accepted from every
// provider.
package scim

import (
	"time"

	"github.com/google/uuid"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"atlas/workspace"
	"atlas/workspace/people"
)

// Limits of a workspace.
const (
	MaxUsers = 10_000
	// MaxGroups is the maximum number of groups, MaxMembers of members of a group,
	// MaxMemberships of memberships in all groups.
	MaxGroups      = 1_000
	MaxMembers     = 10_000
	MaxMemberships = 50_000
	// MaxPage is the maximum number of resources in an answer. A page of groups with their
	// members ends earlier if they have MaxMembers together.
	MaxPage = 200
	// MaxOperations is the maximum number of operations of a PATCH.
	MaxOperations = 200
	// MaxEmails is the maximum number of addresses of a person.
	MaxEmails = 10
	// maxText is the maximum length of a text, in characters.
	maxText = 255
)

type (
	userKind  struct{}
	groupKind struct{}
)

// Ids of a provider's users and groups, and of its token.
type (
	UserID  = workspace.TypedID[userKind]
	GroupID = workspace.TypedID[groupKind]
	TokenID = workspace.SCIMTokenID
)

// User is a person of a workspace in the data of its provider.
type User struct {
	ID UserID
	// UserName is unique in the workspace without regard to case, ExternalID with regard to it;
	// "" without one.
	UserName, ExternalID string
	// Active is false for a person who may not be a member.
	Active      bool
	DisplayName string
	Name        Name
	Emails      []Email
	// Version counts the changes, from 1. Times are in UTC, whole milliseconds.
	Version           int
	Created, Modified time.Time

	// Account is the person's Atlas user, zero before they first sign in. Role is the role of
	// their membership, "" without one.
	Account workspace.UserID
	Role    people.Role
	// RemovalRefusedAt is when the provider last asked to remove this user, who is the last
	// owner; nil for never.
	RemovalRefusedAt *time.Time
}

// Name is a person's name.
type Name struct{ Formatted, Family, Given string }

// Email is an address of a person.
type Email struct {
	Value   string `json:"value"`
	Type    string `json:"type,omitempty"`
	Display string `json:"display,omitempty"`
	Primary bool   `json:"primary,omitempty"`
}

// Address is the address that a person signs in with: the primary one, else the one of type
// work, else the first, else the userName.
func (u User) Address() string {
	var work, first string
	for _, e := range u.Emails {
		switch {
		case e.Primary:
			return e.Value
		case work == "" && fold(e.Type) == "work":
			work = e.Value
		case first == "":
			first = e.Value
		}
	}
	for _, address := range []string{work, first} {
		if address != "" {
			return address
		}
	}
	return u.UserName
}

// State is the state of a person in the workspace.
type State string

// The states.
const (
	// Pending: they become a member when they first sign in.
	Pending State = "pending"
	// Member: the person is a member.
	Member State = "member"
	// Inactive: the provider deactivated them.
	Inactive State = "inactive"
	// Removed: an owner or admin removed them, and the provider still has them.
	Removed State = "removed"
)

// States returns every State.
func States() []State { return []State{Pending, Member, Inactive, Removed} }

// State returns the state of the person.
func (u User) State() State {
	switch {
	case !u.Active:
		return Inactive
	case u.Role != "":
		return Member
	case u.Account.IsZero():
		return Pending
	}
	return Removed
}

// Group is a group of the provider.
type Group struct {
	ID GroupID
	// DisplayName is unique in the workspace without regard to case.
	DisplayName, ExternalID string
	// Members are in the order of their ids. HasMembers is false if they were not read.
	Members    []UserID
	HasMembers bool
	// Size is the number of members.
	Size int
	// Role is the role of the group's members in the workspace, "" if none is set.
	Role              people.Role
	Version           int
	Created, Modified time.Time
}

// fold is a text for comparisons without regard to case.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return cases.Fold().String(norm.NFC.String(s))
		}
	}
	return lower(s)
}

// lower is strings.ToLower of ASCII, without a copy if the text is already in lower case.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// Fold is the form of a userName or displayName that must be unique.
func Fold(s string) string { return fold(s) }

func idText[T ~[16]byte](id T) string { return uuid.UUID(id).String() }
