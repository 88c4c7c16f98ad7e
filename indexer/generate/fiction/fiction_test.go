package fiction_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atlas/indexer/generate/fiction"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Bâtiments Lévesque & Co.":              "batiments-levesque-co",
		"CEDARGLEN GROUP (THE)":                 "cedarglen-group-the",
		"O'Connor  Sørensen":                    "oconnor-sorensen",
		"Groß-Ångström Æ":                       "gross-angstrom-ae",
		"--":                                    "firm",
		"":                                      "firm",
		"建設":                                    "firm",
		"A.B.C. Ltd":                            "abc-ltd",
		strings.Repeat("x", 47) + " y and more": strings.Repeat("x", 47),
	} {
		if got := fiction.Slug(name); got != want {
			t.Errorf("Slug(%q) = %q, want %q", name, got, want)
		}
	}
	label := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		if got := fiction.Slug(name); !label.MatchString(got) || len(got) > 48 {
			rt.Fatalf("Slug(%q) = %q", name, got)
		}
	})
}

func TestPeople(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	phone := regexp.MustCompile(`^\+1 403 555 01\d\d$`)
	mailbox := regexp.MustCompile(`^[a-z-]+\.[a-z-]+$`)
	names, roles := map[string]int{}, map[string]bool{}
	for range 20000 {
		first, last := fiction.Person(r)
		names[first+" "+last]++
		role := fiction.Role(r)
		roles[role] = true
		if fiction.Title(r, role) == "" {
			t.Fatalf("no title for %s", role)
		}
		if p := fiction.Phone(r, 403); !phone.MatchString(p) {
			t.Fatalf("phone %q", p)
		}
		if m := fiction.Mailbox(first, last); !mailbox.MatchString(m) {
			t.Fatalf("mailbox %q", m)
		}
	}
	most := 0
	for _, n := range names {
		most = max(most, n)
	}
	if len(names) < 2000 || most < 20 || len(roles) != 12 {
		t.Errorf("%d names, the most frequent %d times, %d roles", len(names), most, len(roles))
	}
}
