package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"atlas/client"
	"atlas/cmd/internal/cli"
	"atlas/internal/input"
	"atlas/workspace"
)

// service is the address of a service with the caller's credentials.
type service struct {
	URL       string `name:"url" env:"ATLAS_URL" default:"http://127.0.0.1:8080/api/v1" placeholder:"URL" help:"Base URL of the API (default: http://127.0.0.1:8080/api/v1)."`
	APIKey    string `name:"api-key" env:"ATLAS_API_KEY" placeholder:"KEY" help:"API key."`
	Token     string `env:"ATLAS_TOKEN" placeholder:"JWT" help:"A user's access token, instead of an API key; needs --workspace."`
	Workspace string `env:"ATLAS_WORKSPACE" placeholder:"ID" help:"Workspace to act in (default: the key's)."`
}

// apiAccess has the connection options of a service.
type apiAccess struct {
	service
	RetryFor time.Duration `name:"retry-for" default:"1m" help:"How long a service that is away or busy is waited for, 0s to 24h (default: 1m)."`
}

func (a apiAccess) Check(f *cli.Problems) {
	switch {
	case a.APIKey == "" && a.Token == "":
		f.Add("give either --api-key (ATLAS_API_KEY) or --token (ATLAS_TOKEN)")
	case a.APIKey != "" && a.Token != "":
		f.Add("--api-key (ATLAS_API_KEY) and --token (ATLAS_TOKEN) are both given, and exclude each other: leave one out")
	}
	if _, err := workspace.ParseID(a.Workspace); a.Workspace != "" && err != nil {
		f.Add("--workspace (ATLAS_WORKSPACE) must be the id of a workspace, %s, and not its name", input.UUIDText)
	}
	if a.APIKey != "" && (!strings.HasPrefix(a.APIKey, "atlas_") || !printable(a.APIKey)) {
		f.Add("--api-key (ATLAS_API_KEY): not an API key, which begins with atlas_ and has 80 characters (an older one 86), without quotes and line breaks; a user's access token goes into --token")
	}
	if !printable(a.Token) {
		f.Add("--token (ATLAS_TOKEN): an access token has no blanks and line breaks")
	}
	if a.Token != "" && a.Workspace == "" {
		f.Add("--token (ATLAS_TOKEN) needs --workspace (ATLAS_WORKSPACE)")
	}
	f.Duration("--retry-for", a.RetryFor, 0, 24*time.Hour)
	if _, err := a.open(nil); err != nil && !errors.Is(err, client.ErrNoCredentials) {
		text := withoutName(err)
		if !strings.Contains(text, ": write ") { // the message says what would be right
			text += "; give one such as http://127.0.0.1:8080/api/v1"
		}
		f.Add("--url (ATLAS_URL): %s", text)
	}
}

// printable reports whether a token can be sent: one read from a file often ends in a line
// break.
func printable(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// open creates a client. observe, when not nil, receives every attempt.
func (a apiAccess) open(observe func(client.Answer)) (*client.Client, error) {
	options := []client.Option{client.WithUserAgent("atlas-cli"), client.WithWorkspace(a.Workspace)}
	retry := client.Retry{For: a.RetryFor, Longest: 30 * time.Second}
	if a.RetryFor == 0 {
		retry.Attempts = 1
	}
	options = append(options, client.WithRetry(retry))
	if token := a.APIKey + a.Token; token != "" { // only one is given
		options = append(options, client.WithToken(func(context.Context) (string, error) { return token, nil }))
	}
	if observe != nil && a.RetryFor > 0 {
		options = append(options, client.WithObserver(observe))
	}
	return client.New(a.URL, options...)
}

// Exit statuses in addition to 0, 1 and 2.
const (
	// outOfCreditsStatus: the credit ceiling or the budget of the key is reached.
	// Earlier records have been printed or written.
	outOfCreditsStatus = 4
	// interruptedStatus is the usual status after SIGINT.
	interruptedStatus = 130
)

// apiError prints an error of a service, each issue on a line of its own, and returns the
// exit status for it.
func apiError(to io.Writer, err error) error {
	say := func(status int, format string, args ...any) error {
		_, _ = fmt.Fprintf(to, "atlas: "+format+"\n", args...)
		return cli.ExitError(status)
	}
	if out, ok := errors.AsType[*client.OutOfCreditsError](err); ok {
		return say(outOfCreditsStatus, "the credits are used up%s", whenCreditsReturn(out))
	}
	e, ok := errors.AsType[*client.Error](err)
	network, isNetwork := errors.AsType[*url.Error](err)
	away := &url.URL{}
	if isNetwork {
		if u, err := url.Parse(network.URL); err == nil {
			away = u
		}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return say(interruptedStatus, "interrupted")
	case !ok && isNetwork:
		return say(1, "no service answers at %s: %v; --url (ATLAS_URL) says where it is", away.Scheme+"://"+away.Host, cause(network))
	case !ok && strings.HasPrefix(err.Error(), clientName):
		return errors.New(withoutName(err))
	case !ok:
		return err
	case e.Code == client.ErrKeyBudgetUsed:
		return say(outOfCreditsStatus, "%s", e.Message)
	case e.Code == client.ErrInvalidInput:
		lines := []string{"the service does not accept the request:"}
		for _, issue := range e.Issues {
			lines = append(lines, strings.TrimSpace(asOption(issue.Path)+" "+issue.Message+asCondition(issue)))
		}
		return say(2, "%s", strings.Join(lines, "\n  "))
	case e.Status == http.StatusNotFound && e.Code != client.ErrViewNotFound:
		return say(1, "%s (is %s the base URL of the service?)", e.Message, "--url")
	}
	return errors.New(withoutName(e))
}

// asOption is the option that set a member of a request, or the path of the member.
func asOption(path []string) string {
	if len(path) > 1 && path[0] == "filters" {
		rest := path[2:]
		if len(rest) > 0 && rest[0] == "value" {
			rest = rest[1:]
		}
		if len(rest) == 1 && strings.Trim(rest[0], "0123456789") == "" {
			rest = nil // one of several values
		}
		return strings.Join(append([]string{"--filter " + path[1]}, rest...), ".")
	}
	return strings.Join(path, ".")
}

// asCondition is the --filter form of a range that a message shows as JSON.
func asCondition(issue client.Issue) string {
	m := rangeInJSON.FindStringSubmatch(issue.Message)
	if m == nil || len(issue.Path) < 2 || issue.Path[0] != "filters" {
		return ""
	}
	return fmt.Sprintf(", which is written %s=%s..%s", issue.Path[1], m[1], m[2])
}

var rangeInJSON = regexp.MustCompile(`\["([0-9-]+)","([0-9-]+)"\]$`)

// cause is why a connection failed, without the address.
func cause(err *url.Error) error {
	if dial, ok := errors.AsType[*net.OpError](err.Err); ok && dial.Op == "dial" {
		return dial.Err
	}
	return err.Err
}

// clientName is the prefix of the client's errors. The program prints its own
// name instead.
const clientName = "atlas: "

func withoutName(err error) string { return strings.TrimPrefix(err.Error(), clientName) }

// whenCreditsReturn says how many credits there were and when they return.
func whenCreditsReturn(out *client.OutOfCreditsError) string {
	var s string
	if w := out.Window; w.Ceiling > 0 {
		s = fmt.Sprintf(": %s of %s in the last 24 hours", cli.Grouped(w.Used), cli.Grouped(w.Ceiling))
	}
	if !out.Back.IsZero() {
		s += fmt.Sprintf("; they come back 24 hours after they were spent, the last by %s", out.Back.UTC().Format(time.RFC3339))
	}
	return s
}
