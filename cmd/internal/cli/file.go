package cli

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"atlas/internal/input"
)

// configFile is the path of a file of options. Its keys are options that have an
// environment variable, and names of commands; below a command, all of its options.
//
//	postgres-system-url: postgres://…
//	serve:
//	  drain: 30s
//	index:
//	  load:
//	    shards: 4
type configFile string

// BeforeResolve reads the file. It adds problems to faults.
func (configFile) BeforeResolve(k *kong.Context, trace *kong.Path, faults *Problems) error {
	path := string(k.FlagValue(trace.Flag).(configFile))
	given := slices.ContainsFunc(k.Path, func(p *kong.Path) bool { return p.Flag == trace.Flag })
	if path == "" || !given && takesNoSettings(k.Selected()) {
		return nil
	}
	raw, err := os.ReadFile(path) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		faults.Add("--config (ATLAS_CONFIG): %v", err)
		return nil
	}
	var file map[string]any
	if err := yaml.Unmarshal(raw, &file); err != nil {
		// Without the lines of the file, which may contain secrets.
		faults.Add("--config (ATLAS_CONFIG): %s is neither YAML nor JSON with options: %s", path, yaml.FormatError(err, false, false))
		return nil
	}
	settings := fileSettings{path: path, of: map[string]any{}, faults: faults}
	settings.take(k.Model.Node, file, settingsOf(k.Model.Node), commandsOf(k.Selected()))
	k.AddResolver(settings)
	return nil
}

// takesNoSettings reports whether a command works without the file of ATLAS_CONFIG.
func takesNoSettings(n *kong.Node) bool {
	return n != nil && n.Target.CanAddr() &&
		slices.Contains([]reflect.Type{reflect.TypeFor[versionCmd](), reflect.TypeFor[completionCmd]()}, n.Target.Type())
}

// fileSettings are the options of the command in a file.
type fileSettings struct {
	path   string
	of     map[string]any
	faults *Problems
}

// commandsOf are a command and its parent commands, without the program.
func commandsOf(n *kong.Node) (all []*kong.Node) {
	for ; n != nil && n.Parent != nil; n = n.Parent {
		all = append(all, n)
	}
	return all
}

// settingsOf are the variables of the options of a command and of its subcommands, by the
// name of the option. A name without a variable is an option of one command only.
func settingsOf(n *kong.Node) map[string][]string {
	known := map[string][]string{}
	_ = kong.Visit(n, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok && len(f.Envs) > 0 && !f.Hidden && !slices.Contains(known[f.Name], f.Envs[0]) {
			known[f.Name] = append(known[f.Name], f.Envs[0])
		}
		return next(nil)
	})
	delete(known, "config")
	return known
}

// take takes the values of a node. Values of inner commands win, so it goes from the
// outside in.
func (s fileSettings) take(n *kong.Node, values map[string]any, known map[string][]string, selected []*kong.Node) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == key }); i >= 0 {
			continue
		}
		switch envs, ok := known[key]; {
		case !ok:
			s.faults.Add(
				"%s: there is no option %s%s%s",
				s.path,
				key,
				below(n),
				input.DidYouMean(
					"; ",
					strings.TrimPrefix(key, prefix),
					slices.Concat(slices.Collect(maps.Keys(known)), names(n.Children)),
					"",
				),
			)
		case len(envs) > 1:
			s.faults.Add("%s: %s is another thing for other commands (%s): put it below the command", s.path, key, strings.Join(envs, ", "))
		default:
			s.of[key] = values[key]
		}
	}
	for _, c := range n.Children {
		value, ok := values[c.Name]
		if !ok {
			continue
		}
		own, ok := value.(map[string]any)
		if !ok {
			s.faults.Add("%s: %s is a command, so its options stand below it", s.path, c.Path())
			continue
		}
		options := settingsOf(c)
		for _, f := range c.Flags {
			if f.Name != "help" {
				options[f.Name] = nil
			}
		}
		into := s
		if !slices.Contains(selected, c) {
			into.of = map[string]any{} // checked, but not for this command
		}
		into.take(c, own, options, selected)
	}
}

func below(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return " of " + n.FullPath()
}

// Validate implements kong.Resolver.
func (s fileSettings) Validate(*kong.Application) error { return nil }

// Resolve returns the value of an option, unless a variable gives it.
func (s fileSettings) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	value, ok := s.of[f.Name]
	if !ok || value == nil {
		return nil, nil
	}
	for _, e := range f.Envs {
		if _, set := os.LookupEnv(e); set {
			return nil, nil
		}
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	texts := make([]string, len(list))
	for i, element := range list {
		switch element.(type) {
		case nil, map[string]any, []any:
			s.faults.Add("%s: %s: what stands below it is no value", s.path, f.Name)
			return nil, nil
		}
		texts[i] = fmt.Sprint(element)
	}
	switch {
	case !ok || !f.IsSlice() && len(texts) == 1:
		return texts[0], nil
	case !f.IsSlice():
		s.faults.Add("%s: %s takes one value, and not %d", s.path, f.Name, len(texts))
		return nil, nil
	case f.Tag.Sep == -1: // kong cannot split a text of several values
		for i := range list {
			list[i] = texts[i]
		}
		return list, nil
	}
	return kong.JoinEscaped(texts, f.Tag.Sep), nil
}
