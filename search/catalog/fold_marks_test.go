package catalog

import (
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// Substitutes of typed marks, and invisible characters.
func TestFoldOfMarks(t *testing.T) {
	t.Parallel()
	for _, group := range [][]string{
		{"o'dell", "O’Dell", "o‘dell", "oʼdell", "o′dell", "o`dell", "o´dell", "o‛dell", "o＇dell", "oʻdell", "O\u2019DELL"},
		{`"the" row`, "“The” Row", "„The“ Row", "«The» row", "＂the＂ row", "″the″ row"},
		{"'the'", "‘the’", "‚the‘", "‹the›"},
		{
			"north-west", "north‐west", "north‑west", "north–west", "north—west", "north−west", "north﹣west",
			"north－west", "north‒west", "north―west",
		},
		{"etc...", "etc…"},
		{"garage", "ga\u00adrage", "ga\u200brage", "\ufeffgarage", "gar\u200dage", "ga\u2060rage", "\u200egarage\u200f", "garage\ufe0f"},
		{"acme homes", "acme\u00a0homes", "acme\u202fhomes", "acme\u3000homes", "ＡＣＭＥ　Ｈｏｍｅｓ", "acme\u2009homes"},
		{"office", "oﬃce", "oﬀice", "of\ufb01ce"},
		{"ijsselmeer", "Ĳsselmeer", "ĳsselmeer"},
		{"123 main", "１２３ main", "１２３　Ｍａｉｎ"},
		{"ガレージ", "ｶﾞﾚｰｼﾞ", "カ\u3099レーシ\u3099"},
		{"5'6\"", "5′6″"},
		{"dzamonja", "ǅamonja", "džamonja"},
		{"m²", "Ｍ²", "m\u200b²"},
		{"سلام", "ﺳﻼﻡ"},
	} {
		for _, s := range group {
			if got := Fold(s); got != group[0] {
				t.Errorf("Fold(%+q) = %+q, want %+q", s, got, group[0])
			}
		}
	}
}

// The results of the first version never change: they are the first step of each version.
func TestFoldCase(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"O’Dell": "o’dell", "“Ä”": "“a”", "A–B": "a–b", "Ga\u00adrage": "ga\u00adrage", "Ａ": "ａ", "ｶ": "ｶ",
		"x\u00a0Y": "x\u00a0y", "`É`": "`e`", "…": "…",
	} {
		if got := CaseFolding.Fold(s); got != want || FoldCase(s) != want {
			t.Errorf("CaseFolding.Fold(%+q) = %+q, want %+q", s, got, want)
		}
		if !Varies(s) {
			t.Errorf("%+q does not vary", s)
		}
	}
	for _, s := range []string{"", "O'Dell", "Łódź", "m²", "東京都", "a-b \"c\""} {
		if Varies(s) {
			t.Errorf("%+q varies", s)
		}
	}
	if FoldingNamed(0) != CaseFolding || FoldingNamed(3) != MarkFolding || Folding(0).Fold("’") != "'" {
		t.Error("an index without a version has the first one, and no version is the newest")
	}
}

// Each version refines the one before, so a text that the first one folded can be folded
// on; and a number keeps its digits.
func TestFoldingsRefine(t *testing.T) {
	t.Parallel()
	for r := rune(1); r < 0x30000; r++ {
		s := string(r)
		if once := Fold(s); Fold(once) != once || Fold(FoldCase(s)) != once {
			t.Fatalf("Fold(%U) = %+q, then %+q, of the first version %+q", r, once, Fold(once), Fold(FoldCase(s)))
		}
		if got := Fold(s); unicode.Is(unicode.No, r) && got != FoldCase(s) {
			t.Errorf("Fold(%U) = %q: another number", r, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(
			anyRune(), rapid.RuneFrom([]rune("’“”«–—…`´\u00ad\u200b\u200d\u3000\u00a0ﬁĳＡ９ｶﾞﾊﾟ＇²½①か\u3099\u0301")),
		)).Draw(t, "s")
		once := Fold(s)
		if Fold(once) != once || Fold(FoldCase(s)) != once {
			t.Errorf("Fold(%+q) = %+q, then %+q, of the first version %+q", s, once, Fold(once), Fold(FoldCase(s)))
		}
	})
}

func anyRune() *rapid.Generator[rune] {
	return rapid.OneOf(
		rapid.Rune(), rapid.RuneFrom(nil, unicode.Latin, unicode.Greek, unicode.Hangul, unicode.Arabic),
		rapid.RuneFrom(nil, unicode.Mn),
	)
}
