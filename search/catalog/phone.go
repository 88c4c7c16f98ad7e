package catalog

import "strings"

// PhoneDigits is how many digits of a phone number are compared, counted from its end. A
// text with fewer digits is not a phone number.
const (
	PhoneDigits    = 10
	minPhoneDigits = 7
)

// Phone is the form in which phone numbers are compared: the last PhoneDigits digits,
// without an extension. It is "" for a text that is not a phone number.
func Phone(s string) string {
	s = Fold(s)
	for _, mark := range []string{"ext", "x", "#", ";", "poste"} {
		if before, _, found := strings.Cut(s, mark); found {
			s = before
		}
	}
	s = strings.ReplaceAll(s, "(0)", "")
	var digits []byte
	for i := range len(s) {
		if c := s[i]; '0' <= c && c <= '9' {
			digits = append(digits, c)
		} else if 'a' <= c && c <= 'z' {
			if len(digits) >= minPhoneDigits {
				break // "403 555 0100 office"
			}
		}
	}
	if len(digits) < minPhoneDigits || len(digits) > 15 {
		return ""
	}
	return string(digits[max(len(digits)-PhoneDigits, 0):])
}
