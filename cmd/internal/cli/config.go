package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"atlas/internal/telemetry"
)

// ConfigError lists everything that is wrong with a configuration. The program
// exits with status 2.
type ConfigError []string

func (e ConfigError) Error() string { return strings.Join(e, "\n") }

// print prints each problem on a line, followed by a pointer to the options of the command.
func (e ConfigError) print(to io.Writer, command string) {
	if len(e) == 1 {
		_, _ = fmt.Fprintf(to, "%s: %s\n", command, e[0])
	} else {
		_, _ = fmt.Fprintf(to, "%s: %d things are wrong:\n", command, len(e))
		for _, problem := range e {
			_, _ = fmt.Fprintf(to, "  %s\n", strings.ReplaceAll(problem, "\n", "\n  "))
		}
	}
	_, _ = fmt.Fprintf(to, "%s --help lists what there is\n", command)
}

// Problems collects what is wrong with a configuration, so that one error
// reports all of it.
type Problems []string

// Add appends a problem.
func (p *Problems) Add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// AddError appends each error that err joins; nil adds nothing.
func (p *Problems) AddError(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			p.AddError(e)
		}
	} else if err != nil {
		p.Add("%v", err)
	}
}

// Err is a ConfigError with all problems, nil when there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return ConfigError(p)
}

// URL checks that an option is a URL of one of the schemes. The message leaves the value
// out: it may contain a password.
func (p *Problems) URL(option, value string, schemes ...string) {
	p.URLLike(option, value, exampleURLs[schemes[0]], schemes...)
}

// URLLike is URL with an example of its own.
func (p *Problems) URLLike(option, value, such string, schemes ...string) {
	u, err := url.Parse(value)
	switch {
	case value == "":
		p.Add("%s is required, such as %s", option, such)
	case err == nil && !slices.Contains(schemes, u.Scheme):
		p.Add("%s must begin with %s://, such as %s", option, strings.Join(schemes, ":// or "), such)
	case err != nil || u.Host == "" && u.Path == "":
		p.Add("%s is not an address: give one such as %s", option, such)
	}
}

// exampleURLs are the examples in messages, by scheme.
var exampleURLs = map[string]string{
	"http": "http://127.0.0.1:9200", "https": "https://host.example",
	"postgres": "postgres://user:password@host:5432/atlas", // #nosec G101 -- an example
}

// Address checks that an option holds an address to listen on.
func (p *Problems) Address(option, value, example string) {
	_, port, err := net.SplitHostPort(value)
	if _, unknown := net.LookupPort("tcp", port); err != nil || unknown != nil {
		bound := ""
		if err == nil && strings.Trim(port, "0123456789") == "" {
			bound = ", and the port at most 65535"
		}
		p.Add("%s must be host:port, such as %s%s", option, example, bound)
	}
}

// Duration checks the bounds of an option, both included.
func (p *Problems) Duration(option string, d, lowest, highest time.Duration) {
	if d < lowest || d > highest {
		p.Add("%s must be %s to %s, not %s", option, shortest(lowest), shortest(highest), shortest(d))
	}
}

// shortest formats a duration without zero units: 10m, not 10m0s.
func shortest(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok {
			text = cut + zero[:1]
		}
	}
	return text
}

// Log holds the log options of a long-running command.
type Log struct {
	LogLevel  string `name:"log-level" env:"ATLAS_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged: debug, info, warn, error."`
	LogFormat string `name:"log-format" env:"ATLAS_LOG_FORMAT" default:"json" enum:"json,text" help:"Format of log lines: json, text."`
}

// Logger writes to w.
func (c Log) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // the flag's enum guarantees that it parses
	return telemetry.NewLogger(w, level, c.LogFormat == "text")
}
