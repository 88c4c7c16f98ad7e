package endpoint

import (
	"context"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/asset"
	"atlas/workspace"
)

// recordReply is the answer of a get, and its cost. A record that the client already has is
// free.
func (c *Call) recordReply(record jsontext.Value) (Reply, int, error) {
	if c.revalidates(record) {
		return Reply{Data: notModified{}}, 0, c.TakeToken()
	}
	return Reply{record, CreditsOnly{1}}, 1, nil
}

// MeteredGet answers with the record that get reads.
func (c *Call) MeteredGet(get func(ctx context.Context) (jsontext.Value, error)) (Reply, error) {
	return c.Metered(1, func(ctx context.Context) (Reply, int, error) {
		record, err := get(ctx)
		if err != nil {
			return Reply{}, 0, err
		}
		r, cost, err := c.recordReply(record)
		if err == nil && cost > 0 {
			err = c.Store(CreditsOnly{}, "", nil)
		}
		return r, cost, err
	}, func(ctx context.Context, stored StoredPage) (Reply, error) {
		record, err := get(ctx)
		if err == nil && c.revalidates(record) {
			return Reply{Data: notModified{}}, nil
		}
		return Reply{record, stored.Metadata}, err
	})
}

// Unchanging answers constant JSON, with its ETag, compressed once. The first request makes it.
func (s *Core) Unchanging(content func() []byte) gin.HandlerFunc {
	tag := sync.OnceValue(func() string { return s.tagger.tag(workspace.ID{}, content()) })
	file := sync.OnceValue(func() asset.File { return asset.Compressed(content()) })
	return func(ctx *gin.Context) {
		c := CallOf(ctx)
		if c.etag = tag(); c.holds(c.etag) {
			c.writeNotModified()
			return
		}
		c.showTag()
		c.writeFile(file())
	}
}
