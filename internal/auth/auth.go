package auth

import (
	"context"
	"strings"
	"time"

	"atlas/internal/fault"
	"atlas/workspace"
)

// MaxHeader is the longest Authorization header that is looked at, in bytes.
const MaxHeader = 8 << 10

// Bounds of what is kept in the process, in entries.
const (
	maxKeys        = 10_000
	maxUnknownKeys = 10_000
	maxRoles       = 50_000
	maxOnly        = 50_000
	maxWorkspaces  = 10_000
)

// MaxStrangers is how many look-ups may be under way at once of what was never
// found yet: keys, which anyone can invent, and memberships, which anyone with a
// token can ask for. Beyond it they are refused without a look-up, so that they
// neither hold the requests of others nor keep the look-ups of known keys and
// members waiting for Postgres.
const MaxStrangers = 128

// Store is what authentication looks up, across workspaces. Every "no" is
// fault.NotFound; an outage is fault.Unavailable.
type Store interface {
	KeyByID(ctx context.Context, id workspace.KeyID) (workspace.KeyRecord, error)
	WorkspaceByID(ctx context.Context, id workspace.ID) (workspace.Workspace, error)
	// Role is what the user is in the workspace.
	Role(ctx context.Context, in workspace.ID, user workspace.UserID) (workspace.Role, error)
	// OnlyWorkspace is that of a user who is in exactly one.
	OnlyWorkspace(ctx context.Context, user workspace.UserID) (workspace.ID, error)
	// TouchKey notes a use of a key.
	TouchKey(ctx context.Context, id workspace.KeyID, at time.Time) error
}

// Authenticator answers who sends a request. It is safe for concurrent use.
type Authenticator struct {
	store    Store
	now      func() time.Time
	verifier *verifier // nil: no users' tokens
	toucher  *toucher

	keys *cache[workspace.KeyID, workspace.KeyRecord]
	// A place for each look-up of a key, and of a membership, that was never found
	// yet: who invents one kind takes none of the other's.
	strangeKeys, strangeMembers chan struct{}
	unknown                     *cache[workspace.KeyID, struct{}]
	roles                       *cache[seat, workspace.Role]
	only                        *cache[workspace.UserID, workspace.ID]
	workspaces                  *cache[workspace.ID, workspace.Workspace]
}

// seat is a user's place in a workspace.
type seat struct {
	in   workspace.ID
	user workspace.UserID
}

// New returns an Authenticator. Close ends what it does in the background.
func New(store Store, c Config) (*Authenticator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	verifier, err := newVerifier(c)
	if err != nil {
		return nil, err
	}
	return &Authenticator{
		store: store, now: c.Now, verifier: verifier, toucher: newToucher(store, c.Now, c.Log),
		keys:        newCache[workspace.KeyID, workspace.KeyRecord](maxKeys, c.Now, bytes[workspace.KeyID]),
		strangeKeys: make(chan struct{}, MaxStrangers), strangeMembers: make(chan struct{}, MaxStrangers),
		unknown:    newCache[workspace.KeyID, struct{}](maxUnknownKeys, c.Now, bytes[workspace.KeyID]),
		roles:      newCache[seat, workspace.Role](maxRoles, c.Now, func(s seat) string { return bytes(s.in) + bytes(s.user) }),
		only:       newCache[workspace.UserID, workspace.ID](maxOnly, c.Now, bytes[workspace.UserID]),
		workspaces: newCache[workspace.ID, workspace.Workspace](maxWorkspaces, c.Now, bytes[workspace.ID]),
	}, nil
}

func bytes[T ~[16]byte](id T) string { b := [16]byte(id); return string(b[:]) }

// Close ends the background work; the last uses of keys are written first,
// within a second or two.
func (a *Authenticator) Close() {
	a.toucher.close()
	if a.verifier != nil && a.verifier.keys != nil {
		a.verifier.keys.close()
	}
}

// Ready reports whether tokens can be judged: the JWKS is up to date. With an
// error, tokens of known keys may still be accepted.
func (a *Authenticator) Ready() error {
	if a.verifier == nil || a.verifier.keys == nil {
		return nil
	}
	if err := a.verifier.keys.err(); err != nil {
		return fault.BackendUnavailable(err, "jwks")
	}
	return nil
}

