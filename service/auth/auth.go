package auth

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/workspace"
	"atlas/workspace/identity"
	"atlas/workspace/people"
)

// MaxHeader is the maximum length of the Authorization header in bytes.
const MaxHeader = 8 << 10

// Sizes of the caches in entries.
const (
	maxKeys           = 10_000
	maxUnknownKeys    = 10_000
	maxRoles          = 50_000
	maxOnlyWorkspaces = 50_000
	maxWorkspaces     = 10_000
)

// MaxColdLookups is how many look-ups of keys that were never found may run at the
// same time, and how many of memberships. Anyone can invent a key, and anyone with a
// token can ask for a membership. Further ones are refused without a look-up, so
// that they do not delay the look-ups of known keys and members.
const MaxColdLookups = 128

// Store has what authentication looks up, across workspaces. Errors:
// fault.NotFound, fault.Unavailable.
type Store interface {
	KeyByID(ctx context.Context, id workspace.KeyID) (workspace.KeyRecord, error)
	WorkspaceByID(ctx context.Context, id workspace.ID) (workspace.Workspace, error)
	// Role returns the user's role in the workspace.
	Role(ctx context.Context, in workspace.ID, user workspace.UserID) (people.Role, error)
	// OnlyWorkspace returns the workspace of a user who is a member of exactly one.
	OnlyWorkspace(ctx context.Context, user workspace.UserID) (workspace.ID, error)
	// Gate returns the sign-in rules of a workspace.
	Gate(ctx context.Context, in workspace.ID) (identity.Gate, error)
	// MemberSignedOut returns when the sessions of a member in a workspace last ended, zero for
	// never.
	MemberSignedOut(ctx context.Context, in workspace.ID, user workspace.UserID) (time.Time, error)
	// SignedOut returns when the sessions of a user last ended, zero for never.
	SignedOut(ctx context.Context, user workspace.UserID) (time.Time, error)
	// TouchKey records a use of a key in a workspace from a network, which is invalid if it is
	// not known, and reports whether it is the first use of the key.
	TouchKey(ctx context.Context, id workspace.KeyID, in workspace.ID, from netip.Prefix) (first bool, err error)
}

// Authenticator authenticates and authorizes requests. It is safe for concurrent use.
type Authenticator struct {
	store    Store
	now      func() time.Time
	verifier *verifier // nil: only API keys are accepted
	toucher  *toucher

	keys *cache[workspace.KeyID, workspace.KeyRecord]
	// Semaphores of MaxColdLookups. They are separate, so that invented keys do not
	// block look-ups of memberships.
	coldKeys, coldMembers chan struct{}
	unknownKeys           *cache[workspace.KeyID, struct{}]
	mismatched            *cache[workspace.KeyID, struct{}] // see authenticateKey
	roles                 *cache[membership, people.Role]
	onlyWorkspaces        *cache[workspace.UserID, workspace.ID]
	signedOut             *cache[workspace.UserID, time.Time]
	gates                 *cache[workspace.ID, identity.Gate]
	membersOut            *cache[membership, time.Time]
	workspaces            *cache[workspace.ID, workspace.Workspace]
}

// membership is the cache key of a role.
type membership struct {
	in   workspace.ID
	user workspace.UserID
}

// New returns an Authenticator. Close stops its background work.
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
		keys:     newCache[workspace.KeyID, workspace.KeyRecord](maxKeys, c.Now),
		coldKeys: make(chan struct{}, MaxColdLookups), coldMembers: make(chan struct{}, MaxColdLookups),
		unknownKeys:    newCache[workspace.KeyID, struct{}](maxUnknownKeys, c.Now),
		mismatched:     newCache[workspace.KeyID, struct{}](maxUnknownKeys, c.Now),
		roles:          newCache[membership, people.Role](maxRoles, c.Now),
		onlyWorkspaces: newCache[workspace.UserID, workspace.ID](maxOnlyWorkspaces, c.Now),
		signedOut:      newCache[workspace.UserID, time.Time](maxOnlyWorkspaces, c.Now),
		gates:          newCache[workspace.ID, identity.Gate](maxWorkspaces, c.Now),
		membersOut:     newCache[membership, time.Time](maxRoles, c.Now),
		workspaces:     newCache[workspace.ID, workspace.Workspace](maxWorkspaces, c.Now),
	}, nil
}

// Close writes the pending uses of keys, for at most touchTimeout, and stops the
// background work.
func (a *Authenticator) Close() {
	a.toucher.close()
	if a.verifier != nil && a.verifier.keys != nil {
		a.verifier.keys.close()
	}
}

