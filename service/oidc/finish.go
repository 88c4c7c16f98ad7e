package oidc

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/session"
)

// Failure is why signing in failed, as the Explorer explains it.
type Failure string

// The failures of Finish.
const (
	// Expired: this browser did not begin the sign-in, or finished it, or it is too old.
	Expired Failure = "expired"
	// Declined: the person or the provider refused.
	Declined Failure = "declined"
	// Away: the provider, or this service, is unavailable.
	Away Failure = "away"
	// Refused: the provider's answer cannot be used.
	Refused Failure = "refused"
)

// FailureOf returns the failure of an error of Begin or Finish.
func FailureOf(err error) Failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.Failure
	}
	if fault.CodeOf(err) == fault.Unavailable {
		return Away
	}
	return Refused
}

type failure struct {
	Failure
	cause error
}

func (f *failure) Error() string { return string(f.Failure) + ": " + f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

// Finish takes the provider's answer about a person, which are the parameters of the
// callback, and the cookie of Begin. It returns the grant for their session, and the address
// to return to, also after an error. See FailureOf for errors.
func (s *SignIn) Finish(ctx context.Context, cookie string, answer url.Values) (g session.Grant, back string, err error) {
	f, err := s.open(cookie)
	if err == nil && subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(f.State)) != 1 {
		err = reason("the state is another sign-in's")
	}
	if err != nil {
		return g, "/", &failure{Expired, err}
	}
	g, err = s.finishOnce(ctx, f, answer)
	if err != nil {
		s.c.Log.Warn("signing in failed", "issuer", s.c.Issuer, "failure", FailureOf(err), "error", reasonOf(err))
	}
	return g, f.Return, err
}

// finishOnce finishes a flow for the first time, unless too many others are being finished.
func (s *SignIn) finishOnce(ctx context.Context, f flow, answer url.Values) (g session.Grant, err error) {
	if !s.finishing.TryAcquire(1) {
		return g, &failure{Away, reason("too many sign-ins are being finished")}
	}
	defer s.finishing.Release(1)
	first, err := s.flows.First(ctx, f.State, Lifetime)
	if err == nil && !first {
		err = &failure{Expired, reason("the sign-in was finished already")}
	}
	if err != nil {
		return g, err
	}
	return s.finish(ctx, f, answer)
}

func (s *SignIn) finish(ctx context.Context, f flow, answer url.Values) (g session.Grant, err error) {
	if err := answered(answer); err != nil {
		return g, err
	}
	if issuer := answer.Get("iss"); issuer != "" && issuer != s.c.Issuer { // RFC 9207
		return g, reason("the answer is another issuer's")
	}
	p, err := s.discover(ctx)
	if err != nil {
		return g, err
	}
	token, err := p.oauth.Exchange(s.with(ctx), answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return g, fmt.Errorf("exchanging the code: %w", exchangeError(err))
	}
	id, err := s.verify(ctx, p.verifier, token)
	if err != nil {
		return g, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return g, reason("the nonce is another sign-in's")
	}
	claimed, err := s.claims(ctx, p, token, id)
	if err != nil {
		return g, err
	}
	g, err = s.admission.admit(ctx, claimed)
	g.Subject, g.Refresh = id.Subject, token.RefreshToken
	return g, err
}

// service admits people by the provider of the service.
type service struct {
	users Users
	c     Config
}

func (s *service) admit(ctx context.Context, id claims) (g session.Grant, err error) {
	profile, err := id.profile()
	if err != nil {
		return g, err
	}
	account := auth.AccountID(s.c.Issuer, id.subject, s.c.SubjectsAreIDs)
	if profile.EmailVerified {
		if _, err := s.users.ClaimUser(ctx, account, profile.Email); err != nil {
			return g, err
		}
	}
	return session.Grant{User: auth.User{ID: account, Email: profile.Email, EmailVerified: profile.EmailVerified, Name: profile.Name}}, nil
}

func (s *service) renewed(context.Context, session.Grant, claims) error { return nil }

// answered refuses an answer that is an error (RFC 6749, 4.1.2.1).
func answered(answer url.Values) error {
	switch code := answer.Get("error"); {
	case code == "":
		return nil
	case slices.Contains(declined, code):
		return &failure{Declined, codeReason(code)}
	case code == "temporarily_unavailable" || code == "server_error":
		return &failure{Away, codeReason(code)}
	default:
		return codeReason(code)
	}
}

