package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"atlas/internal/fault"
	"atlas/workspace"
)

// verifier verifies users' tokens. The accepted algorithms come from the
// configuration, never from the token.
type verifier struct {
	parser *jwt.Parser
	secret []byte  // HS256
	keys   *keySet // JWKS
	// verifiedByDefault: an address counts as verified without email_verified.
	verifiedByDefault bool
	requireScopes     bool
	maxLifetime       time.Duration
	now               func() time.Time
}

// newVerifier returns nil when the configuration accepts only API keys.
func newVerifier(c Config) (*verifier, error) {
	if c.Secret == "" && c.JWKS == "" {
		return nil, nil
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(c.Algorithms),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), // not in the future
		jwt.WithLeeway(Leeway),
		jwt.WithTimeFunc(c.Now),
		jwt.WithStrictDecoding(),
	}
	if c.Issuer != "" {
		options = append(options, jwt.WithIssuer(c.Issuer))
	}
	if c.Audience != "" {
		options = append(options, jwt.WithAudience(c.Audience))
	}
	v := &verifier{
		parser: jwt.NewParser(options...), secret: []byte(c.Secret),
		verifiedByDefault: c.AbsentEmailVerified || c.Secret != "",
		requireScopes:     c.RequireScopes, maxLifetime: c.MaxLifetime, now: c.Now,
	}
	if c.JWKS != "" {
		keys, err := newKeySet(c)
		if err != nil {
			return nil, err
		}
		v.keys = keys
	}
	return v, nil
}

// user has the claims of a verified token.
type user struct {
	id            workspace.UserID
	email, name   string
	emailVerified bool
	workspace     *workspace.ID
	scopes        []workspace.Scope
}

var errKeyInHeader = errors.New("the token's header brings its own key, or extensions")

// verify verifies a token and returns its claims. Errors: fault.Unauthorized;
// fault.Unavailable while the signing keys are not available.
func (v *verifier) verify(ctx context.Context, token string) (user, error) {
	var c claims
	parsed, err := v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		for _, name := range []string{"jku", "x5u", "jwk", "crit"} {
			if _, there := t.Header[name]; there {
				return nil, errKeyInHeader
			}
		}
		if v.keys == nil {
			return v.secret, nil
		}
		return v.keys.key(ctx)(t)
	})
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return user{}, f
	}
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return user{}, fault.Wrap(err, fault.Unauthorized, "the access token has expired")
	case err != nil:
		return user{}, badToken(err)
	}
	if err := errors.Join(c.checkKind(parsed.Header["typ"]), c.checkLifetime(v.maxLifetime, v.now())); err != nil {
		return user{}, badToken(err)
	}
	u := user{}
	if u.scopes, err = c.scopes(v.requireScopes); err != nil {
		return user{}, badToken(err)
	}
	if u.id, err = workspace.ParseUserID(c.Subject); err != nil || u.id.IsZero() {
		return user{}, badToken(errors.New("sub is no UUID"))
	}
	if u.workspace, err = c.workspace(); err != nil {
		return user{}, badToken(err)
	}
	p := c.profile(v.verifiedByDefault)
	u.email, u.emailVerified, u.name = p.Email, p.EmailVerified, p.Name
	return u, nil
}

func badToken(cause error) error {
	return fault.Wrap(cause, fault.Unauthorized, "the access token is not valid")
}

// Claims are what Mint puts into a token.
type Claims struct {
	User workspace.UserID
	// Email is marked as verified.
	Email, Name string
	// Workspace is the workspace_id claim; zero omits it.
	Workspace workspace.ID
	// Issuer and Audience are omitted when empty.
	Issuer, Audience string
	// IssuedAt is the start of the token's lifetime; zero means now.
	IssuedAt time.Time
}

// Mint signs a token (HS256) that is valid for ttl, for development. secret has at
// least MinSecret bytes.
func Mint(secret string, c Claims, ttl time.Duration) (string, error) {
	if len(secret) < MinSecret {
		return "", fmt.Errorf("the JWT secret must have at least %d bytes", MinSecret)
	}
	if c.User.IsZero() {
		return "", errors.New("a token needs a user")
	}
	if ttl <= 0 {
		return "", errors.New("a token's life must be longer than 0")
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = time.Now()
	}
	out := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: c.User.String(), Issuer: c.Issuer,
			IssuedAt: jwt.NewNumericDate(c.IssuedAt), ExpiresAt: jwt.NewNumericDate(c.IssuedAt.Add(ttl)),
		},
		Email: optionalText(c.Email), Name: optionalText(c.Name),
	}
	if c.Email != "" {
		out.EmailVerified = json.RawMessage(`true`)
	}
	if c.Audience != "" {
		out.Audience = jwt.ClaimStrings{c.Audience}
	}
	if !c.Workspace.IsZero() {
		out.WorkspaceID = json.RawMessage(`"` + c.Workspace.String() + `"`)
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, &out).SignedString([]byte(secret))
}
