package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// The report finds a value in Redis in whatever type it is, also where Redis packs small values,
// and in what Atlas compresses: the stored answer to a request with many words.
func TestReportReadsRedis(t *testing.T) {
	t.Parallel()
	w := startWritable(t)
	w.load(map[string]string{"contacts": adaLine(person, "")})
	ctx := t.Context()
	client := redis.NewClient(must(redis.ParseURL(w.config.RedisURL))(t))
	t.Cleanup(func() { _ = client.Close() })
	const word = "zyxomma"
	report := func(want int, whom ...string) string {
		t.Helper()
		out, _ := w.suppress(want, append([]string{
			"report", "--redis-url", w.config.RedisURL, "--redis-prefix", w.config.RedisPrefix,
		}, whom...)...)
		if strings.Contains(out, word) {
			t.Errorf("the report has the value: %s", out)
		}
		return out
	}
	if out := report(0, "--name", word, "--firm", "x"); strings.Contains(out, "redis") {
		t.Fatalf("before: %s", out)
	}

	// Redis compresses a dump: it has the parts of a word that were there before by reference.
	value := strings.Repeat("abababab", 200) + word[:4] + "-" + word[3:] + "-" + word + strings.Repeat("cdcdcdcd", 200)
	for kind, write := range map[string]func(key string) error{
		"string": func(key string) error { return client.Set(ctx, key, value, 0).Err() },
		"hash":   func(key string) error { return client.HSet(ctx, key, "f", value).Err() },
		"field":  func(key string) error { return client.HSet(ctx, key, value, "f").Err() },
		"list":   func(key string) error { return client.RPush(ctx, key, "x", value).Err() },
		"set":    func(key string) error { return client.SAdd(ctx, key, "x", value).Err() },
		"zset":   func(key string) error { return client.ZAdd(ctx, key, redis.Z{Score: 1, Member: value}).Err() },
		"stream": func(key string) error {
			return client.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"f", value}}).Err()
		},
	} {
		key := w.config.RedisPrefix + "of-the-test:" + kind
		if err := write(key); err != nil {
			t.Fatal(err)
		}
		if out := report(3, "--name", word, "--firm", "x"); !strings.Contains(out, "redis") {
			t.Errorf("not found in a %s: %s", kind, out)
		}
		if err := client.Del(ctx, key).Err(); err != nil {
			t.Fatal(err)
		}
	}

	// A request whose stored answer repeats its words.
	words := make([]string, 0, 95)
	for n := range 95 {
		words = append(words, fmt.Sprintf("w%02dx", n))
	}
	query := strings.Join(append(words, word), " ")
	a := w.call("POST", "/data/contacts/search", w.key, `{"query":"`+query+`"}`, "Idempotency-Key", "a search of many words")
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	plain := 0
	keys := client.Scan(ctx, 0, w.config.RedisPrefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if strings.Contains(client.Get(ctx, keys.Val()).Val(), word) {
			plain++
		}
	}
	if err := keys.Err(); err != nil || plain > 0 {
		t.Fatalf("the answer is not compressed: the test tests nothing, %v", err)
	}
	if out := report(3, "--name", word, "--firm", "x"); !strings.Contains(out, "redis") {
		t.Errorf("not found in a compressed answer: %s", out)
	}

	// Ids are stored in binary.
	a = w.call("POST", "/data/contacts/search", w.key, `{"query":"Quillfeather"}`, "Idempotency-Key", "a search with a row")
	if a.status != http.StatusOK || !strings.Contains(string(a.raw), person) {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	w.suppress(0, "add", "--id", person)
	if out := report(3, "--id", person); !strings.Contains(out, "redis") {
		t.Errorf("the id is not found in a stored answer: %s", out)
	}
	if out := report(0, "--id", uuid.NewString()); strings.Contains(out, "redis") {
		t.Errorf("another id: %s", out)
	}
}
