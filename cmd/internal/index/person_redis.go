package index

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

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
		has, err := hasStored(append(content, key), values)
		if err != nil {
			return fmt.Errorf("the key %q of Redis: %w", key, err)
		}
		if has {
			n++
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("--redis-url (ATLAS_REDIS_URL): %w", err)
	}
	if n > 0 {
		left = []remainder{{"redis", c.RedisPrefix + "*", n, "stored for at most 24 hours"}}
	}
	return left, err
}

// hasStored reports whether the content of a key has one of the values: as a text, an id in
// binary, or in a part that is compressed, as stored answers are.
func hasStored(content, values []string) (bool, error) {
	var u unzipper
	for _, text := range content {
		if has(text, values) {
			return true, nil
		}
		for rest := text; ; rest = rest[1:] {
			at := strings.Index(rest, gzipBegins)
			if at < 0 {
				break
			}
			rest = rest[at:]
			if part, err := u.unzip(rest); err != nil || has(part, values) {
				return err == nil, err
			}
		}
	}
	return false, nil
}

func has(text string, values []string) bool {
	return contains([]byte(text), values) || slices.ContainsFunc(values, func(v string) bool {
		id, err := uuid.Parse(v)
		return err == nil && strings.Contains(text, string(id[:]))
	})
}

const gzipBegins = "\x1f\x8b\x08"

// mostUnzipped bounds what the content of a key unpacks to. Answers are far smaller.
const mostUnzipped = 64 << 20

// unzipper unpacks parts of the content of one key.
type unzipper struct {
	gzip.Reader
	unpacked int
}

// unzip returns what can be read of a text that seems to begin with a gzip.
func (u *unzipper) unzip(text string) (string, error) {
	if u.Reset(strings.NewReader(text)) != nil {
		return "", nil
	}
	u.Multistream(false) // something else can follow
	part, _ := io.ReadAll(io.LimitReader(&u.Reader, int64(mostUnzipped-u.unpacked)+1))
	if u.unpacked += len(part); u.unpacked > mostUnzipped {
		return "", fmt.Errorf("it unpacks to more than %d MiB, so it was not searched", mostUnzipped>>20)
	}
	return string(part), nil
}
