package endpoint

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"atlas/internal/input"
)

// Limits of a path, three times those of the longest route. The message about an unknown path
// compares it with all routes, so its cost grows with the path.
const (
	MaxPath     = 1 << 10 // bytes, unescaped
	MaxSegments = 32
)

const pathTooLongText = "a path has at most %d bytes and %d segments; what is searched for belongs in the query string or the body"

// paths are the parsed patterns of all routes.
type paths struct {
	all   []pattern         // in the order of their text
	sized map[int][]pattern // by the number of their segments
	names map[string]bool   // all names of patterns
}

// pattern is the path of routes, in gin's syntax.
type pattern struct {
	text       string
	methods    []string
	segments   []segment // with the empty one before the first slash
	parameters int
	// before is the prefix of the text: the version, or a slash.
	before string
	below  []segment
}

// segment is a name of a pattern, or a parameter, which may be an id.
type segment struct {
	name          string
	parameter, id bool
}

// indexed parses the paths of routes.
func indexed(methods map[string][]string) *paths {
	p := &paths{sized: map[int][]pattern{}, names: map[string]bool{}}
	for _, text := range slices.Sorted(maps.Keys(methods)) {
		one := pattern{text: text, methods: methods[text], segments: segmentsIn(text)}
		for _, s := range one.segments {
			if s.parameter {
				one.parameters++
			}
		}
		below, isAPI := strings.CutPrefix(text, Version+"/")
		if !isAPI {
			below = strings.TrimPrefix(text, "/")
		}
		one.before, one.below = strings.TrimSuffix(text, below), segmentsIn(below)
		p.all = append(p.all, one)
		p.sized[len(one.segments)] = append(p.sized[len(one.segments)], one)
		for _, name := range segmentsOf(text) {
			p.names[name] = true
		}
	}
	return p
}

func segmentsIn(text string) (all []segment) {
	for name := range strings.SplitSeq(text, "/") {
		parameter := strings.HasPrefix(name, ":")
		all = append(all, segment{name, parameter, parameter && strings.HasSuffix(strings.ToLower(name), "id")})
	}
	return all
}

// fits reports whether a path matches a pattern.
func (p pattern) fits(given []string) bool {
	return slices.EqualFunc(p.segments, given, func(s segment, g string) bool { return s.name == g || s.parameter && g != "" })
}

// misnamed reports whether a path that matches has a value that is not an id in place of one.
func (p pattern) misnamed(given []string) bool {
	for i, s := range p.segments {
		if s.id && !isID(given[i]) {
			return true
		}
	}
	return false
}

// methodsOf returns the methods of a path: those of the matching pattern with the fewest
// parameters, nil if none matches.
func (p *paths) methodsOf(path string) (methods []string) {
	given, fewest := strings.Split(path, "/"), MaxSegments
	for _, one := range p.sized[len(given)] {
		if one.parameters < fewest && one.fits(given) {
			methods, fewest = one.methods, one.parameters
		}
	}
	return methods
}

// upsertOf is the path that creates and changes the object of a path, or its parent; "" if
// there is none.
func (p *paths) upsertOf(path string) string {
	given := strings.Split(path, "/")
	for ; len(given) > 1; given = given[:len(given)-1] {
		for _, action := range []string{"upsert", "add"} {
			whole := append(slices.Clip(given), action)
			for _, one := range p.sized[len(whole)] {
				if slices.Contains(one.methods, http.MethodPost) && one.fits(whole) {
					return strings.Join(whole, "/")
				}
			}
		}
	}
	return ""
}

func isID(segment string) bool {
	_, is := input.ReadUUID(segment)
	return is
}

// segmentsOf are the segments of a path below the version, which may be missing, wrong or
// repeated.
func segmentsOf(path string) []string {
	given := strings.FieldsFunc(batches.Replace(path), func(r rune) bool { return r == '/' })
	for len(given) > 0 && (given[0] == "api" || len(given[0]) == 2 && given[0][0] == 'v') {
		given = given[1:]
	}
	const most = 10 // no route has more
	return given[:min(len(given), most)]
}

var batches = strings.NewReplacer("-batch", "/batch", "_batch", "/batch", "/data/workspace_", "/workspace/")
