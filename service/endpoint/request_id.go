package endpoint

import (
	"strings"

	"github.com/google/uuid"
)

// RequestIDHeader carries the id that identifies the request in the log.
const RequestIDHeader = "X-Request-Id"

// requestID is the caller's id when it is 1..128 printable ASCII characters,
// else a new one.
func requestID(given string) string {
	printable := func(r rune) bool { return r >= ' ' && r <= '~' }
	if given != "" && len(given) <= 128 && strings.IndexFunc(given, func(r rune) bool { return !printable(r) }) < 0 {
		return given
	}
	return uuid.Must(uuid.NewV7()).String()
}
