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

// verifier checks users' tokens. Its parser knows the algorithms from the
// configuration, never from the token.
type verifier struct {
	parser *jwt.Parser
	secret []byte  // HS256
	keys   *keySet // JWKS
	// absentVerified: an address counts as verified when its token does not say.
	verifiedByDefault bool
}

// newVerifier returns nil when the configuration accepts no users' tokens.
func newVerifier(c Config) (*verifier, error) {
	if c.Secret == "" && c.JWKS == "" {
		return nil, nil
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(c.Algorithms),
		jwt.WithExpirationRequired(),
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

// user is what a verified token says.
type user struct {
	id            workspace.UserID
	email, name   string
	emailVerified bool
	workspace     *workspace.ID
}

var errKeyInHeader = errors.New("the token's header brings its own key, or extensions")

// verify checks a token and reads its claims: fault.Unauthorized, or
// fault.Unavailable while no signing key could ever be read.
func (v *verifier) verify(ctx context.Context, token string) (user, error) {
	var c claims
	_, err := v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
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
	if away, ok := errors.AsType[*fault.Error](err); ok {
		return user{}, away
	}
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return user{}, fault.Wrap(err, fault.Unauthorized, "the access token has expired")
	case err != nil:
		return user{}, badToken(err)
	}
	u := user{}
	if u.id, err = workspace.ParseUserID(c.Subject); err != nil || u.id.IsZero() {
		return user{}, badToken(fmt.Errorf("sub %q is no UUID", c.Subject))
	}
	if u.workspace, err = c.workspace(); err != nil {
		return user{}, badToken(err)
	}
	// What could not be stored or compared is as good as not said.
	if workspace.ValidEmail(string(c.Email)) {
		u.email = string(c.Email)
		u.emailVerified = c.isEmailVerified(v.verifiedByDefault)
	}
	if workspace.ValidName(string(c.Name)) {
		u.name = string(c.Name)
	}
	return u, nil
}

func badToken(cause error) error {
	return fault.Wrap(cause, fault.Unauthorized, "the access token is not valid")
}

// Claims are what Mint puts into a token.
type Claims struct {
	User workspace.UserID
	// Email is said to be verified.
	Email, Name string
	// Workspace is the workspace_id claim; zero leaves it out.
	Workspace workspace.ID
	// Issuer and Audience are left out when empty.
	Issuer, Audience string
	// IssuedAt is the token's begin; zero is now.
	IssuedAt time.Time
}

// Mint signs a token with a development secret (HS256), good for ttl. The secret
// has at least MinSecret bytes.
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
