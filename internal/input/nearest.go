package input

import (
	"fmt"
	"slices"
	"strings"

	"atlas/internal/edits"
)

// Nearest returns the known name that a name was probably meant to be: what other services
// call so; or the one with the fewest edits, of several one with the same first character,
// then the first; or the only one that has its words, or whose words it has. It ignores case,
// hyphens, underscores and spaces. A name of which more than a third differs is none: "", as
// is one of over maxPathElement bytes.
func Nearest(name string, known []string) (nearest string) {
	if len(name) > maxPathElement {
		return ""
	}
	plain := unmarked(name)
	if slices.Contains(known, name) {
		return name
	}
	if s := synonym(plain, known); s != "" && !slices.ContainsFunc(known, func(k string) bool { return unmarked(k) == plain }) {
		return s
	}
	fewest, begins := len(plain)/3+1, false
	for _, k := range known {
		other := unmarked(k)
		if plain == other {
			return k
		}
		n := edits.Distance(plain, other, min(len(plain), len(other))/3)
		if n > min(len(plain), len(other))/3 {
			continue
		}
		if same := other[0] == plain[0]; n < fewest || n == fewest && same && !begins {
			nearest, fewest, begins = k, n, same
		}
	}
	if nearest == "" {
		nearest = ofWords(name, known)
	}
	return nearest
}

// ofWords is the only known name that ends or begins with a name, in whole words, or that a
// name does: "workspace_status" of "status", "units" of "residential_units". "" if there is
// none, or several.
func ofWords(name string, known []string) (found string) {
	const fewest = 4 // letters: shorter words are in too many
	words := func(text string) string { return "_" + spaced.Replace(strings.ToLower(text)) + "_" }
	for _, k := range known {
		if strings.HasPrefix(k, "without_") {
			continue // its opposite is known too
		}
		long, short := words(k), words(name)
		if len(long) < len(short) {
			long, short = short, long
		}
		if len(short) < fewest+2 || !strings.HasSuffix(long, short) && !strings.HasPrefix(long, short) {
			continue
		}
		if found != "" {
			return ""
		}
		found = k
	}
	return found
}

var spaced = strings.NewReplacer("-", "_", " ", "_")

