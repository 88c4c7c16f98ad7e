package api

import (
	"atlas/internal/api/openapi"
	"atlas/search/query"
	"atlas/workspace"
)

// Patterns are written so that ECMA-262, Python, Rust and Go read them alike:
// no look-ahead, no \s (whose characters differ), no Unicode classes.
const (
	// spaces are the characters that are trimmed.
	spaces = "\\x09-\\x0d \\x85\\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	// controls cannot be in a name.
	controls = `\x00-\x1f\x7f-\x9f`

	anyText  = `^[^\x00]*$`
	nonBlank = `^[^\x00]*[^\x00` + spaces + `][^\x00]*$`
	oneLine  = `^[` + spaces + `]*[^` + controls + spaces + `]([^` + controls + `]*[^` + controls + spaces + `])?[` + spaces + `]*$`

	anyUUID   = `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`
	lowerUUID = `^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`

	// year is 0001 to 9999.
	year    = `([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)`
	day     = year + `-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])`
	clock   = `T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]`
	offset  = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	aDay    = `^` + day + `$`
	instant = `^` + day + clock + `(\.[0-9]+)?` + offset + `$`
	// stamp is how every time is answered.
	stamp = `^` + day + clock + `\.[0-9]{3}Z$`

	digits  = `^[0-9]{1,15}$`
	aCursor = `^[A-Za-z0-9_-]+$`
	slug    = `^[a-z0-9]+(-[a-z0-9]+)*$`
	// aDomain is what a domain can be read from: less than the service makes sense
	// of, and all that people paste.
	aDomain = `^[` + spaces + `]*([A-Za-z][A-Za-z0-9+.-]*://)?[A-Za-z0-9` + "\u00c0-\ud7ff" + `][^/?#@:%\x00]*(:[0-9]*)?([/?#][^:@\x00]*)?$`

	printable = `^[ -~]{1,128}$`
)

// Values that examples are made of.
const (
	sampleID   = "0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"
	sampleTime = "2026-02-14T09:30:00.000Z"
	sampleDay  = "2026-01-31"
)

// idIn is a UUID as a client may write it, idOut as it is answered.
func idIn() *openapi.Schema {
	return &openapi.Schema{Type: "string", Format: "uuid", Pattern: anyUUID, MinLength: 36, MaxLength: 36, Examples: []any{sampleID}}
}

func idOut() *openapi.Schema {
	return &openapi.Schema{Type: "string", Format: "uuid", Pattern: lowerUUID, Examples: []any{sampleID}}
}

// timeOut is a time as it is answered.
func timeOut() *openapi.Schema {
	return &openapi.Schema{Type: "string", Format: "date-time", Pattern: stamp, Examples: []any{sampleTime}}
}

// text is a text that is trimmed and then has 1 to most characters: the schema
// counts before, so that of a padded one it takes less than the service.
func text(most int) *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: nonBlank, MinLength: 1, MaxLength: most}
}

// line is a text without control characters.
func line(most int) *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: oneLine, MinLength: 1, MaxLength: most}
}

// free is a text of up to most characters, which may be empty.
func free(most int) *openapi.Schema {
	return &openapi.Schema{Type: "string", Pattern: anyText, MaxLength: most}
}

// plain is a text as it is answered.
func plain(example string) *openapi.Schema {
	return &openapi.Schema{Type: "string", Examples: []any{example}}
}

// always is an integer that is always the same.
func always(n int) *openapi.Schema { return &openapi.Schema{Type: "integer", Const: n} }

// vocabularies are the closed ones, by the name of their schema.
var vocabularies = []struct {
	name   string
	values query.Vocabulary
}{
	{"Stage", query.Stages}, {"Disposition", query.Dispositions}, {"AccountType", query.AccountTypes},
	{"PrimaryUse", query.PrimaryUses}, {"GCStatus", query.GCStatuses}, {"ContactRole", query.ContactRoles},
	{"ContactStatus", query.ContactStatuses}, {"SignalType", query.SignalTypes}, {"IcpTier", query.ICPTiers},
}

// vocabulary refers to the schema of one of them.
func vocabulary(v query.Vocabulary) *openapi.Schema { return openapi.Ref(vocabularyName(v)) }

func vocabularyName(v query.Vocabulary) string {
	if &v[0] == &query.Trends[0] {
		return "AtlasTrend"
	}
	for _, known := range vocabularies {
		if &known.values[0] == &v[0] {
			return known.name
		}
	}
	panic("api: a vocabulary has no schema: " + v[0].Value)
}

// leafSchemas are the schemas of values.
func leafSchemas() schemas {
	var all schemas
	for _, v := range vocabularies {
		s := openapi.OneOf(v.values.Values()...)
		for _, term := range v.values {
			s.Description += "- `" + term.Value + "`: " + term.Description + "\n"
		}
		all = append(all, named(v.name, s))
	}
	return append(all,
		named("Role", openapi.OneOf(workspace.Owner, workspace.Admin, workspace.MemberRole)),
		named("AtlasTrend", openapi.OneOf(query.Trends.Values()...).Described("Signals of the last 90 days against those of the 90 days before.")),
	)
}
