package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"atlas/internal/input"
)

// notFoundText says that no route has a path, and which one was probably meant.
func notFoundText(methods map[string][]string, method, path string) string {
	shown := fmt.Sprintf("%.100s", path)
	near := nearestPaths(methods, method, path)
	switch {
	case near == nil:
		return "no route is called " + shown + "; " + referencePath + " lists all, which begin with " + Version
	case near[0].path == strings.TrimRight(path, "/"):
		return "no route is called " + shown + ": leave out the slash at the end, " + near[0].String()
	}
	text := "no route is called " + shown + "; " + meantText(near)
	if upsert := upsertOf(methods, strings.TrimRight(path, "/")); upsert != "" && method != http.MethodGet && method != http.MethodDelete {
		text += " What creates and changes is POST " + upsert
	}
	return text
}

// candidate is a path of a route that was perhaps meant.
type candidate struct {
	cost         int
	path, method string
}

func (c candidate) String() string { return c.method + " " + c.path }

func meantText(near []candidate) string {
	texts := make([]string, len(near))
	for i, c := range near {
		texts[i] = c.String()
	}
	return "did you mean " + strings.Join(texts, " or ") + "?"
}

// Costs of the differences between a path and a pattern.
const (
	spelled     = 1 // another spelling of a name
	otherMethod = 1
	otherID     = 2 // a name that stands where an id belongs
	otherName   = 2 // what something is done to, where there is not that to do
	otherLength = 2 // a segment too few
	dropped     = 3 // one too many: who gave it wanted something with it
	swapped     = 1 // two in the other order
	tooFar      = 4
)

// mostNear is how many paths are offered that are equally near.
const mostNear = 5

// nearestPaths returns the path of a route that was probably meant, and the method for
// it; nil if none is near. If others are as near which end alike, it returns these too.
func nearestPaths(methods map[string][]string, method, path string) []candidate {
	given := segmentsOf(path)
	if len(given) == 0 {
		return nil
	}
	known := spellings{names: map[string]bool{}, near: map[[2]string]bool{}}
	for pattern := range methods {
		for _, name := range segmentsOf(pattern) {
			known.names[name] = true
		}
	}
	var all []candidate
	for pattern, takes := range methods {
		below, isAPI := strings.CutPrefix(pattern, Version+"/")
		if !isAPI {
			below = strings.TrimPrefix(pattern, "/")
		}
		wanted := strings.Split(below, "/")
		c := candidate{method: takes[0], cost: otherMethod}
		missingID := tooFar // who asks for one of many names it
		if slices.Contains(takes, method) {
			c.method, c.cost = method, 0
			if method == http.MethodDelete || method == http.MethodPatch {
				missingID = otherLength // nothing else can be meant
			}
		} else if c.method == http.MethodDelete {
			continue // nobody is led to that
		}
		c.cost += known.distance(wanted, given, missingID)
		if c.cost < tooFar && strings.IndexByte(pattern, '*') < 0 {
			c.path = strings.TrimSuffix(pattern, below) + strings.Join(filled(wanted, given), "/")
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), bySearch(a.path, b.path), cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.path, b.path))
	})
	end := func(c candidate) string { return c.path[strings.LastIndexByte(c.path, '/'):] }
	near := all[:1]
	for _, c := range all[1:] {
		if c.cost == near[0].cost && c.method == near[0].method && end(c) == end(near[0]) && len(near) < mostNear {
			near = append(near, c)
		}
	}
	return near
}

// segmentsOf are the segments of a path below the version, which may be missing, another
// one, or there twice.
func segmentsOf(path string) []string {
	given := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for len(given) > 0 && (given[0] == "api" || len(given[0]) == 2 && given[0][0] == 'v') {
		given = given[1:]
	}
	const most = 10 // no route has more
	return given[:min(len(given), most)]
}

// spellings compares segments of one path with those of patterns.
type spellings struct {
	// names are those that patterns have, and near what is known of pairs of segments.
	names map[string]bool
	near  map[[2]string]bool
}

