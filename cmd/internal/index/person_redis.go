package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"atlas/cmd/internal/cli"
	"atlas/service/credits"
)

// inRedis searches the keys of Redis and their values.
func (c *suppressReport) inRedis(ctx context.Context, values []string) (left []remainder, err error) {
	if c.RedisURL == "" {
		return nil, nil
	}
	client, err := credits.Open(c.RedisURL)
	if err != nil {
		return nil, cli.ConfigError{fmt.Sprintf("--redis-url (ATLAS_REDIS_URL): %v, such as redis://127.0.0.1:6379/0", err)}
	}
	defer func() { _ = client.Close() }()
	n := int64(0)
	err = cli.EachRedisKey(ctx, client, c.RedisPrefix+"*", func(master redis.Cmdable, key string) error {
		content, err := cli.RedisContent(ctx, master, key)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(append(content, key), func(text string) bool { return hasStored([]byte(text), values) }) {
			n++
		}
		return nil
	})
	if n > 0 {
		left = []remainder{{"redis", c.RedisPrefix + "*", n, "stored for at most 24 hours"}}
	}
	return left, err
}

// hasStored reports whether a value of Redis has one of the values: as a text, an id in binary,
// or in a part that is compressed, as stored answers are.
func hasStored(stored []byte, values []string) bool {
	if contains(stored, values) || containsID(stored, values) {
		return true
	}
	for rest := stored; ; {
		at := bytes.Index(rest, gzipBegins)
		if at < 0 {
			return false
		}
		rest = rest[at:]
		if text := unzipped(rest); contains(text, values) || containsID(text, values) {
			return true
		}
		rest = rest[1:]
	}
}

func containsID(content []byte, values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool {
		id, err := uuid.Parse(v)
		return err == nil && bytes.Contains(content, id[:])
	})
}

var gzipBegins = []byte{0x1f, 0x8b, 8}

// mostUnzipped bounds what a part of a value unpacks to. Answers are far smaller.
const mostUnzipped = 64 << 20

// unzipped is what can be read of a text that seems to begin with a gzip.
func unzipped(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	r.Multistream(false) // something else can follow
	text, _ := io.ReadAll(io.LimitReader(r, mostUnzipped))
	return text
}
