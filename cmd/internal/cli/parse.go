package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"atlas/internal/input"
	"atlas/workspace"
)

// parse parses the arguments, with environment and file, and checks the options of the
// command. Its error is a ConfigError with all faults, including those of the file, which
// the option --config adds to file. exited reports whether an option such as --help has
// done everything.
//
// kong ends at the first fault. So mappers record a value that does not parse and continue
// with the default, and arguments that kong refuses are recorded and removed.
func parse(parser *kong.Kong, args []string, file *Problems, exited func() bool) (*kong.Context, error) {
	var refused Problems
	args = slices.Clone(args)
	for {
		values := record(parser.Model)
		*file = nil
		k, err := parser.Parse(args)
		if exited() {
			return k, nil
		}
		failed, ok := errors.AsType[*kong.ParseError](err)
		switch {
		case err == nil:
		case !ok:
			return nil, err
		case failed.Context.Error != nil:
			rest, fault := withoutRefused(failed.Context, args, len(refused) > 0)
			if fault != "" {
				refused = append(refused, fault)
			}
			if rest == nil {
				return failed.Context, refused.Err()
			}
			args = rest
			continue
		default:
			k = failed.Context
		}
		if k.Selected() == nil || commandless(k.Selected()) {
			return k, append(refused, missingCommand(k)).Err()
		}
		found := append(refused, values.of(k)...)
		found = append(found, missing(k)...)
		found = append(found, *file...)
		if err != nil && len(found) == 0 {
			found.AddError(err)
		}
		return k, checked(k, found).Err()
	}
}

// checked adds the problems that the command finds in its options. It leaves out options
// that already have a fault.
func checked(k *kong.Context, found Problems) Problems {
	command, ok := k.Selected().Target.Addr().Interface().(interface{ Check() error })
	if !ok {
		return found
	}
	err := command.Check()
	more, ok := errors.AsType[ConfigError](err)
	if !ok && err != nil {
		more = ConfigError{err.Error()}
	}
	known := slices.Clone(found)
	for _, text := range more {
		if option := optionOf(text); option == "" || !slices.ContainsFunc(known, func(p string) bool { return optionOf(p) == option }) {
			found = append(found, text)
		}
	}
	return found
}

// optionOf is the option with which a fault begins, or "".
func optionOf(fault string) string {
	return regexp.MustCompile(`^(--[a-z0-9-]+|<[a-z]+>)`).FindString(fault)
}

// commandless reports whether a node only groups commands.
func commandless(n *kong.Node) bool { return len(n.Children) > 0 && n.DefaultCmd == nil }

func missingCommand(k *kong.Context) string {
	node := cmp.Or(k.Selected(), k.Model.Node)
	return "a command is missing: " + strings.Join(names(node.Children), ", ")
}

func names(nodes []*kong.Node) (all []string) {
	for _, n := range nodes {
		if !n.Hidden {
			all = append(all, n.Name)
		}
	}
	return all
}

var (
	unknownFlag   = regexp.MustCompile(`(?s)^unknown flag (--?.+?)(?:, did you mean .*)?$`)
	extraArgument = regexp.MustCompile(`(?s)^unexpected argument (.*?)(?:, did you mean .*)?$`)
)

// withoutRefused returns the arguments without the one that kong refused, and what is wrong
// with it. The arguments are nil if the rest cannot be parsed. After another fault a
// surplus argument may be the value of an unknown flag, so it is ignored.
func withoutRefused(k *kong.Context, args []string, after bool) (rest []string, fault string) {
	node := cmp.Or(k.Selected(), k.Model.Node)
	text := k.Error.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		name := m[1]
		i := slices.IndexFunc(args, func(a string) bool {
			return a == name || strings.HasPrefix(a, name+"=") || !strings.HasPrefix(name, "--") && strings.HasPrefix(a, name)
		})
		if i < 0 {
			return nil, text
		}
		if i > 0 && takesValue(args[i-1], node) {
			fault = fmt.Sprintf("%s needs a value; one that begins with a hyphen is written %[1]s=%s", args[i-1], clip(args[i]))
			return slices.Delete(args, i-1, i+1), fault
		}
		return slices.Delete(
				args,
				i,
				i+1,
			), fmt.Sprintf(
				"there is no option %s%s",
				name,
				cmp.Or(instead(name, node), nearestOption(name, node)),
			)
	}
	if m := extraArgument.FindStringSubmatch(text); m != nil {
		known := names(node.Children)
		if len(known) > 0 {
			return nil, fmt.Sprintf(
				"there is no command %q%s",
				clip(m[1]),
				cmp.Or(input.DidYouMean("; ", m[1], known, ""), ": "+strings.Join(known, ", ")),
			)
		}
		i := len(args) - 1
		for i >= 0 && args[i] != m[1] {
			i--
		}
		if i < 0 {
			return nil, text
		}
		if !after {
			fault = fmt.Sprintf("%q is one argument too many%s", clip(m[1]), asOption(m[1], node))
		}
		return slices.Delete(args, i, i+1), fault
	}
	return nil, text
}

