package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// EachRedisKey calls do, one call at a time, for the keys of all masters that a pattern matches.
func EachRedisKey(
	ctx context.Context, client redis.UniversalClient, pattern string, do func(master redis.Cmdable, key string) error,
) error {
	var one sync.Mutex // masters are scanned concurrently
	scan := func(ctx context.Context, master redis.Cmdable) error {
		keys := master.Scan(ctx, 0, pattern, 1000).Iterator()
		for keys.Next(ctx) {
			one.Lock()
			err := do(master, keys.Val())
			one.Unlock()
			if err != nil {
				return err
			}
		}
		return keys.Err()
	}
	if cluster, is := client.(*redis.ClusterClient); is {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return scan(ctx, master) })
	}
	return scan(ctx, client)
}

// RedisContent is the content of a key, read by its type: a dump would be compressed.
func RedisContent(ctx context.Context, r redis.Cmdable, key string) (content []string, err error) {
	kind, err := r.Type(ctx, key).Result()
	if err != nil {
		return nil, err
	}
	switch kind {
	case "none": // it has expired
	case "string":
		var text string
		if text, err = r.Get(ctx, key).Result(); errors.Is(err, redis.Nil) {
			err = nil
		}
		content = []string{text}
	case "hash":
		var members map[string]string
		members, err = r.HGetAll(ctx, key).Result()
		for name, value := range members {
			content = append(content, name, value)
		}
	case "list":
		content, err = r.LRange(ctx, key, 0, -1).Result()
	case "set":
		content, err = r.SMembers(ctx, key).Result()
	case "zset":
		content, err = r.ZRange(ctx, key, 0, -1).Result()
	case "stream":
		var messages []redis.XMessage
		messages, err = r.XRange(ctx, key, "-", "+").Result()
		content = []string{fmt.Sprint(messages)}
	default:
		err = fmt.Errorf("the key %s of Redis has the type %s, which cannot be searched", key, kind)
	}
	return content, err
}
