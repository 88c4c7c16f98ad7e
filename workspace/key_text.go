package workspace

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// KeyForm is the format of the text of an API key. Every format is accepted.
type KeyForm int

// The formats of keys. Plain is that of keys from before checksums: atlas_<id>_<secret in
// base64url>, 86 characters. Checked has only letters and digits:
// atlas_k1_<id><secret><checksum>, 80 characters, in base62. The checksum is the CRC-32 of
// everything before it, so that secret scanners recognize a key offline, and a mistyped key
// needs no look-up.
const (
	Plain   KeyForm = 0
	Checked KeyForm = 1
)

// Every API key begins with keyPrefix; a JWT begins with "ey". checkedPrefix is that of the
// form Checked.
const (
	keyPrefix     = "atlas_"
	checkedPrefix = keyPrefix + "k1_"
)

// scimPrefix is that of a SCIM token, which has the form Checked.
const scimPrefix = keyPrefix + "s1_"

// SCIMTokenStart is the beginning of every SCIM token, SCIMTokenText describes one.
const (
	SCIMTokenStart = scimPrefix
	SCIMTokenText  = scimPrefix + " and 71 letters and digits"
)

// Lengths of the parts of a key of the form Checked, in digits of base62.
const (
	idDigits       = 22 // 16 bytes
	secretDigits   = 43 // 32 bytes
	checksumDigits = 6  // 4 bytes
	checkedLength  = len(checkedPrefix) + idDigits + secretDigits + checksumDigits
)

// KeyText describes an API key.
const KeyText = "atlas_k1_ and 71 letters and digits, 80 characters in all, or 86 of an older key"

var (
	errMalformedKey = errors.New("not an API key of the form atlas_k1_<id><secret><checksum> or atlas_<id>_<secret>")
	// ErrChecksum means that a text has the length of an API key, but was altered.
	ErrChecksum = errors.New("the checksum is not that of the API key")
)

// Token returns the text of an API key, of the form Checked.
func (s Secret) Token(id KeyID) string { return s.checked(checkedPrefix, id) }

// SCIMToken returns the text of a token for SCIM.
func (s Secret) SCIMToken(id SCIMTokenID) string { return s.checked(scimPrefix, id) }

func (s Secret) checked(prefix string, id [16]byte) string {
	text := append([]byte(prefix), base62(id[:], idDigits)...)
	text = append(text, base62(s[:], secretDigits)...)
	return string(append(text, checksum(string(text))...))
}

// StartOfSCIMToken returns the beginning of a token's text, like Key.Start.
func StartOfSCIMToken(id SCIMTokenID) string { return scimPrefix + string(base62(id[:], idDigits)) }

// LooksLikeSCIMToken reports whether a bearer token has the prefix of a token for SCIM.
func LooksLikeSCIMToken(token string) bool { return strings.HasPrefix(token, scimPrefix) }

// ParseSCIMToken splits the text of a token for SCIM.
func ParseSCIMToken(token string) (SCIMTokenID, Secret, error) {
	id, s, err := parseChecked(scimPrefix, token)
	return SCIMTokenID(id), s, err
}

// Start returns the beginning of a key's text: enough to recognize it, nothing of the
// secret.
func (k Key) Start() string {
	if k.Form == Plain {
		return keyPrefix + k.ID.String() + "_"
	}
	return checkedPrefix + string(base62(k.ID[:], idDigits))
}

// LooksLikeKey reports whether a bearer token has the prefix of an API key.
func LooksLikeKey(token string) bool { return strings.HasPrefix(token, keyPrefix) }

// ParseKey splits the text of an API key of any form. It returns ErrChecksum for a complete
// key with a typing error.
func ParseKey(token string) (KeyID, Secret, error) {
	if strings.HasPrefix(token, checkedPrefix) {
		id, s, err := parseChecked(checkedPrefix, token)
		return KeyID(id), s, err
	}
	text, ok := strings.CutPrefix(token, keyPrefix)
	id, secret, valid := ParseSecretText(text)
	if !ok || !valid || id == uuid.Nil {
		return KeyID{}, Secret{}, errMalformedKey
	}
	return KeyID(id), secret, nil
}

// parseChecked splits a text of the form Checked with a prefix, which has a fixed length.
func parseChecked(prefix, token string) (id uuid.UUID, s Secret, err error) {
	if len(token) != checkedLength || !strings.HasPrefix(token, prefix) {
		return uuid.UUID{}, Secret{}, errMalformedKey
	}
	parts, sum := token[:checkedLength-checksumDigits], token[checkedLength-checksumDigits:]
	if sum != string(checksum(parts)) {
		return uuid.UUID{}, Secret{}, ErrChecksum
	}
	parts = parts[len(prefix):]
	if !parseBase62(id[:], parts[:idDigits]) || !parseBase62(s[:], parts[idDigits:]) || id == uuid.Nil {
		return uuid.UUID{}, Secret{}, errMalformedKey
	}
	return id, s, nil
}

func checksum(text string) []byte {
	n := crc32.ChecksumIEEE([]byte(text))
	return base62(binary.BigEndian.AppendUint32(nil, n), checksumDigits)
}

const digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// base62 writes a number, the most significant byte first, with n digits.
func base62(number []byte, n int) []byte {
	left, text := slices.Clone(number), make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		rest := 0
		for j, b := range left {
			rest = rest<<8 | int(b)
			left[j], rest = byte(rest/62), rest%62 // #nosec G115 -- rest was below 62 * 256
		}
		text[i] = digits62[rest]
	}
	return text
}

// value62 are the values of digits; others have noDigit.
var value62 = func() (values [256]byte) {
	for i := range values {
		values[i] = noDigit
	}
	for i, digit := range []byte(digits62) {
		values[digit] = byte(i) // #nosec G115 -- below 62
	}
	return values
}()

const noDigit = 255

// parseBase62 is the inverse of base62. It reports false for a text that is not a number,
// or too large a one.
func parseBase62(number []byte, text string) bool {
	for i := range len(text) {
		carry := uint(value62[text[i]])
		if carry == noDigit {
			return false
		}
		for j := len(number) - 1; j >= 0; j-- {
			carry += uint(number[j]) * 62
			number[j] = byte(carry) // #nosec G115 -- the lowest byte
			carry >>= 8
		}
		if carry != 0 {
			return false
		}
	}
	return true
}