// Kind is what a caller is.
type Kind string

// The kinds of caller.
const (
	ByKey  Kind = "key"
	ByUser Kind = "user"
)

// Identity is a caller whose token is genuine. Whether a key is in force, and
// what a user is a member of, is not judged yet.
type Identity struct {
	Kind Kind
	key  workspace.Key
	user user
}

// User is the user's id, zero for a key.
func (i Identity) User() workspace.UserID { return i.user.id }

// Subject names a caller across requests and workspaces.
type Subject struct {
	Kind Kind
	ID   [16]byte // of the key or the user
}

// Subject is whose token it is.
func (i Identity) Subject() Subject {
	if i.Kind == ByKey {
		return Subject{i.Kind, i.key.ID}
	}
	return Subject{i.Kind, i.user.id}
}

// Email is the address of a user's token, "" when it has none; verified is
// false when the token says that it is not.
func (i Identity) Email() (address string, verified bool) { return i.user.email, i.user.emailVerified }

// Name is the name of a user's token, "" when it has none.
func (i Identity) Name() string { return i.user.name }

// RequireUser refuses an API key where a person is meant:
// fault.UserIdentityRequired.
func (i Identity) RequireUser() error { return requireUser(i.Kind) }

// Authenticate reads the values of the Authorization header: fault.Unauthorized,
// or fault.Unavailable when that cannot be told.
func (a *Authenticator) Authenticate(ctx context.Context, header []string) (Identity, error) {
	token, err := bearer(header)
	if err != nil {
		return Identity{}, err
	}
	if workspace.LooksLikeKey(token) {
		key, err := a.authenticateKey(ctx, token)
		return Identity{Kind: ByKey, key: key}, err
	}
	if a.verifier == nil {
		return Identity{}, fault.New(fault.Unauthorized, "this service accepts API keys only")
	}
	u, err := a.verifier.verify(ctx, token)
	return Identity{Kind: ByUser, user: u}, err
}

// bearer reads the one token of the one header. The scheme is
// case-insensitive (RFC 9110, 11.1).
func bearer(header []string) (string, error) {
	switch {
	case len(header) == 0 || header[0] == "":
		return "", fault.New(fault.Unauthorized, "send an API key or an access token: Authorization: Bearer <token>")
	case len(header) > 1:
		return "", fault.New(fault.Unauthorized, "send one Authorization header")
	case len(header[0]) > MaxHeader:
		return "", fault.New(fault.Unauthorized, "the Authorization header is longer than %d bytes", MaxHeader)
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return "", fault.New(fault.Unauthorized, "the Authorization header must be: Bearer <token>")
	}
	return token, nil
}