// distance is the cost of making the segments of a path those of a pattern. missingID is
// the cost of an id that is not there.
func (k spellings) distance(wanted, given []string, missingID int) int {
	rows := [3][]int{} // the last three
	for i := range rows {
		rows[i] = make([]int, len(given)+1)
	}
	for j := range rows[2] {
		rows[2][j] = j * dropped
	}
	for i, w := range wanted {
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
		missing := otherLength
		if w[0] == ':' && strings.HasSuffix(strings.ToLower(w), "id") {
			missing = missingID
		}
		rows[2][0] = rows[1][0] + missing
		for j, g := range given {
			other := k.difference(w, g)
			// The last name says what is to be done: it is no slip if it is one.
			if other == tooFar && k.names[g] && i < len(wanted)-1 && j < len(given)-1 {
				other = otherName
			}
			cost := min(rows[2][j]+dropped, rows[1][j+1]+missing, rows[1][j]+other)
			if i > 0 && j > 0 && w == given[j-1] && wanted[i-1] == g {
				cost = min(cost, rows[0][j-1]+swapped)
			}
			rows[2][j+1] = cost
		}
	}
	return rows[2][len(given)]
}

func (k spellings) difference(wanted, given string) int {
	_, isID := input.ReadUUID(given)
	switch {
	case wanted == given:
		return 0
	case wanted[0] == ':' && isID:
		return 0
	case wanted[0] == ':' && !strings.HasSuffix(strings.ToLower(wanted), "id"):
		return spelled
	case wanted[0] == ':':
		return otherID
	case !isID && !k.names[given] && len(given) <= 2*len(wanted) && k.meant(given, wanted):
		return spelled
	}
	return tooFar
}

// meant reports whether a segment is another spelling of a name.
func (k spellings) meant(given, name string) bool {
	pair := [2]string{given, name}
	meant, is := k.near[pair]
	if !is {
		meant = input.Nearest(given, []string{name}) != ""
		k.near[pair] = meant
	}
	return meant
}

// filled is a pattern with the ids of a path in place of its parameters.
func filled(wanted, given []string) []string {
	ids := slices.DeleteFunc(slices.Clone(given), func(g string) bool { _, isID := input.ReadUUID(g); return !isID })
	path := slices.Clone(wanted)
	for i, w := range path {
		if w[0] != ':' {
			continue
		}
		path[i] = "{" + w[1:] + "}"
		if len(ids) > 0 {
			path[i], ids = ids[0], ids[1:]
		}
	}
	return path
}

// notAllowedText says which methods a path takes, and which path with this method was
// probably meant. A path that has a name where its pattern has an id is none of a route.
func notAllowedText(methods map[string][]string, allowed []string, method, path string) string {
	others, known := map[string][]string{}, false
	for pattern, takes := range methods {
		if same := samePath(pattern, path); same && !misnamed(pattern, path) {
			known = true
		} else if !same && slices.Contains(takes, method) {
			others[pattern] = takes
		}
	}
	near := nearestPaths(others, method, path)
	if !known && near != nil {
		return fmt.Sprintf("no route takes %.20s at %.100s; %s", method, path, meantText(near))
	}
	text := fmt.Sprintf("this path takes %s, not %.20s", strings.Join(allowed, " and "), method)
	if near != nil && near[0].cost <= spelled {
		return text + "; " + meantText(near[:1])
	}
	if upsert := upsertOf(methods, path); upsert != "" && method != http.MethodDelete && method != http.MethodGet {
		text += ": what creates and changes is POST " + upsert
	}
	return text
}

// upsertOf is the path that creates and changes what a path names, or one of what it
// names; "" if there is none.
func upsertOf(methods map[string][]string, path string) string {
	for _, of := range []string{path, path[:max(strings.LastIndexByte(path, '/'), 0)]} {
		if upsert := of + "/upsert"; methods[upsert] != nil {
			return upsert
		}
	}
	return ""
}

// misnamed reports whether a path has something else where its pattern has an id.
func misnamed(pattern, path string) bool {
	wanted, given := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, w := range wanted {
		_, isID := input.ReadUUID(given[i])
		if strings.HasPrefix(w, ":") && strings.HasSuffix(strings.ToLower(w), "id") && !isID {
			return true
		}
	}
	return false
}

// bySearch orders searches and lists before other paths.
func bySearch(a, b string) int {
	search := func(path string) bool { return strings.HasSuffix(path, "/search") || strings.HasSuffix(path, "/list") }
	switch isSearch := search(a); {
	case isSearch == search(b):
		return 0
	case isSearch:
		return -1
	}
	return 1
}
