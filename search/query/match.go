package query

import (
	"strconv"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/search/catalog"
)

// Bounds of a request for matches.
const (
	MaxMatchInputs       = 100
	MaxMatchCandidates   = 5
	DefaultMinConfidence = 0.8
	maxRef               = 200
)

// MatchInput describes a firm or a person.
type MatchInput struct {
	// Ref is the client's own name of the input.
	Ref                                     string
	Name, Domain, Email, Phone, City, State string
}

// MatchRequest requests the records of firms or persons (docs/api.md, "Match").
type MatchRequest struct {
	Dataset       catalog.Dataset
	Inputs        []MatchInput
	MinConfidence float64
	Candidates    int
	Fields        catalog.FieldSet
	// MaxBytes limits the answer like Page.Within limits a page; 0: no limit.
	MaxBytes int
	// Workspace is the caller's.
	Workspace string
}

// Matched are the datasets whose records can be matched.
var Matched = []catalog.Dataset{catalog.Accounts, catalog.Contacts}

// MatchRule reads the body of a request for matches.
func MatchRule(d catalog.Dataset) rule.Rule[MatchRequest] { return matchRules[d] }

var matchRules = byDataset(matchRule)

const exampleMatchInput = `{"ref":"1","name":"Acme"}`

func matchRule(d catalog.Dataset) rule.Rule[MatchRequest] {
	text := func(most int, description string) rule.Rule[string] { return rule.Text(1, most).Described(description) }
	email := "The person's e-mail address."
	if d == catalog.Accounts {
		email = "An e-mail address at the firm: its domain counts, unless anybody may have an address there."
	}
	each := rule.Object(
		rule.Required("ref", rule.Verbatim(maxRef).Instead(func(v input.Value) string {
			if v.Kind == input.Number {
				return strconv.Quote(v.Text)
			}
			return `"row 1"`
		}).Described("Your own name of the input, which the result repeats."), func(in *MatchInput) *string { return &in.Ref }),
		rule.Optional("name", text(catalog.ShortChars, "The name as you have it."), func(in *MatchInput) *string { return &in.Name }),
		rule.Optional(
			"domain", text(catalog.ShortChars, "The firm's internet domain, or the address of its page."),
			func(in *MatchInput) *string { return &in.Domain },
		),
		rule.Optional("email", text(catalog.ShortChars, email), func(in *MatchInput) *string { return &in.Email }),
		rule.Optional("phone", text(catalog.ShortChars, "In any form."), func(in *MatchInput) *string { return &in.Phone }),
		rule.Optional(
			"city", text(catalog.ShortChars, "Supports the other members, and finds nothing by itself."),
			func(in *MatchInput) *string { return &in.City },
		),
		rule.Optional("state", text(catalog.ShortChars, "As `city`: a code or a name."), func(in *MatchInput) *string { return &in.State }),
		rule.Step(func(issues *input.Issues, body *input.Reader, in *MatchInput) {
			switch {
			case given(body, "name") || given(body, "email") || given(body, "phone"):
			case d == catalog.Contacts:
				issues.Add(fault.Custom, body.Path(), "must have one of name, email or phone")
			case !given(body, "domain"):
				issues.Add(fault.Custom, body.Path(), "must have one of name, domain, email or phone")
			}
		}),
	).Instead(func(v input.Value) string {
		if v.Kind != input.String {
			return exampleMatchInput
		}
		return `{"ref":"1","name":` + v.JSON() + "}"
	}).Named(d.Title() + "MatchInput")
	confidence := rule.New(&schema.Schema{
		Type: "number", Minimum: 0, Maximum: 1,
	}, input.Number, "a number", func(issues *input.Issues, v input.Value, path []string) (float64, bool) {
		x, _ := strconv.ParseFloat(v.Text, 64) // infinite if it is out of range
		switch {
		case x < 0:
			issues.Add(fault.TooSmall, path, "must be at least 0")
		case x > 1:
			issues.Add(fault.TooBig, path, "must be at most 1")
		default:
			return x, true
		}
		return 0, false
	})
	return rule.Map(rule.Object(
		rule.Required("inputs", rule.Array("inputs", each, 1, MaxMatchInputs), func(r *MatchRequest) *[]MatchInput { return &r.Inputs }),
		rule.Optional(
			"min_confidence", confidence.Default(DefaultMinConfidence).Described("No record below this is returned."),
			func(r *MatchRequest) *float64 { return &r.MinConfidence },
		),
		rule.Optional(
			"candidates",
			rule.Integer(1, MaxMatchCandidates).Default(1).Described("How many records of an input may be returned. Each costs a credit."),
			func(r *MatchRequest) *int { return &r.Candidates },
		),
		rule.Optional("fields", catalog.RecordFieldsRule(d), func(r *MatchRequest) *catalog.FieldSet { return &r.Fields }),
		rule.Optional("max_bytes", MaxBytesRule, func(r *MatchRequest) *int { return &r.MaxBytes }),
	), func(r MatchRequest) MatchRequest {
		r.Dataset = d
		return r
	}).Named(d.Title() + "MatchRequest")
}
