package workspace

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/search/query"
)

// BookInput is one upsert of a record: which one, and what becomes of it.
type BookInput struct {
	// Record is the id, "" when the record is found by Match.
	Record string
	// Match is a domain of an account or the e-mail address of a contact, as it
	// is compared.
	Match  string
	Change OverlayChange
}

// natural says by what a record can be found beside its id.
var natural = map[query.Dataset]struct {
	key    string // in `match`
	field  string // of the global record
	longer int
	fold   func(string) string
}{
	query.Accounts: {"domain", "domains", query.ShortChars, NormalDomain},
	query.Contacts: {"email", "email", query.ShortChars, FoldEmail},
}

// IDKey is the key of a record's id in bodies and batch results.
func IDKey(d query.Dataset) string { return d.Singular() + "_id" }

// ParseUpsert reads the body of an upsert (docs/api.md, "The book"), beside
// what is wrong with it already: fault.InvalidInput.
func ParseUpsert(v input.Value, d query.Dataset, issues input.Issues) (BookInput, error) {
	var in BookInput
	r := issues.Object(v)
	if !r.Ok() {
		return in, issues.Err()
	}
	readTarget(&issues, r, d, &in)
	if d == query.Accounts {
		in.Change.ICPTier = tierChange(&issues, r)
	}
	in.Change.Status = textChange(&issues, r, "workspace_status", input.Text{Min: 1, Max: MaxStatus})
	in.Change.Notes = textChange(&issues, r, "notes", input.Text{Max: MaxNotes})
	if tags := r.Take("tags"); tags.Kind != input.Absent {
		in.Change.Tags = readTags(&issues, tags)
	}
	r.Done()
	return in, issues.Err()
}

func readTarget(issues *input.Issues, r *input.Reader, d query.Dataset, in *BookInput) {
	by, matchable := natural[d]
	id := r.Take(IDKey(d))
	if !matchable {
		in.Record, _ = issues.UUID(id, IDKey(d))
		return
	}
	match := r.Take("match")
	if (id.Kind == input.Absent) == (match.Kind == input.Absent) {
		issues.Add(fault.InvalidUnion, nil, "give exactly one of %s and match", IDKey(d))
		return
	}
	if match.Kind == input.Absent {
		in.Record, _ = issues.UUID(id, IDKey(d))
		return
	}
	m := issues.Object(match, "match")
	if !m.Ok() {
		return
	}
	text := m.RequiredString(by.key, input.Text{Min: 1, Max: by.longer})
	m.Done()
	if text == "" {
		return
	}
	if in.Match = by.fold(text); in.Match == "" {
		issues.Add(fault.InvalidFormat, m.Path(by.key), "there is no %s in it", by.key)
	}
}

func tierChange(issues *input.Issues, r *input.Reader) Change {
	v := r.Take("icp_tier")
	switch {
	case v.Kind == input.Absent:
		return Change{}
	case v.Kind == input.Null:
		return Change{Set: true}
	case v.Kind != input.String || !query.ICPTiers.Has(v.Text):
		issues.OutsideVocabulary(r.Path("icp_tier"), append(query.ICPTiers.Values(), "null"))
		return Change{}
	}
	return Change{true, &v.Text}
}

func textChange(issues *input.Issues, r *input.Reader, name string, bounds input.Text) Change {
	v := r.Take(name)
	switch v.Kind {
	case input.Absent:
		return Change{}
	case input.Null:
		return Change{Set: true}
	case input.String:
	default:
		issues.WrongType(r.Path(name), "a string or null", v)
		return Change{}
	}
	text, ok := issues.String(v, bounds, r.Path(name)...)
	if !ok {
		return Change{}
	}
	return Change{true, &text}
}

// readTags takes each tag once, as it is first spelled.
func readTags(issues *input.Issues, v input.Value) *[]string {
	// A body has a bound of its own; how many there are counts once each.
	given := issues.Strings(v, input.List{Max: len(v.Items), Each: input.Text{Min: 1, Max: MaxTag}}, "tags")
	tags := []string{}
	seen := map[string]bool{}
	for _, tag := range given {
		if folded := cases.Fold().String(tag); !seen[folded] {
			seen[folded] = true
			tags = append(tags, tag)
		}
	}
	issues.Length(len(tags), 0, MaxTags, "tags")
	return &tags
}

// NormalDomain is a domain as domains are compared: without scheme, `www.`,
// path, port, the dot at the end and case, in ASCII. What has none is "".
func NormalDomain(s string) string {
	s = strings.TrimSpace(s)
	if _, rest, found := strings.Cut(s, "://"); found {
		s = rest
	}
	s = strings.TrimPrefix(s, "//")
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	s = strings.ToLower(strings.TrimSpace(s))
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	}
	if !utf8.ValidString(s) {
		return "" // what was percent-encoded is no text, and would be a domain in ASCII
	}
	s = strings.TrimRight(s, ".")
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		s = ascii
	}
	if strings.ContainsFunc(s, noDomain) {
		return ""
	}
	return strings.TrimPrefix(s, "www.")
}

// noDomain are characters that end a domain in a URL, or stand in no text.
func noDomain(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("/?#", r) }

// domainSpellings are the ways in which a record may spell a domain, without
// regard to case. What is found by them is compared once more.
func domainSpellings(domain string) []string {
	names := []string{domain}
	if unicode, err := idna.Lookup.ToUnicode(domain); err == nil && unicode != domain {
		names = append(names, unicode)
	}
	var all []string
	for _, name := range names {
		for _, prefix := range []string{"", "www.", "http://", "https://", "http://www.", "https://www."} {
			all = append(all, prefix+name, prefix+name+"/")
		}
		all = append(all, name+".", "www."+name+".")
	}
	return slices.Compact(all)
}
