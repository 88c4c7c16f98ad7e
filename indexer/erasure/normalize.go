package erasure

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A normalization makes values equal that mean the same. It is frozen: lists store digests of
// its results, which cannot be recomputed. A better one gets the next number, and both are
// used.

// Newest is the number of the normalization of new suppressions.
const Newest = 2

type normalization struct {
	id, email, phone func(string) string
	nameFirm         func(name, firm string) string
}

var normalizations = map[int]normalization{
	1: {id1, email1, phone1, nameFirm1},
	2: {id2, email2, phone2, nameFirm2},
}

// visible2 removes invisible characters, and replaces characters of another width or form by
// ordinary ones (NFKC).
func visible2(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector), r == '\u034f', r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0',
			r == utf8.RuneError, unicode.IsControl(r) && !unicode.IsSpace(r):
			return -1
		}
		return r
	}, norm.NFKC.String(strings.ToValidUTF8(s, "")))
	return strings.TrimSpace(norm.NFKC.String(s)) // characters that were separated can compose now
}

func id2(s string) string { return id1(visible2(s)) }

// email2 also reads the full stops of other scripts in a domain as points.
func email2(s string) string {
	local, domain, _ := strings.Cut(visible2(s), "@")
	return email1(local + "@" + strings.ReplaceAll(domain, "。", "."))
}

func phone2(s string) string { return phone1(visible2(s)) }

func nameFirm2(name, firm string) string { return nameFirm1(visible2(name), visible2(firm)) }

// id1 is a UUID of 36 characters in lower case.
func id1(s string) string {
	if len(s) != 36 {
		return ""
	}
	s = strings.ToLower(s)
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return ""
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
				return ""
			}
		}
	}
	return s
}

// email1 is an address in lower case and composed form, without surrounding spaces and mailto:.
// Dots and plus signs count, because providers treat them differently.
func email1(s string) string {
	s = strings.ToLower(norm.NFC.String(strings.ToValidUTF8(strings.TrimSpace(s), "")))
	s = strings.TrimSpace(strings.TrimPrefix(s, "mailto:"))
	local, domain, found := strings.Cut(s, "@")
	domain = strings.TrimSuffix(domain, ".")
	if !found || local == "" || domain == "" || strings.Contains(domain, "@") || strings.ContainsFunc(local+domain, unicode.IsSpace) {
		return ""
	}
	return local + "@" + domain
}

// phone1 is the last 10 of 7 to 15 digits, before an extension.
func phone1(s string) string {
	s = strings.ToLower(norm.NFKC.String(s))
	for _, mark := range []string{"ext", "x", "#", ";", "poste"} {
		s, _, _ = strings.Cut(s, mark)
	}
	s = strings.ReplaceAll(s, "(0)", "")
	var digits []byte
	for i := range len(s) {
		c := s[i]
		if '0' <= c && c <= '9' {
			digits = append(digits, c)
		} else if 'a' <= c && c <= 'z' && len(digits) >= 7 {
			break // "403 555 0100 office 2"
		}
	}
	if len(digits) < 7 || len(digits) > 15 {
		return ""
	}
	return string(digits[max(len(digits)-10, 0):])
}

// nameFirm1 is the words of both names, in lower case and without diacritics.
func nameFirm1(name, firm string) string {
	name, firm = words1(name), words1(firm)
	if name == "" || firm == "" {
		return ""
	}
	return name + "\x00" + firm
}

func words1(s string) string {
	var b strings.Builder
	between := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r) || r == '\'' || r == '’' || r == utf8.RuneError:
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if between && b.Len() > 0 {
				b.WriteByte(' ')
			}
			between = false
			b.WriteString(strings.ToLower(string(r)))
		default:
			between = true
		}
	}
	return b.String()
}