// declined are the errors of a provider that needs the person to continue (RFC 6749, OpenID
// Connect Core, 3.1.2.6).
var declined = []string{"access_denied", "consent_required", "interaction_required", "login_required", "account_selection_required"}

// verify checks the ID token of an answer: signature, issuer, audience and time.
func (s *SignIn) verify(ctx context.Context, by *oidc.IDTokenVerifier, token *oauth2.Token) (*oidc.IDToken, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, reason("the answer has no ID token")
	}
	id, err := by.Verify(s.with(ctx), raw)
	if err != nil {
		return nil, tokenReason(err)
	}
	var more struct {
		AuthorizedParty string `json:"azp"`
	}
	if id.Claims(&more) != nil {
		return nil, reason("the claims of the ID token cannot be read")
	}
	switch {
	case more.AuthorizedParty == "" && len(id.Audience) > 1, more.AuthorizedParty != "" && more.AuthorizedParty != s.c.ClientID:
		return nil, reason("the ID token is for another application too") // OpenID Connect Core, 3.1.3.7
	case id.Subject == "" || len(id.Subject) > 255:
		return nil, reason("the ID token has no usable subject")
	}
	return id, nil
}

// claims returns the provider's claims about a person. Some put the address into the ID
// token, others only into the userinfo answer.
func (s *SignIn) claims(ctx context.Context, p *provider, token *oauth2.Token, id *oidc.IDToken) (claimed claims, err error) {
	var raw json.RawMessage
	if err := id.Claims(&raw); err != nil {
		return claimed, err
	}
	claimed = claims{subject: id.Subject, raw: []json.RawMessage{raw}}
	found, err := claimed.profile()
	if err != nil || found.Email != "" && s.c.Workspace.IsZero() || p.UserInfoEndpoint() == "" {
		return claimed, err
	}
	more, err := s.userInfo(ctx, p, token)
	switch {
	case err != nil && found.Email != "":
		claimed.partial = true
		return claimed, nil // the ID token identified them
	case err != nil:
		return claimed, err
	}
	claimed.raw = append(claimed.raw, more)
	if _, err := auth.ReadProfile(more, id.Subject); err != nil {
		return claimed, ambiguous
	}
	return claimed, nil
}

func (s *SignIn) userInfo(ctx context.Context, p *provider, token *oauth2.Token) (raw json.RawMessage, err error) {
	info, err := p.UserInfo(s.with(ctx), oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, away(withoutText(err))
	}
	return raw, info.Claims(&raw)
}

// profile returns the person's profile from the first object that has an address. All are of
// the subject.
func (c claims) profile() (found auth.Profile, err error) {
	for _, raw := range c.raw {
		if found, err = auth.ReadProfile(raw, c.subject); err != nil {
			return found, ambiguous
		}
		if found.Email != "" {
			break
		}
	}
	return found, nil
}

// Renew exchanges the refresh token of a session for the next one. Errors:
// fault.Unauthorized when the person must sign in again, fault.Unavailable when the provider
// does not answer.
func (s *SignIn) Renew(ctx context.Context, g session.Grant) (next string, err error) {
	p, err := s.discover(ctx)
	if err != nil {
		return "", err
	}
	token, err := p.oauth.TokenSource(s.with(ctx), &oauth2.Token{RefreshToken: g.Refresh}).Token()
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok &&
		(answer.ErrorCode == "invalid_grant" || slices.Contains(declined, answer.ErrorCode)) {
		return "", fault.Wrap(err, fault.Unauthorized, "the provider has ended the session")
	}
	if err != nil {
		err = exchangeError(err)
		s.c.Log.Warn("a session could not be renewed", "issuer", s.c.Issuer, "error", reasonOf(err))
		return "", err
	}
	claimed := claims{subject: g.Subject}
	if token.Extra("id_token") != nil {
		id, err := s.verify(ctx, p.renewed, token)
		if err != nil || id.Subject != g.Subject {
			return "", fault.Wrap(err, fault.Unauthorized, "the provider renewed another session")
		}
		if claimed, err = s.claims(ctx, p, token, id); err != nil {
			s.c.Log.Warn("the claims of a renewed session cannot be read", "issuer", s.c.Issuer, "error", reasonOf(err))
			claimed = claims{subject: g.Subject}
		}
	}
	return token.RefreshToken, s.admission.renewed(ctx, g, claimed)
}
