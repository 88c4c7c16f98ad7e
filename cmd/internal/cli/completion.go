package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd is `atlas completion`. The scripts call the program itself for completions,
// so they never differ from its options.
type completionCmd struct {
	Shell string   `arg:"" enum:"bash,zsh,fish,words" help:"bash, zsh or fish."`
	Words []string `arg:"" optional:"" passthrough:"" hidden:"" help:"With words: the arguments so far, after --. What completes the last one is printed."`
}

// Help is shown below the options.
func (completionCmd) Help() string {
	return `bash: eval "$(atlas completion bash)" in ~/.bashrc
zsh:  eval "$(atlas completion zsh)" in ~/.zshrc, after compinit
fish: atlas completion fish | source in ~/.config/fish/config.fish`
}

// Run prints a script, or completions.
func (c *completionCmd) Run(k *kong.Kong, s *Streams) error {
	if c.Shell != "words" {
		_, err := io.WriteString(s.Out, strings.ReplaceAll(completionScripts[c.Shell], "PROGRAM", k.Model.Name))
		return err
	}
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range complete(k.Model.Node, words) {
		if _, err := fmt.Fprintln(s.Out, word); err != nil {
			return err
		}
	}
	return nil
}

// complete returns the completions of the last word of a line. None may also mean that a
// file is expected: shells then complete file names.
func complete(node *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	positional, files := 0, false
	var waiting *kong.Value // an option that needs a value
	for _, word := range words[:len(words)-1] {
		switch {
		case word == "=": // bash splits --option=value
		case waiting != nil:
			waiting = nil
		case files:
			positional++
		case word == "--":
			files = true
		case strings.HasPrefix(word, "-"):
			name, _, valued := strings.Cut(word, "=")
			if f := flagOf(node, name); f != nil && !valued && !f.IsBool() {
				waiting = f.Value
			}
		default:
			if i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
				node, positional = node.Children[i], 0
			} else {
				positional++
			}
		}
	}
	name, value, valued := strings.Cut(last, "=")
	switch {
	case last == "=" && waiting != nil:
		return enumOf(waiting, "")
	case waiting != nil:
		return enumOf(waiting, last)
	case strings.HasPrefix(last, "-") && valued:
		var found []string
		if f := flagOf(node, name); f != nil {
			for _, v := range enumOf(f.Value, value) {
				found = append(found, name+"="+v)
			}
		}
		return found
	case strings.HasPrefix(last, "-"):
		return starting(last, flagNames(node))
	}
	found := starting(last, names(node.Children))
	if positional < len(node.Positional) {
		found = append(found, enumOf(node.Positional[positional], last)...)
	}
	return found
}

// flagOf returns the option --name or -n of a command, or nil.
func flagOf(node *kong.Node, name string) *kong.Flag {
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if "--"+f.Name == name || f.Short != 0 && "-"+string(f.Short) == name {
				return f
			}
		}
	}
	return nil
}

func enumOf(v *kong.Value, prefix string) []string {
	if v.Enum == "" {
		return nil
	}
	return starting(prefix, slices.DeleteFunc(v.EnumSlice(), func(s string) bool { return s == "" || s == "words" }))
}

func starting(prefix string, words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, prefix) })
	slices.SortFunc(words, cmp.Compare)
	return words
}

var completionScripts = map[string]string{
	"bash": `# completion of PROGRAM for bash
_PROGRAM_complete() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _PROGRAM_complete PROGRAM
`,
	"zsh": `#compdef PROGRAM
_PROGRAM_complete() {
	local -a found
	found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _PROGRAM_complete PROGRAM
`,
	"fish": `# completion of PROGRAM for fish
function __PROGRAM_complete
	set -l words (commandline -opc)
	$words[1] completion words -- $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c PROGRAM -a '(__PROGRAM_complete)'
`,
}
