package skills_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/workspace/skills"
)

func TestSlugs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ann's  Notes!": "ann-s-notes", "Straße & Café": "strasse-cafe", "": "", "--- ¡!": "", " a ": "a", "v2.0": "v2-0",
		"日本語 メモ": "日本語-メモ", strings.Repeat("ab ", 60): strings.TrimSuffix(strings.Repeat("ab-", 40), "-"),
	} {
		if got := skills.Slug(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		slug := skills.Slug(rapid.String().Draw(t, "text"))
		if repeated := skills.Slug(slug); repeated != slug {
			t.Fatalf("the slug of %q is %q", slug, repeated)
		}
		if slug == "" {
			return
		}
		if scope, got, ok := skills.ParseLocator("workspace/" + slug); !ok || scope != skills.WorkspaceSkill || got != slug {
			t.Fatalf("workspace/%s: %s, %s, %v", slug, scope, got, ok)
		}
	})
}

func FuzzParseLocator(f *testing.F) {
	f.Add("workspace/a-b")
	f.Add("personal/")
	f.Fuzz(func(t *testing.T, locator string) {
		if scope, slug, ok := skills.ParseLocator(locator); ok && (skills.Skill{Scope: scope, Slug: slug}).Locator() != locator {
			t.Errorf("%q was read as %s, %s", locator, scope, slug)
		}
	})
}
