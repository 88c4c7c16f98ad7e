package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"atlas/internal/input"
)

// notFoundText says that no route has a path, and which one was probably meant.
func notFoundText(methods map[string][]string, method, path string) string {
	shown := fmt.Sprintf("%.100s", path)
	near, allowed := nearestPath(methods, method, path)
	switch {
	case near == "":
		return "no route is called " + shown + "; " + referencePath + " lists all, which begin with " + Version
	case near == strings.TrimRight(path, "/"):
		return "no route is called " + shown + ": leave out the slash at the end, " + allowed + " " + near
	}
	return fmt.Sprintf("no route is called %s; did you mean %s %s?", shown, allowed, near)
}

// Costs of the differences between a path and a pattern.
const (
	spelled     = 1 // another spelling of a name
	otherMethod = 1
	otherID     = 2 // a name that stands where an id belongs
	otherLength = 2 // a segment too many or too few
	tooFar      = 4
)

// nearestPath returns the path of a route that was probably meant, and the method for
// it; "" if none is near.
func nearestPath(methods map[string][]string, method, path string) (near, allowed string) {
	given := segmentsOf(path)
	if len(given) == 0 {
		return "", ""
	}
	type candidate struct {
		cost         int
		path, method string
	}
	var all []candidate
	for pattern, takes := range methods {
		below, isAPI := strings.CutPrefix(pattern, Version+"/")
		if !isAPI && !strings.HasPrefix(path, strings.Join(strings.Split(pattern, "/")[:2], "/")) {
			continue
		}
		if !isAPI {
			below = strings.TrimPrefix(pattern, "/")
		}
		wanted := strings.Split(below, "/")
		c := candidate{distance(wanted, given), "", takes[0]}
		if slices.Contains(takes, method) {
			c.method = method
		} else {
			c.cost += otherMethod
		}
		if c.cost < tooFar && strings.IndexByte(pattern, '*') < 0 {
			c.path = strings.TrimSuffix(pattern, below) + strings.Join(filled(wanted, given), "/")
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return "", ""
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), bySearch(a.path, b.path), cmp.Compare(len(a.path), len(b.path)), cmp.Compare(a.path, b.path))
	})
	return all[0].path, all[0].method
}

// segmentsOf are the segments of a path below the version, which may be missing or
// another one.
func segmentsOf(path string) []string {
	given := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(given) > 0 && given[0] == "api" {
		given = given[1:]
	}
	if len(given) > 0 && len(given[0]) == 2 && given[0][0] == 'v' {
		given = given[1:]
	}
	const most = 10 // no route has more
	return given[:min(len(given), most)]
}

// distance is the cost of making the segments of a path those of a pattern.
func distance(wanted, given []string) int {
	row := make([]int, len(given)+1)
	for j := range row {
		row[j] = j * otherLength
	}
	for _, w := range wanted {
		diagonal := row[0]
		missing := otherLength
		if w[0] == ':' {
			missing = tooFar // a request for one of many names it
		}
		row[0] += missing
		for j, g := range given {
			cost := min(row[j]+otherLength, row[j+1]+missing, diagonal+difference(w, g))
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(given)]
}

func difference(wanted, given string) int {
	_, isID := input.ReadUUID(given)
	switch {
	case wanted == given:
		return 0
	case wanted[0] == ':' && isID:
		return 0
	case wanted[0] == ':':
		return otherID
	case !isID && len(given) <= 2*len(wanted) && input.Nearest(given, []string{wanted}) != "":
		return spelled
	}
	return tooFar
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
// probably meant.
func notAllowedText(methods map[string][]string, allowed []string, method, path string) string {
	text := fmt.Sprintf("this path takes %s, not %.20s", strings.Join(allowed, " and "), method)
	others := map[string][]string{}
	for pattern, takes := range methods {
		if slices.Contains(takes, method) && !samePath(pattern, path) {
			others[pattern] = takes
		}
	}
	if near, _ := nearestPath(others, method, path); near != "" && distance(segmentsOf(near), segmentsOf(path)) <= spelled {
		text += fmt.Sprintf("; did you mean %s %s?", method, near)
	}
	return text
}

// bySearch orders searches before other paths.
func bySearch(a, b string) int {
	switch isSearch := strings.HasSuffix(a, "/search"); {
	case isSearch == strings.HasSuffix(b, "/search"):
		return 0
	case isSearch:
		return -1
	}
	return 1
}
