package cli

import (
	"fmt"
	"runtime"

	"github.com/alecthomas/kong"

	"atlas/internal/release"
)

// Globals are the options and commands that every program has.
type Globals struct {
	Config      configFile  `env:"ATLAS_CONFIG" type:"path" placeholder:"FILE" help:"YAML or JSON file of options. Flags and environment variables win over it."`
	ShowVersion versionFlag `name:"version" help:"Print the version."`

	Version    versionCmd    `cmd:"" help:"Print the version, and what it was built with."`
	Help       helpCmd       `cmd:"" help:"Show the help of a command."`
	Completion completionCmd `cmd:"" help:"Print a script with which a shell completes commands, options and values."`
}

// versionFlag prints the version instead of running a command.
type versionFlag bool

// BeforeReset implements a hook of kong.
func (versionFlag) BeforeReset(k *kong.Kong, s *Streams) error {
	_, err := fmt.Fprintln(s.Out, k.Model.Name, release.Version())
	k.Exit(0)
	return err
}

// IgnoreDefault allows the option beside default commands.
func (versionFlag) IgnoreDefault() {}

type versionCmd struct{ Output }

// Run prints the version.
func (c *versionCmd) Run(k *kong.Kong, s *Streams) error {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	return c.Print(s.Out, struct {
		Program  string `json:"program"`
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{k.Model.Name, release.Version(), runtime.Version(), platform},
		"PROGRAM VERSION GO PLATFORM", [][]string{{k.Model.Name, release.Version(), runtime.Version(), platform}})
}

// helpCmd lists help among the commands. Program.Run shows it.
type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command; without it, all are listed."`
}