// Ready returns fault.Unavailable when the last read of the JWKS failed. Tokens
// signed with known keys may still be accepted.
func (a *Authenticator) Ready() error {
	if a.verifier == nil || a.verifier.keys == nil {
		return nil
	}
	if err := a.verifier.keys.err(); err != nil {
		return fault.BackendUnavailable(err, "jwks")
	}
	return nil
}

// Kind is the kind of a caller.
type Kind string

// The kinds of caller.
const (
	ByKey  Kind = "key"
	ByUser Kind = "user"
)

// Identity is a caller with a genuine token. Authorize checks whether the key is
// valid, or the user a member.
type Identity struct {
	Kind Kind
	key  workspace.Key
	// secret is the secret that the key was proved by; replaced is set if a rotation has replaced
	// it.
	secret   workspace.SecretHash
	replaced bool
	user     user
	from     netip.Addr
	// session is set for callers with a session.
	session *signedIn
}

// From returns the identity of a request from a client address. If it is not known, a key
// that is limited to networks is refused.
func (i Identity) From(client netip.Addr) Identity {
	i.from = client
	return i
}

// User is the signed-in user of a session.
type User struct {
	ID    workspace.UserID `json:"id"`
	Email string           `json:"email"`
	// EmailVerified means that the issuer verified the address.
	EmailVerified bool   `json:"email_verified"`
	Name          string `json:"name"`
}

// SignedIn returns the identity of the user of a session that began at a time, by a provider
// of a workspace or not. Errors: fault.Unauthorized if the session has ended since,
// fault.Unavailable.
func (a *Authenticator) SignedIn(ctx context.Context, u User, began time.Time, own identity.Own) (Identity, error) {
	ended, err := loadBounded(ctx, a.signedOut, a.coldMembers, u.ID, func(ctx context.Context) (time.Time, error) {
		return a.store.SignedOut(ctx, u.ID)
	})
	switch {
	case err != nil:
		return Identity{}, unavailable(err)
	case !ended.IsZero() && !began.After(ended):
		return Identity{}, fault.New(fault.Unauthorized, "the session was ended: sign in again")
	}
	i := Identity{
		Kind:    ByUser,
		user:    user{id: u.ID, email: u.Email, name: u.Name, emailVerified: u.EmailVerified, scopes: workspace.AllScopes()},
		session: &signedIn{began, own},
	}
	if own.Workspace.IsZero() {
		return i, nil
	}
	return i, a.stillOwn(ctx, i, u.Email)
}

// User returns the user's id, zero for a key.
func (i Identity) User() workspace.UserID { return i.user.id }

// Subject identifies a caller across requests and workspaces.
type Subject struct {
	Kind Kind
	ID   [16]byte // of the key or the user
}

// String returns a name of the caller that no other caller has.
func (s Subject) String() string { return string(s.Kind) + ":" + uuid.UUID(s.ID).String() }

// Subject returns the subject of the token.
func (i Identity) Subject() Subject {
	if i.Kind == ByKey {
		return Subject{i.Kind, i.key.ID}
	}
	return Subject{i.Kind, i.user.id}
}

// Author returns the author of the caller's changes.
func (i Identity) Author() workspace.Author {
	if i.Kind == ByKey {
		return workspace.Author{Key: i.key.ID}
	}
	return workspace.Author{User: i.user.id}
}

// Email returns the address in a user's token, "" when it has none, and whether the
// issuer verified it.
func (i Identity) Email() (address string, verified bool) { return i.user.email, i.user.emailVerified }

// Name returns the name in a user's token, "" when it has none.
func (i Identity) Name() string { return i.user.name }

// RequireUser returns fault.UserIdentityRequired for an API key.
func (i Identity) RequireUser() error { return requireUser(i.Kind) }

// RequireScope returns fault.Forbidden for a key or token without the scope.
func (i Identity) RequireScope(s workspace.Scope) error {
	if i.Kind == ByKey {
		return requireScope(i.Kind, i.key.Scopes, s)
	}
	return requireScope(i.Kind, i.user.scopes, s)
}

// Authenticate takes the values of the Authorization header. Errors:
// fault.Unauthorized, or fault.Unavailable when the token cannot be verified.
func (a *Authenticator) Authenticate(ctx context.Context, header []string) (Identity, error) {
	token, err := bearer(header)
	if err != nil {
		return Identity{}, err
	}
	if workspace.LooksLikeSCIMToken(token) {
		return Identity{}, fault.New(fault.Unauthorized, "this is a token of SCIM, which is good for nothing else: send an API key or an access token")
	}
	if workspace.LooksLikeKey(token) {
		return a.authenticateKey(ctx, token)
	}
	if a.verifier == nil {
		return Identity{}, fault.New(fault.Unauthorized, "this service accepts API keys only: %s", workspace.KeyText)
	}
	if strings.ContainsAny(token, `"'`) {
		return Identity{}, fault.New(
			fault.Unauthorized,
			"send the token without quotation marks: an API key begins with atlas_, an access token with eyJ",
		)
	}
	if strings.Count(token, ".") != 2 { // no JWT
		return Identity{}, fault.New(
			fault.Unauthorized,
			"this is neither an API key, %s, nor an access token, a JWT, which begins with eyJ",
			workspace.KeyText,
		)
	}
	u, err := a.verifier.verify(ctx, token)
	return Identity{Kind: ByUser, user: u}, err
}

