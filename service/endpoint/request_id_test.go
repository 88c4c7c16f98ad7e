package endpoint

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestRequestID(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"a", "two words", "~!@#$%^&*()", strings.Repeat("x", 128)} {
		if got := requestID(given); got != given {
			t.Errorf("%q became %q", given, got)
		}
	}
	for _, given := range []string{"", strings.Repeat("x", 129), "a\tb", "a\x7f", "é", "\xff"} {
		if id, err := uuid.Parse(requestID(given)); err != nil || id.Version() != 7 {
			t.Errorf("%q became %v, %v", given, id, err)
		}
	}
}
