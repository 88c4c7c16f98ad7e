package oidc

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"atlas/internal/fault"
)

// reason is why something failed, in words of this program: it has nothing from a token, a
// person or the provider, so it may be logged.
type reason string

func (r reason) Error() string { return string(r) }

// unreadable is the reason without a more exact one.
const unreadable reason = "the answer cannot be read"

// ambiguous is the reason of claims that are not used.
const ambiguous reason = "the claims are of another subject, or ambiguous"

// reasonOf is the loggable form of an error: a reason, or the sentence of a fault.
func reasonOf(err error) string {
	if r, ok := errors.AsType[reason](err); ok {
		return string(r)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Message
	}
	return string(unreadable)
}

// tokenReasons are reasons by the beginning of the library's errors; the rest of these has
// claims. Longer beginnings come first.
var tokenReasons = []struct {
	beginning string
	reason    reason
}{
	{"oidc: id token issued by a different provider", "the ID token is another issuer's"},
	{"oidc: expected audience", "the ID token is for another application"},
	{"oidc: current time", "the ID token is not valid yet"},
	{"oidc: id token signed with unsupported algorithm", "the ID token is signed by an algorithm that is not accepted"},
	{"oidc: malformed jwt", "the ID token cannot be read, or is signed by an algorithm that is not accepted"},
	{"oidc: failed to unmarshal claims", "the claims of the ID token cannot be read"},
	{"failed to verify signature: " + keysAway, "the provider's keys cannot be read"},
	{"failed to verify signature", "the signature of the ID token is by no key of the provider"},
}

// tokenReason is why the library refuses an ID token.
func tokenReason(err error) error {
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return reason("the ID token has expired")
	}
	for _, known := range tokenReasons {
		if strings.HasPrefix(err.Error(), known.beginning) {
			return known.reason
		}
	}
	return reason("the ID token is refused")
}

// codeReason is why the provider refused, by its code if it is a standard one.
func codeReason(code string) reason {
	if slices.Contains(declined, code) || slices.Contains(standardCodes, code) {
		return reason("the provider answers " + code)
	}
	return "the provider answers an error that is no standard's"
}

// standardCodes are the codes of RFC 6749, 4.1.2.1 and 5.2, that are not in another list.
var standardCodes = []string{
	"invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope", "server_error", "temporarily_unavailable",
	"invalid_client", "invalid_grant", "unsupported_grant_type",
}

// exchangeError returns an error of the token endpoint without the provider's text, which may
// have tokens. No answer, and a failure of the provider, are fault.Unavailable.
func exchangeError(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return away(withoutText(err))
	case answer.Response.StatusCode >= 500:
		return away(reason("status " + strconv.Itoa(answer.Response.StatusCode)))
	}
	return codeReason(answer.ErrorCode)
}

// withoutText is an error of a call about a person, with only the status of the answer.
func withoutText(err error) error {
	_, call := errors.AsType[*url.Error](err)
	if call || statusText.MatchString(err.Error()) { // it has nothing of a body
		return reason(brief(err).Error())
	}
	return unreadable
}
