package schema_test

import (
	"encoding/json"
	"testing"

	"atlas/internal/schema"
)

// TestAnyOfObjects: the type has all members, and requires those that all require.
func TestAnyOfObjects(t *testing.T) {
	t.Parallel()
	one := schema.Named("One", schema.Object(
		schema.Required("kind", schema.OneOf("a", "b").Described("Of one.")),
		schema.Required("name", schema.Free(10)),
		schema.Optional("names", schema.Array(schema.Free(5), 1, 2)),
	))
	other := schema.Named("Other", schema.Object(
		schema.Required("kind", schema.OneOf("b", "c").Described("Of the other.")),
		schema.Optional("name", schema.Free(20)),
		schema.Optional("names", schema.Array(schema.Free(7), 2, 3)),
		schema.Optional("more", schema.Boolean()),
	))
	all := schema.AnyOfObjects(one, other, schema.Named("Third", schema.Object(schema.Required("kind", schema.OneOf("c")))))
	got, err := json.Marshal(
		map[string]any{"kind": all.Properties.Get("kind").Enum, "length": all.Properties.Get("name").MaxLength, "required": all.Required,
			"most": all.Properties.Get("names").MaxItems, "item": all.Properties.Get("names").Items.MaxLength,
			"members": len(all.Properties), "rules": len(all.Then.AnyOf),
			"description": all.Properties.Get("kind").Description},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"description":"","item":7,"kind":["a","b","c"],"length":20,"members":4,"most":3,"required":["kind"],"rules":3}`
	if string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
