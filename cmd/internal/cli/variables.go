package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"atlas/internal/input"
)

// prefix is the prefix of all variables.
const prefix = "ATLAS_"

// unknownVariables are warnings about variables that no command knows: a misspelt setting
// would otherwise go unnoticed. Without all, only variables similar to a known one are
// reported; others may be of scripts. Kubernetes sets variables in each container for a
// service that is called atlas.
func unknownVariables(environment []string, program *kong.Node, all bool) (warnings []string) {
	var known []string
	_ = kong.Visit(program, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			known = append(known, f.Envs...)
		}
		return next(nil)
	})
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || slices.Contains(known, name) || ofKubernetes(rest) || strings.HasPrefix(rest, "TEST_") {
			continue
		}
		if meant := nearestVariable(rest, known); meant != "" {
			warnings = append(warnings, fmt.Sprintf("the variable %s means nothing: did you mean %s?", clip(name), meant))
		} else if all {
			warnings = append(warnings, fmt.Sprintf("the variable %s means nothing", clip(name)))
		}
	}
	return warnings
}

// ofKubernetes reports whether Kubernetes sets such a variable for a service whose name
// begins with atlas.
func ofKubernetes(rest string) bool {
	for _, part := range []string{"_SERVICE_HOST_", "_SERVICE_PORT_", "_PORT_"} {
		if strings.Contains("_"+rest+"_", part) {
			return true
		}
	}
	return false
}

// nearestVariable is the known variable that was probably meant: of several with the name
// as a prefix the shortest. "" if there is none.
func nearestVariable(rest string, known []string) (meant string) {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = strings.TrimPrefix(k, prefix)
	}
	if near := input.Nearest(rest, names); near != "" {
		return prefix + near
	}
	for _, name := range names {
		if strings.HasPrefix(name, rest+"_") && (meant == "" || len(name) < len(meant)) {
			meant = name
		}
	}
	if meant == "" {
		return ""
	}
	return prefix + meant
}

// warn writes warnings, a line each.
func warn(to io.Writer, program string, warnings []string) {
	for _, text := range warnings {
		fmt.Fprintf(to, "%s: %s\n", program, text)
	}
}
