package erasure

import (
	"crypto/hmac"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"atlas/internal/fault"
)

// Keys are the keys of digests by number. The highest number makes new digests; the others are
// needed as long as the list has digests by them.
type Keys map[int][]byte

// minKey is the minimum length of a key in bytes, maxKeyNumber the highest number.
const (
	minKey       = 32
	maxKeyNumber = 1_000_000
)

var errNoKey = fault.New(fault.BadRequest, "--suppression-key (ATLAS_SUPPRESSION_KEY) is required: NUMBER:KEY, such as 1: and what openssl rand -hex 32 prints")

// ParseKeys reads NUMBER:KEY entries, separated by commas, spaces or line ends; there may be
// none. Errors, which do not quote a key: fault.BadRequest.
func ParseKeys(text string) (Keys, error) {
	keys := Keys{}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }) {
		number, key, found := strings.Cut(part, ":")
		n, err := strconv.Atoi(number)
		switch {
		case !found || err != nil || n < 1 || n > maxKeyNumber:
			return nil, fault.New(fault.BadRequest, "each key must be NUMBER:KEY with a number from 1 to %d, such as 1: and what openssl rand -hex 32 prints", maxKeyNumber)
		case len(key) < minKey:
			return nil, fault.New(fault.BadRequest, "the key %d has %d characters, but must have at least %d", n, len(key), minKey)
		case keys[n] != nil:
			return nil, fault.New(fault.BadRequest, "there are two keys with the number %d", n)
		}
		keys[n] = []byte(key)
	}
	return keys, nil
}

// newest is the number of the key that makes digests, 0 without any.
func (k Keys) newest() int {
	if len(k) == 0 {
		return 0
	}
	return slices.Max(slices.Collect(maps.Keys(k)))
}

// check identifies the key with a number without revealing it.
func (k Keys) check(number int) (sum Digest) {
	mac := hmac.New(sha256.New, k[number])
	mac.Write([]byte("atlas suppression key"))
	mac.Sum(sum[:0])
	return sum
}

// WrongKey is the error if a number had another key before.
func WrongKey(number int) error {
	return fault.New(
		fault.BadRequest,
		"the key %d of --suppression-key (ATLAS_SUPPRESSION_KEY) is not the one that made the digests of the list: give that one, and a new key another number",
		number,
	)
}

// Know fails if values cannot be compared with the digest of a suppression.
func (k Keys) Know(s Suppression) error {
	if _, known := normalizations[s.Normalization]; !known {
		return fault.New(
			fault.BadRequest, "the list of suppressions has one of the normalization %d, which a newer version of Atlas made: use that one", s.Normalization,
		)
	}
	switch {
	case k[s.Key] != nil && s.KeyCheck != (Digest{}) && s.KeyCheck != k.check(s.Key):
		return WrongKey(s.Key)
	case k[s.Key] != nil:
		return nil
	case len(k) == 0:
		return fault.New(fault.BadRequest, "the list of suppressions is not empty, so --suppression-key (ATLAS_SUPPRESSION_KEY) is required: with it, suppressed records stay out")
	}
	return fault.New(fault.BadRequest, "the list of suppressions has digests of the key %d, which --suppression-key (ATLAS_SUPPRESSION_KEY) does not have", s.Key)
}
