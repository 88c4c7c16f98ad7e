package endpoint

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"atlas/internal/input"
	"atlas/search/catalog"
	"atlas/search/query"
)

// notFoundText is the message for a path of no route. It suggests the path that was probably
// meant.
func (p *paths) notFoundText(method, path string) string {
	text := fmt.Sprintf("no route is called %.100s", path)
	if get := withInclude(path); get != "" {
		return text + "; did you mean GET " + get + "?"
	}
	if note := noteOn(method, path); note != "" {
		return text + ": " + note
	}
	near := p.nearest(method, path, nil)
	if near != nil && near[0].path == strings.TrimRight(path, "/") {
		return text + ": leave out the slash at the end, " + near[0].String()
	}
	if near != nil {
		text += "; " + meantText(near)
	}
	change := ""
	if method != http.MethodGet && method != http.MethodDelete {
		if change = p.upsertOf(strings.TrimRight(path, "/")); change == "" && near != nil {
			change = p.upsertOf(near[0].path)
		}
	}
	switch {
	case change != "" && near == nil:
		return text + ": POST " + change + " creates and changes"
	case change != "" && near[0].path != change:
		return text + " POST " + change + " creates and changes"
	case near == nil:
		return text + "; " + ReferencePath + " lists all routes; they begin with " + Version
	}
	return text
}

// notes are hints for operations that no route has, by names in the path.
var notes = []struct {
	method string // "" for any
	below  string // a name before those, "" for none
	names  []string
	text   string
}{
	{
		"", "", []string{"keys", "apikeys", "api-keys", "api_keys", "tokens"},
		"POST " + Version + "/workspace/api-keys makes API keys, for owners and admins, and so does the operator: " +
			"atlas key create (" + DocsPath + "/operators)",
	},
	{
		"",
		"",
		[]string{"login", "signin", "signup", "auth", "oauth"},
		"the Explorer, the page at /, signs users in; programs send Authorization: Bearer <token>",
	},
	{
		"", "", []string{"health", "healthz", "healthcheck", "readyz", "livez"},
		"GET " + readyPath + " says whether it can serve, for balancers, and GET " + livePath + " whether it runs",
	},
	{"", "", []string{"metrics", "prometheus"}, "metrics have an address of their own, which the operator sets (ATLAS_METRICS_LISTEN)"},
	{
		"", "invitations", []string{"resend", "remind"},
		`to send it again, POST ` + Version + `/workspace/invitations with the same address and "replace": true`,
	},
	{
		"", "workspace", []string{"signals"},
		"signals that arrived are found by POST " + Version + "/workspace/signal-queue/search, all by POST " + Version + "/data/signals/search",
	},
	{http.MethodPost, "workspace", []string{"members"}, "members are invited: POST " + Version + "/workspace/invitations"},
	{"", "views", []string{"favorite", "favourite", "star"}, "a Favorite is made by POST " + Version + "/workspace/favorite-views/upsert"},
	{"", "skills", []string{"update", "upsert", "delete", "publish", "personal", "workspace"}, "a Skill is made by POST " +
		Version + "/workspace/skills/create and read by POST " +
		Version + "/workspace/skills/get with its locator; nothing changes it, and the operator publishes it (atlas skill publish)"},
}

// noteOn is the hint for a path, "" if there is none.
func noteOn(method, path string) string {
	segments := segmentsOf(path)
	for _, n := range notes {
		below := slices.Index(segments, n.below)
		if n.method != "" && n.method != method || n.below != "" && below < 0 {
			continue
		}
		if slices.ContainsFunc(segments[below+1:], func(s string) bool { return slices.Contains(n.names, strings.ToLower(s)) }) {
			return n.text
		}
	}
	return ""
}

// withInclude is the get of a record with the name below its path as `include`, "" if it is
// no such path: related records have no routes of their own.
func withInclude(path string) string {
	given := segmentsOf(path)
	if len(given) != 4 || given[0] != "data" || !slices.Contains(catalog.Datasets, catalog.Dataset(given[1])) || !isID(given[2]) {
		return ""
	}
	key := input.Nearest(given[3], IncludeKeys(catalog.Dataset(given[1])))
	if key == "" {
		return ""
	}
	return Version + "/" + strings.Join(given[:3], "/") + "?include=" + key
}

