// Package release says which build of Atlas a program is. It is the one source of the
// version: commands, metrics, traces and the OpenAPI document show what it returns.
package release

import "runtime/debug"

// stamped is set by scripts/build: ATLAS_VERSION, or the output of git describe.
var stamped string

// Unknown is the version of a build without any version information.
const Unknown = "unknown"

// Version is the version of this binary: the one it was built with, else the VCS revision
// that the compiler recorded, else Unknown.
func Version() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Unknown
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-dirty"
		}
	}
	if revision == "" {
		return Unknown
	}
	return revision + modified
}