// takesValue reports whether an argument is an option whose value follows.
func takesValue(arg string, node *kong.Node) bool {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if arg == "--"+f.Name || f.Short != 0 && arg == "-"+string(f.Short) {
				return !f.IsBool()
			}
		}
	}
	return false
}

// asOption says which option the value of a surplus argument fits; "" if none.
func asOption(arg string, node *kong.Node) string {
	has := func(option string) bool { return slices.Contains(flagNames(node), option) }
	switch {
	case strings.Contains(arg, "=") && has("--filter"):
		return "; conditions are given by --filter"
	case strings.Contains(arg, ".") && has("--out") && has("--dataset"):
		return "; the dataset is given by --dataset"
	case strings.Contains(arg, ".") && has("--out"):
		return "; the file is given by --out"
	case !strings.HasPrefix(arg, "-") && has("--query"):
		return "; words to find are given by --query"
	}
	return ""
}

// instead says what replaces an option of other commands or programs; "" if nothing does.
func instead(name string, node *kong.Node) string {
	has := func(option string) bool { return slices.Contains(flagNames(node), option) }
	switch name {
	case "--limit":
		if has("--max-credits") {
			return "; --max-credits bounds how many records are read"
		}
	case "--out", "--offset", "--page":
		if has("--query") && has("--limit") {
			return "; --limit takes up to 10000 records, and atlas export writes all to a file"
		}
	}
	return ""
}

// nearestOption suggests the option that was probably meant by a name; "" if none is near.
func nearestOption(name string, node *kong.Node) string {
	known := flagNames(node)
	for i := range known {
		known[i] = strings.TrimPrefix(known[i], "--")
	}
	near := input.Nearest(strings.TrimLeft(name, "-"), known)
	if near == "" || !strings.HasPrefix(name, "--") {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", "--"+near)
}

// clip shortens a text that may be long, or a secret in the wrong place.
func clip(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return text
}

func flagNames(node *kong.Node) (all []string) {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			all = append(all, "--"+f.Name)
		}
	}
	return all
}

// missing are the required options and arguments without a value.
func missing(k *kong.Context) (found Problems) {
	for _, path := range k.Path {
		for _, f := range path.Flags {
			if f.Required && !f.Set {
				found.Add("%s is required: %s", option(f.Value), f.Help)
			}
		}
	}
	for _, a := range k.Selected().Positional {
		if a.Required && !a.Set {
			found.Add("%s is missing: %s", option(a), a.Help)
		}
	}
	return found
}

// option is the name of an option or argument in messages.
func option(v *kong.Value) string {
	switch {
	case v.Flag == nil:
		return "<" + v.Name + ">"
	case len(v.Tag.Envs) > 0:
		return fmt.Sprintf("--%s (%s)", v.Name, v.Tag.Envs[0])
	}
	return "--" + v.Name
}

// values are the faults of values, by option. A flag is decoded before the environment,
// and the environment before the file.
type values struct {
	faults map[*kong.Value]string
	given  map[*kong.Value]bool // by a flag
	// argument is the last value that is not in the enum of its option.
	argument string
}

// record makes the mappers of all options record faults.
func record(model *kong.Application) *values {
	v := &values{faults: map[*kong.Value]string{}, given: map[*kong.Value]bool{}}
	_ = kong.Visit(model.Node, func(node kong.Visitable, next kong.Next) error {
		if value, ok := node.(*kong.Value); ok {
			if before, recorded := value.Mapper.(*recorder); recorded {
				before.values = v
			} else {
				value.Mapper = &recorder{value.Mapper, v}
			}
		}
		return next(nil)
	})
	return v
}

// of returns the faults of the command that was selected.
func (v *values) of(k *kong.Context) (found Problems) {
	for _, path := range k.Path {
		if node := path.Node(); node != nil {
			for _, value := range node.Values() {
				if fault, ok := v.faults[value]; ok {
					if before, _, _ := strings.Cut(fault, "; did you mean"); value.Flag == nil && slices.Contains(flagNames(node), "--"+v.argument) {
						fault = fmt.Sprintf("%s; did you mean --%s?", before, v.argument)
					}
					found.Add("%s %s", option(value), fault)
				}
			}
		}
	}
	return found
}