// candidate is a path of a route that may have been meant.
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
	otherID     = 2 // a name in place of an id
	otherName   = 3 // another object, where the action is missing
	otherPart   = 2 // data for workspace
	otherLength = 2 // a segment is missing
	goesWithout = 1 // the first segment or the action on the object is missing
	dropped     = 3 // a segment too many: it was there for a purpose
	saidTwice   = 1 // a segment that repeats the method
	swapped     = 1 // two segments swapped
	tooFar      = 4
)

// mostNear is the maximum number of suggestions at the same distance.
const mostNear = 5

// nearest returns the path of a route that was probably meant, and its method, among the
// wanted patterns; nil if none is near. Equally near paths with the same end are returned
// too.
func (p *paths) nearest(method, path string, wanted func(pattern) bool) []candidate {
	given, suffix := segmentsOf(path), ""
	if len(given) > 1 && isID(given[1]) && input.Nearest(given[0], []string{"workspace"}) != "" {
		suffix = "?workspace_id=" + given[1]
		given = slices.Delete(given, 1, 2)
		given[0] = "workspace"
	}
	if len(given) == 0 {
		return nil
	}
	known := p.spellings(given)
	var all []candidate
	for _, one := range p.all {
		if wanted != nil && !wanted(one) {
			continue
		}
		c := candidate{method: one.methods[0], cost: otherMethod}
		missingID := tooFar // a request for one of many objects has its id
		if slices.Contains(one.methods, method) {
			c.method, c.cost = method, 0
			if method == http.MethodDelete || method == http.MethodPatch {
				missingID = otherLength // no other meaning is possible
			}
		} else if c.method == http.MethodDelete {
			continue // never suggested
		} else if method == http.MethodDelete || method == http.MethodPatch {
			c.cost += otherMethod // these two methods are unambiguous
		}
		c.cost += known.distance(one.below, missingID)
		if c.cost < tooFar && strings.IndexByte(one.text, '*') < 0 {
			c.path = one.before + strings.Join(filled(one.below, known), "/") + suffix
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.cost, b.cost),
			bySearch(a.path, b.path),
			cmp.Compare(len(a.path), len(b.path)),
			cmp.Compare(a.path, b.path),
		)
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

// spellings compares the segments of one path with those of patterns.
type spellings struct {
	given []string
	ids   []bool // which of them are ids
	// names are those of patterns; near caches comparisons of segments.
	names map[string]bool
	near  map[[2]string]bool
}

func (p *paths) spellings(given []string) spellings {
	k := spellings{given: given, ids: make([]bool, len(given)), names: p.names, near: map[[2]string]bool{}}
	for i, g := range given {
		k.ids[i] = isID(g)
	}
	return k
}

// distance is the edit distance between the segments of the path and of a pattern. missingID
// is the cost of a missing id.
func (k spellings) distance(wanted []segment, missingID int) int {
	given := k.given
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
		switch {
		case w.id:
			missing = missingID
		case i == 0 && len(wanted) > 1, i == len(wanted)-1 && i > 0 && searches(w.name):
			missing = goesWithout
		}
		rows[2][0] = rows[1][0] + missing
		for j, g := range given {
			other := k.difference(w, j)
			// The last name is the action: another known name is not a misspelling of it.
			if other == tooFar && k.names[g] && i < len(wanted)-1 && j < len(given)-1 {
				if other = otherName; j == 0 {
					other = otherPart
				}
			}
			extra := dropped
			if j == len(given)-1 && searches(g) {
				extra = saidTwice
			}
			cost := min(rows[2][j]+extra, rows[1][j+1]+missing, rows[1][j]+other)
			if i > 0 && j > 0 && w.name == given[j-1] && wanted[i-1].name == g {
				cost = min(cost, rows[0][j-1]+swapped)
			}
			rows[2][j+1] = cost
		}
	}
	return rows[2][len(given)]
}

// difference is the cost of a segment of the path in place of one of a pattern.
func (k spellings) difference(wanted segment, j int) int {
	given, id := k.given[j], k.ids[j]
	switch {
	case wanted.name == given:
		return 0
	case wanted.parameter && id:
		return 0
	case wanted.id:
		return otherID
	case wanted.parameter:
		return spelled
	case !id && len(given) <= 2*len(wanted.name) && k.meant(given, wanted.name):
		return spelled
	}
	return tooFar
}