// authenticateKey finds a key and compares its secret. All that is wrong with it
// has one answer.
func (a *Authenticator) authenticateKey(ctx context.Context, token string) (workspace.Key, error) {
	refuse := func(cause error) (workspace.Key, error) {
		return workspace.Key{}, fault.Wrap(cause, fault.Unauthorized, "the API key is not valid")
	}
	id, secret, err := workspace.ParseKey(token)
	if err != nil {
		return refuse(err)
	}
	if _, ok := a.unknown.get(id); ok {
		return refuse(nil)
	}
	start := a.now()
	record, err := meet(ctx, a.keys, a.strangeKeys, id, func(ctx context.Context) (workspace.KeyRecord, error) {
		return a.store.KeyByID(ctx, id)
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		a.unknown.put(id, struct{}{}, start)
		return refuse(err)
	case err != nil:
		return workspace.Key{}, unavailable(err)
	case !secret.Matches(record.Hash):
		return refuse(nil)
	}
	return record.Key, nil
}

// meet is load, in which a look-up of what was never found yet needs one of the
// strangers' places. The look-up has it, which outlives a client that goes away.
func meet[K comparable, V any](ctx context.Context, c *cache[K, V], strangers chan struct{}, k K, look func(context.Context) (V, error)) (V, error) {
	return c.load(ctx, k, func(ctx context.Context) (v V, err error) {
		if !c.met(k) {
			select {
			case strangers <- struct{}{}:
				defer func() { <-strangers }()
			default:
				return v, fault.BackendUnavailable(fault.Shed("too many strangers are looked up"), "authentication")
			}
		}
		return look(ctx)
	})
}

// unavailable is an error of a look-up as the caller gets it: the service cannot
// tell who they are, whatever the reason.
func unavailable(err error) error {
	if fault.CodeOf(err) == fault.Unavailable {
		return err
	}
	return fault.BackendUnavailable(err, "authentication")
}

// Resolve finds the workspace that a request is about. given are the values of
// the workspace_id parameter, and required says whether a user must give it on
// this route. fault.BadRequest, fault.InvalidInput (not a UUID, or given twice),
// or fault.Unavailable.
func (a *Authenticator) Resolve(ctx context.Context, i Identity, given []string, required bool) (workspace.ID, error) {
	switch {
	case len(given) > 1:
		return workspace.ID{}, badParameter("must be given once")
	case len(given) == 1:
		id, err := workspace.ParseID(given[0])
		if err != nil {
			return workspace.ID{}, badParameter(err.Error())
		}
		return id, nil
	case i.Kind == ByKey && len(i.key.Workspaces) > 0:
		return i.key.Workspaces[0], nil
	case i.Kind == ByKey:
		// Its workspaces were deleted.
		return workspace.ID{}, fault.New(fault.BadRequest, "this API key has no workspace: give workspace_id")
	case required:
		return workspace.ID{}, fault.New(fault.BadRequest, "an access token needs the query parameter workspace_id here")
	case i.user.workspace != nil:
		return *i.user.workspace, nil
	}
	id, err := meet(ctx, a.only, a.strangeMembers, i.user.id, func(ctx context.Context) (workspace.ID, error) {
		return a.store.OnlyWorkspace(ctx, i.user.id)
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return workspace.ID{}, fault.New(fault.BadRequest, "which workspace? give the query parameter workspace_id")
	case err != nil:
		return workspace.ID{}, unavailable(err)
	}
	return id, nil
}

func badParameter(message string) error {
	return fault.Validation(fault.Issue{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: message})
}

// Authorize judges whether the caller may act in the workspace at all: the key is
// in force and was granted it, or the user is a member; and its plan is Pro.
// fault.Forbidden, or fault.Unavailable.
func (a *Authenticator) Authorize(ctx context.Context, i Identity, in workspace.ID) (Principal, error) {
	if in.IsZero() { // a UUID, but nobody's
		return Principal{}, notMember(nil)
	}
	p := Principal{Kind: i.Kind}
	var err error
	switch i.Kind {
	case ByKey:
		if refusal := i.key.Refusal(a.now()); refusal != "" {
			return Principal{}, fault.New(fault.Forbidden, "%s", refusal)
		}
		if !i.key.Grants(in) {
			return Principal{}, notMember(nil)
		}
		p.Key, p.Scopes = i.key.ID, i.key.Scopes
	case ByUser:
		p.User, p.Scopes = i.user.id, workspace.AllScopes()
		p.Email, p.Name = i.user.email, i.user.name
		p.Role, err = meet(ctx, a.roles, a.strangeMembers, seat{in, i.user.id}, func(ctx context.Context) (workspace.Role, error) {
			return a.store.Role(ctx, in, i.user.id)
		})
		if fault.CodeOf(err) == fault.NotFound {
			return Principal{}, notMember(err)
		}
		if err != nil {
			return Principal{}, unavailable(err)
		}
	default:
		return Principal{}, fault.New(fault.Internal, "an identity of no kind")
	}
	p.Workspace, err = a.workspaces.load(ctx, in, func(ctx context.Context) (workspace.Workspace, error) {
		return a.store.WorkspaceByID(ctx, in)
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		// Deleted since the grant or the membership was read.
		return Principal{}, notMember(err)
	case err != nil:
		return Principal{}, unavailable(err)
	case p.Workspace.Plan != workspace.Pro:
		return Principal{}, fault.New(fault.Forbidden, "the workspace's plan is %s; this API requires the Pro plan", p.Workspace.Plan)
	}
	if p.Kind == ByKey {
		a.toucher.touch(p.Key)
	}
	return p, nil
}

func notMember(cause error) error {
	return fault.Wrap(cause, fault.Forbidden, "you have no access to the workspace")
}
