package permits

import (
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"

	"atlas/internal/fault"
)

// decisions are an operator's: which firms are one, and which are not. A firm is named by
// its name in the source or by the id of an account.
//
//	same:
//	  - [Acme Homes Ltd., Acme Homes Inc]
//	different:
//	  - [Acme Homes Inc, 0f0c3ad5-8a3e-5c1b-9d5e-3a1f0b7c2d11]
type decisions struct {
	// Same are groups of firms that are one: the first account id of a group, else its first
	// firm.
	Same      [][]string `yaml:"same"`
	Different [][]string `yaml:"different"`
}

const maxDecisions = 8 << 20

func readDecisions(path string) (*decisions, error) {
	d := &decisions{}
	if path == "" {
		return d, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "%s does not exist", path)
	}
	if info.Size() > maxDecisions {
		return nil, fault.New(fault.BadRequest, "%s is longer than %d bytes", path, maxDecisions)
	}
	text, err := os.ReadFile(path) // #nosec G304 -- a file that who runs the command names
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "%s cannot be read", path)
	}
	if err := yaml.UnmarshalWithOptions(text, d, yaml.Strict()); err != nil {
		return nil, fault.New(fault.BadRequest, "%s: %s", path, yaml.FormatError(err, false, false))
	}
	for _, group := range append(append([][]string{}, d.Same...), d.Different...) {
		if len(group) < 2 {
			return nil, fault.New(fault.BadRequest, "%s: a decision names two firms at least: %q", path, group)
		}
	}
	return d, nil
}

// isID reports whether an operator named an account by its id.
func isID(name string) (string, bool) {
	if len(name) != 36 {
		return "", false
	}
	id, err := uuid.Parse(name)
	return id.String(), err == nil
}

// pair is two firms by id, in any order.
type pair struct{ a, b string }

func pairOf(a, b string) pair {
	if strings.Compare(a, b) > 0 {
		a, b = b, a
	}
	return pair{a, b}
}
