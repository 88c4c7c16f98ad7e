// Package scim has the rules of SCIM 2.0 (RFC 7643, 7644), by which a company's identity
// provider says who is in a workspace (docs/scim.md): schemas, filters, patches, users, groups
// and the tokens of providers.
//
// It does not answer requests (service/api) or store (workspace/postgres), and knows no
// provider by name: what Okta and Entra send beyond the standard is accepted from everybody.
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
	// MaxGroups is how many groups there are, MaxMembers how many members one has, and
	// MaxMemberships how many all have.
	MaxGroups      = 1_000
	MaxMembers     = 10_000
	MaxMemberships = 50_000
	// MaxPage is the most resources of one answer. A page of groups with their members ends
	// earlier if it has MaxMembers of them.
	MaxPage = 200
	// MaxOperations is how many operations one PATCH has.
	MaxOperations = 200
	// MaxEmails is how many addresses a person has.
	MaxEmails = 10
	// maxText is the length of a text, in characters.
	maxText = 255
)

type (
	userKind  struct{}
	groupKind struct{}
)

// The ids of what a provider makes, and of the token that it uses.
type (
	UserID  = workspace.TypedID[userKind]
	GroupID = workspace.TypedID[groupKind]
	TokenID = workspace.SCIMTokenID
)

// User is a person of a workspace as its provider knows them.
type User struct {
	ID UserID
	// UserName is unique in the workspace without regard to case, ExternalID exactly; ""
	// without one.
	UserName, ExternalID string
	// Active is false for a person who may not be a member.
	Active      bool
	DisplayName string
	Name        Name
	Emails      []Email
	// Version counts the changes, from 1. Times are in UTC, whole milliseconds.
	Version           int
	Created, Modified time.Time

	// Account is the user of Atlas whom the person is, zero before they first sign in. Role is
	// that of their membership, "" without one.
	Account workspace.UserID
	Role    people.Role
	// KeptAt is when the provider last asked to end the membership of the last owner, nil for
	// never.
	KeptAt *time.Time
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

// Address is the address that a person signs in with: the primary one, else that of their work,
// else the first, else the userName.
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

// State is what a person is in the workspace.
type State string

// The states.
const (
	// Pending: they become a member when they first sign in.
	Pending State = "pending"
	// Member: they are one.
	Member State = "member"
	// Inactive: the provider took them away.
	Inactive State = "inactive"
	// Removed: the provider has them, and an owner or admin removed them.
	Removed State = "removed"
)

// States returns every State.
func States() []State { return []State{Pending, Member, Inactive, Removed} }

// State returns what the person is.
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
	// Size is how many members there are.
	Size int
	// Role is what members of the group have in the workspace, "" if the workspace has not said.
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

// lower is strings.ToLower of ASCII, without a copy of what is lower case already.
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
