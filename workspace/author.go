package workspace

import "context"

// Author is who makes a change in a workspace, as recorded in its history: a user, an API
// key, or the identity provider that has a SCIM token. The zero value is the operator, or
// Atlas itself.
type Author struct {
	User UserID
	Key  KeyID
	SCIM SCIMTokenID
}

// Text is "user:", "key:" or "scim:" and the id, "" for the zero value.
func (a Author) Text() string {
	switch {
	case !a.User.IsZero():
		return "user:" + a.User.String()
	case !a.Key.IsZero():
		return "key:" + a.Key.String()
	case !a.SCIM.IsZero():
		return "scim:" + a.SCIM.String()
	}
	return ""
}

type authorKey struct{}

// WithAuthor returns a context whose changes are a's.
func WithAuthor(ctx context.Context, a Author) context.Context {
	return context.WithValue(ctx, authorKey{}, a)
}

// AuthorOf returns who makes the changes of a context.
func AuthorOf(ctx context.Context) Author {
	a, _ := ctx.Value(authorKey{}).(Author)
	return a
}
