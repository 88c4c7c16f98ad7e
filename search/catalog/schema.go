package catalog

import (
	"atlas/internal/rule"
	"atlas/internal/schema"
)

// Schema is the schema of the field's value in a record.
func (f Field) Schema() *schema.Schema {
	var s *schema.Schema
	switch f.Type {
	case Strings:
		if f.Vocabulary != nil {
			return schema.Array(f.Vocabulary.Schema(), 0, 0).Described(f.Description)
		}
		s = schema.Array(&schema.Schema{Type: "string"}, 0, 0)
	case UUIDs:
		return schema.Array(schema.UUID(), 0, 0).Described(f.Description)
	case UUID:
		s = schema.UUID()
	case Integer:
		s = &schema.Schema{Type: "integer", Format: "int64"}
		if f.Min != 0 || f.Max != 0 {
			s = schema.Integer(f.Min, f.Max)
		}
	case Double:
		s = &schema.Schema{Type: "number", Format: "double"}
	case Time:
		s = schema.Time()
	default:
		s = &schema.Schema{Type: "string"}
		if f.Vocabulary != nil {
			s = f.Vocabulary.Schema()
		}
	}
	if f.Example != nil {
		s.Examples = []any{f.Example}
	}
	if f.Nullable() {
		s = schema.Nullable(s)
	}
	return s.Described(f.Description)
}

var trendSchema = schema.Named("AtlasTrend", schema.OneOf(Trends.Values()...).
	Described("Signals of the last 90 days against those of the 90 days before."))

// vocabularies are the schemas of the closed vocabularies.
var vocabularies = []struct {
	values Vocabulary
	schema *schema.Schema
}{
	{Stages, vocabularySchema("Stage", Stages)},
	{Dispositions, vocabularySchema("Disposition", Dispositions)},
	{AccountTypes, vocabularySchema("AccountType", AccountTypes)},
	{PrimaryUses, vocabularySchema("PrimaryUse", PrimaryUses)},
	{GCStatuses, vocabularySchema("GCStatus", GCStatuses)},
	{ContactRoles, vocabularySchema("ContactRole", ContactRoles)},
	{ContactStatuses, vocabularySchema("ContactStatus", ContactStatuses)},
	{SignalTypes, vocabularySchema("SignalType", SignalTypes)},
	{ICPTiers, vocabularySchema("IcpTier", ICPTiers)},
	{Trends, trendSchema},
}

func vocabularySchema(name string, values Vocabulary) *schema.Schema {
	s := schema.OneOf(values.Values()...)
	for _, term := range values {
		s.Description += "- `" + term.Value + "`: " + term.Description + "\n"
	}
	return schema.Named(name, s)
}

// Schema is the schema of a closed vocabulary, a component of its own.
func (v Vocabulary) Schema() *schema.Schema {
	for _, known := range vocabularies {
		if &known.values[0] == &v[0] {
			return known.schema
		}
	}
	panic("catalog: a vocabulary has no schema: " + v[0].Value)
}

// Rule reads a value of a closed vocabulary.
func (v Vocabulary) Rule() rule.Rule[string] { return rule.Enum(v.Values()...).As(v.Schema()) }
