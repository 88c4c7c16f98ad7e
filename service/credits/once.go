package credits

import (
	"encoding/base64"
	"time"
)

// Once identifies a request that may be repeated: its first answer is stored for 24 hours,
// and the repetition gets it and is charged nothing. The zero value is a request whose answer
// is not stored.
type Once struct {
	// Key is the same for a request and its repetitions, and different for all others of
	// the workspace: a digest of who sends it, the operation and the Idempotency-Key.
	Key [16]byte
	// Request is a digest of the request.
	Request [16]byte
}

// storedAnswer is a Once in Redis. The zero value is none.
type storedAnswer struct {
	key string
	// content is the digest of the request and, once it is settled, the answer.
	content string
}

// in is the answer in Redis, beside the hash of its workspace.
func (o Once) in(hash string) storedAnswer {
	if o.Key == [16]byte{} {
		return storedAnswer{}
	}
	return storedAnswer{hash + ":" + base64.RawURLEncoding.EncodeToString(o.Key[:]), string(o.Request[:])}
}

// with is the content once the request has an answer.
func (a storedAnswer) with(answer []byte) storedAnswer {
	if a.key != "" {
		a.content += string(answer)
	}
	return a
}

// appendTo adds the last two arguments of an operation to a call, and its key if it is new.
// The first hashes keys are those of hashes.
func (a storedAnswer) appendTo(keys []string, args []any, hashes int) ([]string, []any) {
	if a.key == "" {
		return keys, append(args, "", "")
	}
	for i := hashes; i < len(keys); i++ {
		if keys[i] == a.key {
			return keys, append(args, i+1, a.content)
		}
	}
	keys = append(keys, a.key)
	return keys, append(args, len(keys), a.content)
}

// lease is how long a request has its key for itself, as in ledger.lua.
const lease = 5 * time.Second

// retryWithin is when to repeat a request whose key another one has: in a second, because
// most requests end soon; if that one is older, when its lease ends, because its server may
// have died.
func retryWithin(left time.Duration) time.Duration {
	if left <= 0 || left > lease-time.Second {
		return time.Second
	}
	return left
}