// meant reports whether a segment is a misspelling of a name.
func (k spellings) meant(given, name string) bool {
	pair := [2]string{given, name}
	meant, is := k.near[pair]
	if !is {
		// A name of a route is not a misspelling of another, but may be a synonym.
		meant = input.Synonym(given, name) || !k.names[given] && input.Nearest(given, []string{name}) != ""
		k.near[pair] = meant
	}
	return meant
}

// filled is a pattern with the ids of a path in place of its parameters.
func filled(wanted []segment, of spellings) []string {
	next, path := 0, make([]string, len(wanted))
	for i, w := range wanted {
		if path[i] = w.name; !w.parameter {
			continue
		}
		for next < len(of.given) && !of.ids[next] {
			next++
		}
		if path[i] = "{" + w.name[1:] + "}"; next < len(of.given) {
			path[i] = of.given[next]
			next++
		}
	}
	return path
}

// notAllowedText lists the methods of a path, and the path with this method that was probably
// meant. A path with a name in place of an id belongs to no route.
func (p *paths) notAllowedText(allowed []string, method string, address *url.URL) string {
	path := address.Path
	given := strings.Split(path, "/")
	known := slices.ContainsFunc(p.sized[len(given)], func(one pattern) bool { return one.fits(given) && !one.misnamed(given) })
	if note := noteOn(method, path); note != "" {
		return fmt.Sprintf("no route takes %.20s at %.100s: %s", method, path, note)
	}
	near := p.nearest(method, path, func(one pattern) bool {
		return !one.fits(given) && (!known || slices.Contains(one.methods, method)) // otherwise also with other methods
	})
	if !known && near != nil {
		return fmt.Sprintf("no route takes %.20s at %.100s; %s", method, path, meantText(near))
	}
	text := fmt.Sprintf("this path takes %s, not %.20s", strings.Join(allowed, " and "), method)
	if method == http.MethodOptions {
		return text + "; pages of other origins may call the API from a browser where the operator lists theirs: --cors-origins (ATLAS_CORS_ORIGINS)"
	}
	if asked := inBody(address.Query()); method == http.MethodGet && slices.Contains(allowed, http.MethodPost) && asked != "" {
		return text + "; " + asked
	}
	if near != nil && near[0].cost <= spelled {
		return text + "; " + meantText(near[:1])
	}
	if upsert := p.upsertOf(path); upsert != "" && method != http.MethodDelete && method != http.MethodGet {
		text += ": POST " + upsert + " creates and changes"
	}
	return text
}

// inBody says which query parameters belong in a body; "" if there are none.
func inBody(params url.Values) string {
	if params.Del("workspace_id"); len(params) == 0 {
		return ""
	}
	text := "what is asked for goes into the body, as JSON"
	for name, values := range params {
		if input.Nearest(name, []string{"query"}) != "" {
			return text + input.Wrapped(`: {"query":`, input.Value{Kind: input.String, Text: values[0]}, "}")
		}
	}
	return text
}

// notIDText is the message for a name in place of an id.
func (p *paths) notIDText(method, path, given string) string {
	text := "must be " + input.UUIDText
	if strings.ContainsAny(given, "0123456789") {
		return text
	}
	segments := strings.Split(path, "/")
	if near := p.nearest(method, path, func(one pattern) bool { return !one.fits(segments) }); near != nil &&
		near[0].cost <= spelled+otherMethod {
		text += "; " + meantText(near[:1])
	}
	return text
}

// searches reports whether a name in a path means no more than GET does.
func searches(name string) bool { return name == "search" || name == "list" }

// bySearch sorts searches and lists before other paths.
func bySearch(a, b string) int {
	switch isSearch := searches(path.Base(a)); {
	case isSearch == searches(path.Base(b)):
		return 0
	case isSearch:
		return -1
	}
	return 1
}

// IncludeKeys are the keys of the records that a get can embed.
func IncludeKeys(d catalog.Dataset) []string {
	var keys []string
	for _, inc := range query.Includes(d) {
		keys = append(keys, inc.Key)
	}
	return keys
}