// bearer returns the token of the only header. The scheme is case-insensitive
// (RFC 9110, 11.1).
func bearer(header []string) (string, error) {
	switch {
	case len(header) == 0 || header[0] == "":
		return "", fault.New(
			fault.Unauthorized,
			"send an API key, which begins with atlas_, or an access token: Authorization: Bearer <token>",
		)
	case len(header) > 1:
		return "", fault.New(fault.Unauthorized, "send one Authorization header")
	case len(header[0]) > MaxHeader:
		return "", fault.New(fault.Unauthorized, "the Authorization header is longer than %d bytes", MaxHeader)
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return "", fault.New(
			fault.Unauthorized,
			"the header must be Authorization: Bearer <token>, with an API key, which begins with atlas_, or an access token",
		)
	}
	return token, nil
}

// authenticateKey looks up a key and compares its secret. Every rejection of a complete key
// has the same message.
func (a *Authenticator) authenticateKey(ctx context.Context, token string) (Identity, error) {
	refuse := func(cause error) (Identity, error) {
		return Identity{}, fault.Wrap(
			cause,
			fault.Unauthorized,
			"the API key is not valid: no key of this service has this text; atlas key create makes another",
		)
	}
	id, secret, err := workspace.ParseKey(token)
	switch {
	case errors.Is(err, workspace.ErrChecksum):
		return Identity{}, fault.Wrap(err, fault.Unauthorized, "the API key has a typing error: its checksum, the last 6 characters, is another")
	case err != nil:
		return Identity{}, fault.Wrap(
			err,
			fault.Unauthorized,
			"the API key is not complete: %s; this one has %d",
			workspace.KeyText,
			len(token),
		)
	}
	if _, ok := a.unknownKeys.get(id); ok {
		return refuse(nil)
	}
	start := a.now()
	look := func(ctx context.Context) (workspace.KeyRecord, error) { return a.store.KeyByID(ctx, id) }
	_, cached := a.keys.get(id)
	record, err := loadBounded(ctx, a.keys, a.coldKeys, id, look)
	if err == nil && cached && !matches(secret, record) {
		// The key may have been rotated since. With guessed secrets this is one look-up in 4 s, and
		// the key stays in the cache: guessing does not make it a cold look-up.
		if _, recently := a.mismatched.get(id); !recently {
			a.mismatched.put(id, struct{}{}, start)
			record, err = a.keys.renew(ctx, id, look)
		}
	}
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		a.unknownKeys.put(id, struct{}{}, start)
		return refuse(err)
	case err != nil:
		return Identity{}, unavailable(err)
	case secret.Matches(record.Hash):
		return Identity{Kind: ByKey, key: record.Key, secret: record.Hash}, nil
	case record.OldUntil != nil && secret.Matches(record.OldHash):
		return Identity{Kind: ByKey, key: record.Key, secret: record.OldHash, replaced: true}, nil
	}
	return refuse(nil)
}

// matches reports whether a secret is the current one of a key, or the one before the last
// rotation.
func matches(secret workspace.Secret, k workspace.KeyRecord) bool {
	return secret.Matches(k.Hash) || k.OldUntil != nil && secret.Matches(k.OldHash)
}

// refusal returns why a key is currently not valid in a workspace, which it may not be
// granted.
func (a *Authenticator) refusal(i Identity, in workspace.ID) error {
	now := a.now()
	switch reason := i.key.Refusal(now); {
	case reason != "":
		return fault.New(fault.Forbidden, "%s", reason)
	case i.replaced && !now.Before(*i.key.OldUntil):
		return fault.New(fault.Forbidden, "this secret of the API key has expired: the key was rotated and has another one")
	case !i.key.Admits(i.from):
		return fault.New(fault.Forbidden, "this API key may not be used from this network")
	case slices.Contains(i.key.EndedIn, in):
		return fault.New(fault.Forbidden, "this API key was revoked in this workspace")
	case !i.key.Grants(in):
		return notMember(nil)
	}
	return nil
}

