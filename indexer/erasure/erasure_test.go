package erasure_test

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"atlas/indexer/erasure"
	"atlas/search/catalog"
)

const (
	one = "0123456789abcdef0123456789abcdef"
	two = "fedcba9876543210fedcba9876543210"
	ada = "7f9b3a52-6a65-4d0e-9f55-0a4f6f3a5b10"
)

func keys(t *testing.T, text string) erasure.Keys {
	t.Helper()
	k, err := erasure.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func add(t *testing.T, k erasure.Keys, d catalog.Dataset, kind erasure.Kind, v erasure.Values) erasure.Suppression {
	t.Helper()
	s, err := k.New(d, kind, v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What each kind takes as the same, and as something else.
func TestNormalizations(t *testing.T) {
	t.Parallel()
	k := keys(t, "1:"+one)
	for _, c := range []struct {
		kind        erasure.Kind
		value       erasure.Values
		same, other []erasure.Values
	}{
		{
			erasure.ID, erasure.Values{ID: ada}, []erasure.Values{{ID: strings.ToUpper(ada)}},
			[]erasure.Values{{ID: "7f9b3a52-6a65-4d0e-9f55-0a4f6f3a5b11"}, {ID: ada[:35]}, {Email: ada}, {}},
		},
		{
			erasure.Email, erasure.Values{Email: "Ada.Lovelace@Bow-Valley.example"},
			[]erasure.Values{{Email: " ada.lovelace@bow-valley.EXAMPLE "}, {Email: "mailto:ada.lovelace@bow-valley.example."}},
			[]erasure.Values{{Email: "adalovelace@bow-valley.example"}, {Email: "ada.lovelace+x@bow-valley.example"}, {Email: "@"}, {ID: ada}},
		},
		{
			erasure.Email, erasure.Values{Email: "zoé@exämple.example"}, []erasure.Values{{Email: "ZOÉ@exa\u0308mple.example"}},
			[]erasure.Values{{Email: "zoe@example.example"}},
		},
		{
			erasure.Phone, erasure.Values{Phone: "+1 (403) 555-0100"},
			[]erasure.Values{{Phone: "403.555.0100 ext. 12"}, {Phone: "14035550100"}, {Phone: "403 555 0100 office 2"}},
			[]erasure.Values{{Phone: "403 555 0101"}, {Phone: "555"}},
		},
		{
			erasure.NameFirm, erasure.Values{Name: "Zoé  O’Hara-Smith", Firm: "Bow Valley, Inc."},
			[]erasure.Values{{Name: "zoe ohara smith", Firm: "BOW VALLEY INC"}},
			[]erasure.Values{{Name: "Zoé O’Hara-Smith"}, {Name: "Zoe", Firm: "Ohara Smith Bow Valley Inc"}},
		},
	} {
		set, err := erasure.NewSet(k, []erasure.Suppression{add(t, k, catalog.Contacts, c.kind, c.value)})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append(c.same, c.value) {
			if !set.Has(catalog.Contacts, v) {
				t.Errorf("%s: %+v is not %+v", c.kind, v, c.value)
			}
			if set.Has(catalog.Accounts, v) {
				t.Errorf("%s: %+v is suppressed in another dataset", c.kind, v)
			}
		}
		for _, v := range c.other {
			if set.Has(catalog.Contacts, v) {
				t.Errorf("%s: %+v is taken for %+v", c.kind, v, c.value)
			}
		}
	}
}

// Digests of years ago must be found: these never change.
func TestDigestsAreFrozen(t *testing.T) {
	t.Parallel()
	k := keys(t, "1:"+one)
	for n, digests := range []map[erasure.Kind]string{{
		erasure.ID:       "c76eff7335a1349a3ade14b391ab08c9b32549fcc27ce8438e556709c68c13fb",
		erasure.Email:    "e8ca78df83abff7198a5f2e4edfb4aa27c6f5be32ad95633bd04c99defde4929",
		erasure.Phone:    "1f4b0e62c3fe187ef8ac87fb72ab809e02c8b4b8937012aff23e6af6278ac1b8",
		erasure.NameFirm: "070da27ee248a5cd096755b0e7c61f568f5d008872e99d85194195721d347fba",
	}, {
		erasure.ID:       "2d9161f982e14511ec99b0e7aba6326ff9149d0abf94882b0cb08ef1ade6775c",
		erasure.Email:    "245b6d9e6147b03cf1fa7cc637e57f327a3d39508ced53ea00768238f6c18b53",
		erasure.Phone:    "9a66451b3de20ec74231ae5c39cdff560579181aaf8bc3491961453d43dccc64",
		erasure.NameFirm: "2a2cb57cd39ed582b28ab0315ce967cac0c9d17dc1ced23c0ee0578e672f7737",
	}} {
		for kind, want := range digests {
			s, err := erasure.Make(k, catalog.Contacts, kind, erasure.Values{
				ID: ada, Email: "Ada@Bow-Valley.example", Phone: "+1 403 555 0100", Name: "Ada Lovelace", Firm: "Bow Valley",
			}, n+1)
			if got := hex.EncodeToString(s.Digest[:]); got != want || err != nil || s.Normalization != n+1 || s.Key != 1 {
				t.Errorf("%s: %s of normalization %d and key %d, want %s, %v", kind, got, s.Normalization, s.Key, want, err)
			}
		}
	}
}

// The second normalization equates spellings that only a program distinguishes. Results of
// the first are still found by the first.
func TestUnusualSpellings(t *testing.T) {
	t.Parallel()
	k := keys(t, "1:"+one)
	v := erasure.Values{ID: ada, Email: "ada@bow-valley.example", Phone: "403 555 0100", Name: "Zoé Lovelace", Firm: "Bow Valley"}
	for kind, same := range map[erasure.Kind]erasure.Values{
		erasure.ID:       {ID: "\ufeff" + strings.ToUpper(ada) + "\u200b"},
		erasure.Email:    {Email: "\u2060ａｄａ@bow\u00ad-val\u200bley。example\ufe0f"},
		erasure.Phone:    {Phone: "４０３\u200e 555\u202c 0100"},
		erasure.NameFirm: {Name: "Zo\u200be\u0301 Love\u00adlace", Firm: "Ｂow V\u2060alley"},
	} {
		for n, want := range map[int]bool{1: kind == erasure.Phone, 2: true} {
			s, err := erasure.Make(k, catalog.Contacts, kind, v, n)
			if err != nil {
				t.Fatal(err)
			}
			set, err := erasure.NewSet(k, []erasure.Suppression{s})
			if err != nil || !set.Has(catalog.Contacts, v) || set.Has(catalog.Contacts, same) != want {
				t.Errorf("%s, normalization %d: %t, %v", kind, n, set.Has(catalog.Contacts, same), err)
			}
		}
	}
}

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	k := keys(t, "1:"+one)
	for _, c := range []struct {
		d    catalog.Dataset
		kind erasure.Kind
		v    erasure.Values
		want string
	}{
		{catalog.Contacts, erasure.ID, erasure.Values{ID: "7"}, "not a UUID"},
		{catalog.Contacts, erasure.Email, erasure.Values{Email: "ada"}, "one @"},
		{catalog.Contacts, erasure.Email, erasure.Values{Email: "a da@x.example"}, "one @"},
		{catalog.Contacts, erasure.Phone, erasure.Values{Phone: "12345"}, "7 to 15 digits"},
		{catalog.Contacts, erasure.NameFirm, erasure.Values{Name: "Ada"}, "firm"},
		{catalog.Accounts, erasure.Email, erasure.Values{Email: "a@b.example"}, "by id"},
		{catalog.Signals, erasure.ID, erasure.Values{ID: ada}, "cannot be suppressed"},
	} {
		if _, err := k.New(c.d, c.kind, c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %+v: %v, want %q", c.d, c.kind, c.v, err, c.want)
		}
	}
	if _, err := (erasure.Keys{}).New(catalog.Contacts, erasure.ID, erasure.Values{ID: ada}); err == nil ||
		!strings.Contains(err.Error(), "ATLAS_SUPPRESSION_KEY") {
		t.Errorf("without a key: %v", err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		one: "NUMBER:KEY", "x:" + one: "NUMBER:KEY", "0:" + one: "NUMBER:KEY", "1:short": "at least 32", "1:" + one + ",1:" + two: "two keys",
	} {
		if _, err := erasure.ParseKeys(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), one) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	// A new key makes new digests, and those of the old one are found as long as the old
	// key is given.
	old, both := keys(t, "1:"+one), keys(t, "1:"+one+"\n2:"+two)
	v := erasure.Values{ID: ada}
	first, second := add(t, old, catalog.Contacts, erasure.ID, v), add(t, both, catalog.Contacts, erasure.ID, v)
	if second.Key != 2 || second.Digest == first.Digest {
		t.Errorf("the new digest is of key %d", second.Key)
	}
	for _, s := range []erasure.Suppression{first, second} {
		if set, err := erasure.NewSet(both, []erasure.Suppression{s}); err != nil || !set.Has(catalog.Contacts, v) {
			t.Errorf("key %d: not found, %v", s.Key, err)
		}
	}
	for name, k := range map[string]erasure.Keys{"the key 2": old, "is required": {}} {
		if _, err := erasure.NewSet(k, []erasure.Suppression{second}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	// Another key under the number of the old one is noticed.
	wrong := keys(t, "1:"+two)
	if _, err := erasure.NewSet(wrong, []erasure.Suppression{first}); err == nil || !strings.Contains(err.Error(), "the key 1") ||
		strings.Contains(err.Error(), two) {
		t.Errorf("a wrong key: %v", err)
	}
	removed := time.Now()
	second.Removed, second.Seq = &removed, 7
	set, err := erasure.NewSet(nil, []erasure.Suppression{second})
	if err != nil || set.Has(catalog.Contacts, v) || !set.Empty(catalog.Contacts) || set.Through() != 7 {
		t.Errorf("one that was removed: %+v, %v", set, err)
	}
}

// A line that is not a record is recognized too, so that its values do not become a dead
// letter.
func TestLines(t *testing.T) {
	t.Parallel()
	k := keys(t, "1:"+one)
	set, err := erasure.NewSet(k, []erasure.Suppression{
		add(
			t,
			k,
			catalog.Contacts,
			erasure.Email,
			erasure.Values{Email: "ada@x.example"},
		), add(t, k, catalog.Contacts, erasure.ID, erasure.Values{ID: ada}),
		add(t, k, catalog.Contacts, erasure.Phone, erasure.Values{Phone: "+1 403 555 0100"}),
		add(t, k, catalog.Contacts, erasure.NameFirm, erasure.Values{Name: "Ada L", Firm: "Firm"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]bool{
		`{"id":"` + ada + `","wrong":1}`: true, `{"id":1,"email":"ADA@x.example"}`: true, `{"id":"` + ada + `","deleted":true}`: true,
		`{"email":"bob@x.example"}`: false, `[]`: false, ``: false, `null`: false,
		// What is no JSON.
		`{"id":"` + ada: true, `{"id":"` + ada + `","name":"Ada",}`: true, `{"email": "ad\u0061@x.example", "name": "A`: true,
		`{'email': 'ADA@x.example'}`: true, `ada@x.example,Ada,x`: true, `{"notes":"see ada@x.example"`: true,
		`{"id":"` + ada[:30]: false, `{"email":"bob@x.example"`: false, `bob@x.example`: false,
		// Other forms that are not JSON.
		`{'name': 'Ada', 'notes': 'see', 'email': 'ada@x.example', 'a': 1}`: true, `"{\"email\":\"ada@x.example\"}"`: true,
		`[{"email":"ada@x.example"}]`: true, `7,` + strings.ToUpper(ada) + `,Ada`: true, `{"email":"ada＠x.example"`: true,
		`{"notes":"ad\u0061@x.example"`: true, `"{\"notes\":\"\\u0061da@x.example\"}"`: true, `{"phone":["+1 403 555 0100"],`: true,
		`{'phone': '403 555 0100', 'x': 'y'`: true, `{"id":"7f9b3a52\u002d6a65-4d0e-9f55-0a4f6f3a5b10`: true,
		`{"name":"Ada L","account_name":"Firm"`: true, `{'account_name':'Firm','x':{'name':'Bob'},'name':'Ada L'`: true,
		`{"name":"Ada L"},{"account_name":"Firm"`: false,
		`{"name":"Bob","account_name":"Firm",`:    false, `{"phone":`: false, `\ud83d`: false, `{"name":"\`: false,
	} {
		if got := set.Line(catalog.Contacts, []byte(line)); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
	var none *erasure.Set
	if none.Has(catalog.Contacts, erasure.Values{ID: ada}) || !none.Empty(catalog.Contacts) || none.Through() != 0 {
		t.Error("no set has something")
	}
}

// A hostile line takes no longer than others of its length.
func TestHostileLines(t *testing.T) {
	t.Parallel()
	k := keys(t, "1:"+one)
	set, err := erasure.NewSet(k, []erasure.Suppression{
		add(t, k, catalog.Contacts, erasure.Email, erasure.Values{Email: "ada@x.example"}),
		add(t, k, catalog.Contacts, erasure.ID, erasure.Values{ID: ada}),
		add(t, k, catalog.Contacts, erasure.Phone, erasure.Values{Phone: "+1 403 555 0100"}),
		add(t, k, catalog.Contacts, erasure.NameFirm, erasure.Values{Name: "Ada L", Firm: "Firm"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	numbered := func(text string) string {
		var b strings.Builder
		for i := 0; b.Len() < 1<<20; i++ {
			b.WriteString(strings.ReplaceAll(text, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	const size = 1 << 20
	for name, c := range map[string]struct {
		line string
		want bool
	}{
		"one long value": {`{"name":"` + strings.Repeat("é", size/2), false},
		"long values": {
			strings.Repeat(`"name":"`+strings.Repeat("a", 2000)+`","account_name":"`+strings.Repeat("b", 2000)+`",`, size/4000), false,
		},
		"the same members":  {strings.Repeat(`"email":"","phone":"1","name":"a","account_name":"b"`, size/50), false},
		"many names":        {numbered(`"name":"n#","account_name":"f#",`), true},
		"many addresses":    {numbered(`a#@x.example,`), true},
		"many ids":          {numbered(`7f9b3a52-6a65-4d0e-9f55-0a4f6f3a5b10`[:30] + "#,"), false},
		"signs":             {strings.Repeat("@", size), false},
		"hyphens":           {strings.Repeat("-", size), false},
		"quotes":            {strings.Repeat(`'name:"`, size/7), false},
		"escapes":           {strings.Repeat(`\`, size), false},
		"objects":           {strings.Repeat(`{`, size), false},
		"spaces":            {strings.Repeat(`"name"`+strings.Repeat(" ", 1000), size/1000), false},
		"one long address":  {strings.Repeat("a", size) + "@x", false},
		"the end of a line": {`{"name":"` + strings.Repeat("a", size) + `","email":"ada@x.example"`, true},
	} {
		began := time.Now()
		if got := set.Line(catalog.Contacts, []byte(c.line)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}