// recorder decodes values. It records a fault instead of returning it.
type recorder struct {
	kong.Mapper
	values *values
}

// IsBoolFromValue tells kong which flags need no value.
func (r *recorder) IsBoolFromValue(v reflect.Value) bool {
	switch m := r.Mapper.(type) {
	case kong.BoolMapperExt:
		return m.IsBoolFromValue(v)
	case kong.BoolMapper:
		return m.IsBool()
	}
	return v.Kind() == reflect.Bool
}

// Decode implements kong.Mapper.
func (r *recorder) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	// The environment and defaults are decoded into the field itself, flags and files not.
	flag := target.Addr().Pointer() != ctx.Value.Target.Addr().Pointer()
	overridden := !flag && r.values.given[ctx.Value]
	r.values.given[ctx.Value] = r.values.given[ctx.Value] || flag
	token := ctx.Scan.Peek()
	err := r.Mapper.Decode(ctx, target)
	if err == nil {
		// The value remains, so that the command does not report it as missing.
		if fault := within(ctx.Value, target); fault != "" && !overridden {
			r.values.faults[ctx.Value], r.values.argument = fault, token.String()
		}
		return nil
	}
	if !overridden {
		r.values.faults[ctx.Value] = describe(ctx.Value, token, err)
	}
	if !token.IsValue() && !token.IsEOL() {
		ctx.Scan.PushToken(token) // another flag, which kong took for the value
	}
	target.SetZero()
	if ctx.Value.HasDefault {
		standard := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: ctx.Value.Default})
		_ = r.Mapper.Decode(&kong.DecodeContext{Value: ctx.Value, Scan: standard}, target)
	}
	return nil
}

// within says what is wrong with a value that is not in the enum of an option; "" if
// nothing is.
func within(v *kong.Value, target reflect.Value) string {
	switch {
	case v.Enum == "":
		return ""
	case target.Kind() == reflect.Pointer:
		return within(v, target.Elem())
	case target.Kind() == reflect.Slice:
		for i := range target.Len() {
			if fault := within(v, target.Index(i)); fault != "" {
				return fault
			}
		}
		return ""
	}
	if text, allowed := fmt.Sprint(target), v.EnumSlice(); !slices.Contains(allowed, text) {
		allowed = slices.DeleteFunc(allowed, func(s string) bool { return s == "" })
		return fmt.Sprintf(
			"must be one of %s, not %q%s",
			strings.Join(allowed, ", "),
			clip(text),
			input.DidYouMean("; ", text, allowed, ""),
		)
	}
	return ""
}

// describe says what is wrong with a value, and what a right one looks like. It shows the
// value unless it may be a secret.
func describe(v *kong.Value, token kong.Token, err error) string {
	if !token.IsValue() {
		return "needs a value" + example(v)
	}
	kind := v.Target.Type()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	text := clip(token.String())
	path, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case isPath:
		return fmt.Sprintf("%s: %v", path.Path, path.Err)
	case kind == reflect.TypeFor[time.Duration]():
		return fmt.Sprintf("%q is not a duration: a number with a unit%s", text, cmp.Or(example(v), ", such as 30s or 5m"))
	case kind == reflect.TypeFor[netip.Prefix]():
		if address, err := netip.ParseAddr(token.String()); err == nil {
			return fmt.Sprintf("%s is an address, not a network: for this address alone write %[1]s/%d", address, address.BitLen())
		}
		return fmt.Sprintf("%q is no network, such as 10.1.0.0/16; several are separated by commas", text)
	case kind == reflect.TypeFor[workspace.ID]():
		return err.Error() + "; atlas workspace list shows the ids"
	case kind == reflect.TypeFor[workspace.UserID]():
		return err.Error() + "; atlas member list shows the ids"
	case kind.PkgPath() != "": // a custom type describes its own problem
		return err.Error()
	case kind.Kind() == reflect.Bool:
		return fmt.Sprintf("%q is neither true nor false", text)
	case kind.Kind() == reflect.Float64:
		return fmt.Sprintf("%q is not a number%s", text, example(v))
	case kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Uint64:
		return fmt.Sprintf("%q is not a whole number%s", text, example(v))
	}
	return err.Error()
}

func example(v *kong.Value) string {
	standard := v.Default
	if standard == "" && v.Flag != nil {
		standard = v.Flag.PlaceHolder
	}
	if standard == "" || standard == "0" {
		return ""
	}
	return ", such as " + standard
}
