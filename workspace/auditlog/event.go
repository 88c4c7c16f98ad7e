package auditlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/workspace"
)

// PrincipalKind is the kind of a principal.
type PrincipalKind string

// The kinds. A SCIMToken stands for the identity provider that has it. An Operator ran a
// command. The Service acted by itself.
const (
	User      PrincipalKind = "user"
	Key       PrincipalKind = "key"
	SCIMToken PrincipalKind = "scim_token"
	Operator  PrincipalKind = "operator"
	Service   PrincipalKind = "service"
)

// PrincipalKinds returns every PrincipalKind.
func PrincipalKinds() []PrincipalKind {
	return []PrincipalKind{User, Key, SCIMToken, Operator, Service}
}

// Principal is who acted. ID is zero for an Operator and the Service.
type Principal struct {
	Kind PrincipalKind
	ID   uuid.UUID
}

// PrincipalOf returns the principal of an author who is a user, a key or a token of SCIM.
func PrincipalOf(a workspace.Author) Principal {
	switch {
	case !a.User.IsZero():
		return Principal{User, uuid.UUID(a.User)}
	case !a.Key.IsZero():
		return Principal{Key, uuid.UUID(a.Key)}
	case !a.SCIM.IsZero():
		return Principal{SCIMToken, uuid.UUID(a.SCIM)}
	}
	return Principal{Kind: Service}
}

// Digest is a SHA-256.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads a digest in hexadecimal.
func ParseDigest(text string) (d Digest, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(d) {
		return d, fmt.Errorf("%.70q is no digest: it has 64 hexadecimal digits", text)
	}
	return Digest(b), nil
}

// Event is an entry of the log.
type Event struct {
	ID int64
	// Chain is the workspace, zero for the installation.
	Chain workspace.ID
	// Number is the position in the chain, from 1; 0 until the event is chained. Previous
	// is the digest of the previous event, and Digest that of this one.
	Number           int64
	Previous, Digest Digest
	// Transaction is that of the change: events with the same one were written together.
	Transaction uint64
	At          time.Time
	Action      string
	By          Principal
	// Network is not valid if it is not known.
	Network    netip.Prefix
	Request    string
	ObjectKind string
	// ObjectID is zero if the object has no id.
	ObjectID uuid.UUID
	// Fields are the names of the changed fields.
	Fields []string
	// Details is a JSON object in which "sha256:" and a digest replace the values of persons.
	// Values maps these texts to the values that are not erased.
	Details json.RawMessage
	Values  map[string]string
}

// timeFormat has microseconds, like Postgres.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// chainName is the name of a chain in the canonical form.
func chainName(chain workspace.ID) string {
	if chain.IsZero() {
		return "installation"
	}
	return chain.String()
}

// Canonical is the form of an event over which its digest is computed: JSON by RFC 8785,
// with everything but the digest and the values (docs/security.md, "Audit log").
func (e Event) Canonical() ([]byte, error) {
	id := func(u uuid.UUID) string {
		if u == uuid.Nil {
			return ""
		}
		return u.String()
	}
	network, fields := "", e.Fields
	if e.Network.IsValid() {
		network = e.Network.String()
	}
	if fields == nil {
		fields = []string{}
	}
	details := e.Details
	if details == nil {
		details = json.RawMessage(`{}`)
	}
	text, err := json.Marshal(map[string]any{
		"v": 1, "chain": chainName(e.Chain), "number": e.Number, "previous": e.Previous.String(), "id": e.ID,
		"transaction": strconv.FormatUint(e.Transaction, 10), "at": e.At.UTC().Format(timeFormat), "action": e.Action,
		"principal_kind": e.By.Kind, "principal_id": id(e.By.ID), "network": network, "request_id": e.Request,
		"object_kind": e.ObjectKind, "object_id": id(e.ObjectID), "fields": fields, "details": details,
	})
	if err != nil {
		return nil, err
	}
	canonical := jsontext.Value(text)
	err = canonical.Canonicalize()
	return canonical, err
}

// Sum returns the digest that the event must have.
func (e Event) Sum() (Digest, error) {
	text, err := e.Canonical()
	return sha256.Sum256(text), err
}

// Follow puts the event after the given position of its chain.
func (e *Event) Follow(number int64, previous Digest) (err error) {
	e.Number, e.Previous = number+1, previous
	e.Digest, err = e.Sum()
	return err
}

// Check returns what is wrong with an event that follows a position of its chain, "" for
// nothing.
func (e Event) Check(number int64, previous Digest) (problem string, err error) {
	sum, err := e.Sum()
	switch {
	case err != nil:
		return "", err
	case e.Number != number+1:
		return fmt.Sprintf("events %d to %d are missing", number+1, e.Number-1), nil
	case e.Previous != previous:
		return "it does not follow the event before: one of them was replaced or moved", nil
	case e.Digest != sum:
		return "its content is not what was chained", nil
	}
	return "", nil
}

// MarshalJSON encodes the event as in docs/api.md, "Audit log".
func (e Event) MarshalJSON() ([]byte, error) {
	type by struct {
		Kind PrincipalKind `json:"kind"`
		ID   *uuid.UUID    `json:"id"`
	}
	type object struct {
		Kind string     `json:"kind"`
		ID   *uuid.UUID `json:"id"`
	}
	orNil := func(u uuid.UUID) *uuid.UUID {
		if u == uuid.Nil {
			return nil
		}
		return &u
	}
	out := struct {
		ID       int64             `json:"id"`
		At       string            `json:"at"`
		Action   string            `json:"action"`
		By       by                `json:"principal"`
		Network  *netip.Prefix     `json:"network"`
		Request  *string           `json:"request_id"`
		Object   object            `json:"object"`
		Fields   []string          `json:"fields"`
		Details  json.RawMessage   `json:"details"`
		Values   map[string]string `json:"values"`
		Tx       string            `json:"transaction"`
		Number   *int64            `json:"number"`
		Previous *string           `json:"previous"`
		Digest   *string           `json:"digest"`
	}{
		ID: e.ID, At: e.At.UTC().Format(timeFormat), Action: e.Action, By: by{e.By.Kind, orNil(e.By.ID)},
		Object: object{e.ObjectKind, orNil(e.ObjectID)}, Fields: e.Fields, Details: e.Details, Values: e.Values,
		Tx: strconv.FormatUint(e.Transaction, 10),
	}
	if out.Fields == nil {
		out.Fields = []string{}
	}
	if out.Details == nil {
		out.Details = json.RawMessage(`{}`)
	}
	if out.Values == nil {
		out.Values = map[string]string{}
	}
	if e.Network.IsValid() {
		out.Network = &e.Network
	}
	if e.Request != "" {
		out.Request = &e.Request
	}
	if e.Number != 0 {
		previous, digest := e.Previous.String(), e.Digest.String()
		out.Number, out.Previous, out.Digest = &e.Number, &previous, &digest
	}
	return json.Marshal(out)
}