// loadBounded is cache.load, but a look-up of a key that was never found needs one of the
// slots of coldKeys. The look-up holds it until it ends, even if its caller leaves.
func loadBounded[K comparable, V any](
	ctx context.Context,
	c *cache[K, V],
	slots chan struct{},
	k K,
	look func(context.Context) (V, error),
) (V, error) {
	return c.load(ctx, k, func(ctx context.Context) (v V, err error) {
		if !c.seen(k) {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			default:
				return v, fault.BackendUnavailable(fault.Shed("too many strangers are looked up"), "authentication")
			}
		}
		return look(ctx)
	})
}

// unavailable converts any error of a look-up to fault.Unavailable.
func unavailable(err error) error {
	if fault.CodeOf(err) == fault.Unavailable {
		return err
	}
	return fault.BackendUnavailable(err, "authentication")
}

// Resolve returns the workspace of a request. given are the values of the workspace_id
// parameter; required says whether this route requires it of users. Errors: fault.BadRequest;
// fault.InvalidInput when it is not a UUID or given twice; fault.Unavailable.
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
	case i.Kind == ByKey && len(i.key.Workspaces) > 0 && !i.key.DefaultDeleted:
		return i.key.Workspaces[0], nil
	case i.Kind == ByKey:
		// A request for a deleted workspace must not reach another one.
		return workspace.ID{}, fault.New(fault.BadRequest, "the default workspace of this API key was deleted: give workspace_id")
	case required:
		return workspace.ID{}, fault.New(
			fault.BadRequest,
			"an access token needs the query parameter workspace_id here, such as ?workspace_id=0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10",
		)
	case i.user.workspace != nil:
		return *i.user.workspace, nil
	case !i.Own().Workspace.IsZero():
		return i.Own().Workspace, nil
	}
	id, err := loadBounded(ctx, a.onlyWorkspaces, a.coldMembers, i.user.id, func(ctx context.Context) (workspace.ID, error) {
		return a.store.OnlyWorkspace(ctx, i.user.id)
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return workspace.ID{}, fault.New(
			fault.BadRequest,
			"which workspace? give the query parameter workspace_id, such as ?workspace_id=0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10",
		)
	case err != nil:
		return workspace.ID{}, unavailable(err)
	}
	return id, nil
}

func badParameter(message string) error {
	return fault.Validation(fault.Issue{Code: fault.InvalidFormat, Path: []string{"workspace_id"}, Message: message})
}

// Authorize checks that the key is valid in the workspace, or the user is a member,
// and that the workspace's plan is Pro. Errors: fault.Forbidden, fault.Unavailable.
func (a *Authenticator) Authorize(ctx context.Context, i Identity, in workspace.ID) (Principal, error) {
	if in.IsZero() { // a valid UUID, but no workspace has it
		return Principal{}, notMember(nil)
	}
	p := Principal{Kind: i.Kind}
	var err error
	switch i.Kind {
	case ByKey:
		if err := a.refusal(i, in); err != nil {
			return Principal{}, err
		}
		p.Key, p.Secret, p.Scopes, p.Budget = i.key.ID, i.secret, i.key.Scopes, i.key.Budget
	case ByUser:
		p.User, p.Scopes = i.user.id, i.user.scopes
		p.Email, p.Name = i.user.email, i.user.name
		p.Own = i.Own()
		if i.session != nil {
			p.Began = i.session.began
		}
		if !p.Own.Workspace.IsZero() && p.Own.Workspace != in {
			return Principal{}, errOtherWorkspace
		}
		p.Role, err = a.role(ctx, in, i.user.id)
		if fault.CodeOf(err) == fault.NotFound {
			return Principal{}, notMember(err)
		}
		if err != nil {
			return Principal{}, unavailable(err)
		}
		if err := a.admits(ctx, i, in); err != nil {
			return Principal{}, err
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
		a.toucher.touch(grant{p.Key, in}, i.from)
	}
	return p, nil
}

func notMember(cause error) error {
	return fault.Wrap(cause, fault.Forbidden, "you have no access to the workspace")
}

// Forget drops what is cached about a user's membership of a workspace, after this process
// changed it, so that the change takes effect here at once. Other processes, and look-ups in
// progress, follow within 4 s.
func (a *Authenticator) Forget(in workspace.ID, user workspace.UserID) {
	a.roles.drop(membership{in, user})
	a.onlyWorkspaces.drop(user)
	a.signedOut.drop(user)
	a.membersOut.drop(membership{in, user})
}

// ForgetGate drops the cached sign-in rules of a workspace, as Forget does.
func (a *Authenticator) ForgetGate(in workspace.ID) { a.gates.drop(in) }

// ForgetKey drops what is cached about a key, as Forget does.
func (a *Authenticator) ForgetKey(id workspace.KeyID) { a.keys.drop(id) }
