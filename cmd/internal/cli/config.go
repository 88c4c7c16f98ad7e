package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"atlas/internal/telemetry"
)

// ConfigError lists everything that is wrong with a configuration. The program
// exits with status 2.
type ConfigError []string

func (e ConfigError) Error() string {
	return "the configuration is not usable:\n  - " + strings.Join(e, "\n  - ")
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

// URL checks that an option holds a URL of one of the schemes. The message
// leaves the value out: it may hold a password.
func (p *Problems) URL(option, value string, schemes ...string) {
	u, err := url.Parse(value)
	switch {
	case value == "":
		p.Add("%s is required", option)
	case err != nil || u.Host == "" && u.Path == "":
		p.Add("%s is not an address", option)
	case !slices.Contains(schemes, u.Scheme):
		p.Add("%s must begin with %s://", option, strings.Join(schemes, ":// or "))
	}
}

// Duration checks the bounds of an option, both included.
func (p *Problems) Duration(option string, d, lowest, highest time.Duration) {
	if d < lowest || d > highest {
		p.Add("%s must be %s to %s", option, lowest, highest)
	}
}

// OneOf checks an option that may be empty.
func (p *Problems) OneOf(option, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		p.Add("%s must be one of %s", option, strings.Join(allowed, ", "))
	}
}

// Log holds the log options of a long-running command.
type Log struct {
	LogLevel  string `name:"log-level" env:"ATLAS_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" help:"Least level that is logged: debug, info, warn, error."`
	LogFormat string `name:"log-format" env:"ATLAS_LOG_FORMAT" default:"json" enum:"json,text" help:"Format of log lines: json, text."`
}

// Logger writes to w.
func (c Log) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // the flag's enum: it parses
	return telemetry.NewLogger(w, level, c.LogFormat == "text")
}