// synonyms are what other APIs call the same, without marks and in lower case; the first
// that is known is meant.
var synonyms = map[string][]string{
	"q": {"query", "prefix"}, "text": {"query", "prefix"}, "search": {"query"}, "term": {"query"}, "keyword": {"query"}, "keywords": {"query"}, "query": {"q", "prefix", "search"},
	"page": {"offset"}, "skip": {"offset"}, "from": {"since", "offset"}, "after": {"search_after", "cursor"}, "searchafter": {"cursor"}, "cursor": {"search_after"}, "nexttoken": {"search_after", "cursor"}, "next": {"search_after", "cursor"},
	"size": {"limit"}, "perpage": {"limit"}, "pagesize": {"limit"}, "count": {"limit", "facets"}, "first": {"limit"}, "top": {"limit"}, "max": {"limit"},
	"or": {"any"}, "should": {"any"}, "anyof": {"any", "value"}, "not": {"none"}, "mustnot": {"none"}, "exclude": {"none"}, "and": {"filters"}, "where": {"filters", "filter"}, "must": {"filters"}, "conditions": {"filters", "definition"},
	"orderby": {"sort"}, "sortby": {"sort"}, "order": {"sort"}, "direction": {"order"}, "dir": {"order"}, "by": {"field"}, "key": {"field"}, "name": {"field"},
	"select": {"fields"}, "columns": {"fields"}, "source": {"fields"}, "expand": {"include"}, "includes": {"include"}, "embed": {"include"}, "with": {"include"},
	"eq": {"value"}, "is": {"value"}, "equals": {"value"}, "in": {"value"}, "contains": {"value"}, "like": {"value"}, "match": {"value"}, "exact": {"exact_match"}, "exists": {"known"}, "isnull": {"known"},
	"aggs": {"facets"}, "aggregations": {"facets"}, "facet": {"facets"},
	"items": {"inputs", "ids"}, "records": {"inputs", "ids"}, "data": {"inputs"}, "input": {"inputs"}, "id": {"ids", "record_id", "account_id", "project_id", "contact_id", "view_id", "signal_id", "domain"}, "recordids": {"ids"},
	"lat": {"latitude"}, "lon": {"longitude"}, "lng": {"longitude"}, "long": {"longitude"}, "radius": {"radius_m"}, "distance": {"radius_m"}, "box": {"within"}, "bbox": {"within"}, "circle": {"near"},
	"type": {"view_type", "signal_type", "account_type", "primary_use"}, "kind": {"view_type"}, "title": {"name"}, "mail": {"email"}, "workspace": {"workspace_id"}, "org": {"workspace_id"}, "tenant": {"workspace_id"},
	"relation": {"relations"}, "related": {"relations"}, "has": {"relations"}, "preview": {"dry_run"}, "dry": {"dry_run"}, "fuzzy": {"typos"}, "fuzziness": {"typos"},
	"companies": {"accounts", "account"}, "company": {"accounts", "account", "name"}, "firms": {"accounts", "account"}, "firm": {"accounts", "account", "name"}, "organizations": {"accounts", "account"}, "organization": {"accounts", "account", "name"}, "businesses": {"accounts", "account"},
	"people": {"contacts", "contact"}, "persons": {"contacts", "contact"}, "person": {"contacts", "contact"}, "leads": {"contacts", "contact"}, "permits": {"projects", "project"}, "permit": {"projects", "project"}, "buildings": {"projects", "project"}, "developments": {"projects", "project"}, "events": {"signals"}, "alerts": {"signals", "signal-queue"},
	"lists": {"views"}, "segments": {"views"}, "users": {"members"}, "team": {"members"}, "invites": {"invitations"}, "invite": {"invitations"}, "favorites": {"favorite-views"}, "favourites": {"favorite-views"}, "subscriptions": {"signal-subscriptions"}, "inbox": {"signal-queue"}, "notifications": {"signal-queue"}, "queue": {"signal-queue"}, "hooks": {"webhooks"},
	"find": {"search"}, "filter": {"search"}, "export": {"search"}, "download": {"search"}, "aggregate": {"facets"}, "stats": {"facets"}, "histogram": {"facets"}, "autocomplete": {"suggest"}, "typeahead": {"suggest"}, "complete": {"suggest"}, "resolve": {"match"}, "lookup": {"match"}, "enrich": {"match"},
	"create": {"upsert"}, "update": {"upsert"}, "save": {"upsert"}, "add": {"upsert"}, "remove": {"delete"}, "updates": {"changes"}, "history": {"changes"}, "feed": {"changes"}, "audit": {"changes"}, "quota": {"credits"}, "balance": {"credits"},
	"contractor": {"general_contractor"}, "builder": {"general_contractor"}, "gc": {"general_contractor"},
	"accounts": {"inputs"}, "contacts": {"inputs"}, "projects": {"inputs"}, "ids": {"inputs"}, "inputs": {"ids"}, "accountids": {"ids"}, "contactids": {"ids"}, "projectids": {"ids"}, "signalids": {"ids"}, "viewids": {"ids"},
	"pagetoken": {"search_after", "cursor"}, "sortorder": {"order", "sort"}, "ascending": {"asc"}, "descending": {"desc"}, "score": {"relevance", "atlas_score"},
	"price": {"cost"}, "budget": {"cost"}, "valuation": {"cost"}, "amount": {"cost"}, "phase": {"stage"}, "area": {"sqft"}, "floors": {"stories"}, "storeys": {"stories"}, "town": {"city"}, "municipality": {"city"}, "province": {"state"}, "region": {"state"}, "accountname": {"account_ids"}, "issued": {"permitted_at"}, "issuedat": {"permitted_at"}, "tier": {"icp_tier"}, "status": {"workspace_status", "stage"}, "website": {"domains", "domain"},
	"firstname": {"name"}, "lastname": {"name"}, "fullname": {"name"}, "threshold": {"min_confidence"}, "limit": {"candidates"}, "mean": {"avg"}, "average": {"avg"}, "total": {"sum"},
	"daily": {"day"}, "weekly": {"week"}, "monthly": {"month"}, "quarterly": {"quarter"}, "yearly": {"year"}, "annual": {"year"}, "annually": {"year"},
	"record.updated": {"record.changed"}, "record.created": {"record.changed"}, "record.modified": {"record.changed"}, "record.removed": {"record.deleted"}, "signal.created": {"signal.arrived"}, "signal.new": {"signal.arrived"}, "undismiss": {"restore"}, "book": {"accounts"},
	"format": {"output"}, "groupby": {"facets", "facet"},
	"wait": {"wait_s"}, "timeout": {"wait_s"}, "callback": {"url"}, "endpoint": {"url"}, "event": {"events"}, "topics": {"events"},
}

func synonym(plain string, known []string) string {
	for _, s := range synonyms[plain] {
		for _, k := range known {
			if k == s {
				return k
			}
		}
	}
	return ""
}

var marks = strings.NewReplacer("-", "", "_", "", " ", "")

func unmarked(name string) string { return marks.Replace(strings.ToLower(name)) }

// DidYouMean is the end of a message about an unknown name: the question whether the
// nearest known name was meant, between before and after, or "" if none is near.
func DidYouMean(before, name string, known []string, after string) string {
	if nearest := Nearest(name, known); nearest != "" {
		return fmt.Sprintf("%sdid you mean %q?%s", before, nearest, after)
	}
	return ""
}
