package api

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/asset"
	"atlas/internal/schema"
	"atlas/service/api/openapi"
	"atlas/workspace"
)

// tagger makes ETags. They are keyed, so that nobody can compute the ETag of a record
// that they guess, and learn from a free 304 whether the guess is right.
type tagger struct{ key []byte }

// newTagger derives its key. Without one it has a key of its own, and the ETags of
// other servers and of earlier processes do not match.
func newTagger(key []byte) *tagger {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("atlas etags"))
	return &tagger{mac.Sum(nil)}
}

// tag is the ETag of some content in a workspace. It is weak: one tag for all content
// encodings.
func (t *tagger) tag(in workspace.ID, content []byte) string {
	mac := hmac.New(sha256.New, t.key)
	mac.Write(in[:])
	mac.Write(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16]) + `"`
}

// holds reports whether the client has the content with a tag: If-None-Match lists it.
// `*` matches nothing.
func (c *call) holds(tag string) bool {
	wanted := []byte(strings.TrimPrefix(tag, "W/"))
	for _, line := range c.gin.Request.Header.Values(headerIfNoneMatch) {
		for given := range strings.SplitSeq(line, ",") {
			given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
			if hmac.Equal([]byte(given), wanted) {
				return true
			}
		}
	}
	return false
}

// revalidates tags the answer with its content, and reports whether the client has it
// already.
func (c *call) revalidates(content []byte) bool {
	c.etag = c.server.tagger.tag(c.workspace(), content)
	return c.holds(c.etag)
}

// notModified is the data of a reply without a body: the client has the answer.
type notModified struct{}

// recordReply is the answer of a get, and its cost. A record that the client has
// already costs nothing.
func (c *call) recordReply(record jsontext.Value) (reply, int, error) {
	if c.revalidates(record) {
		return reply{data: notModified{}}, 0, c.takeToken()
	}
	return reply{record, creditsOnly{1}}, 1, nil
}

// meteredGet answers with the record that get reads.
func (c *call) meteredGet(get func(ctx context.Context) (jsontext.Value, error)) (reply, error) {
	return c.metered(1, func(ctx context.Context) (reply, int, error) {
		record, err := get(ctx)
		if err != nil {
			return reply{}, 0, err
		}
		r, cost, err := c.recordReply(record)
		if err == nil && cost > 0 {
			err = c.keep(creditsOnly{}, "", nil)
		}
		return r, cost, err
	}, func(ctx context.Context, kept keptPage) (reply, error) {
		record, err := get(ctx)
		if err == nil && c.revalidates(record) {
			return reply{data: notModified{}}, nil
		}
		return reply{record, kept.Metadata}, err
	})
}

const headerIfNoneMatch = "If-None-Match"

// showTag lets the client keep the answer, but no cache that is shared.
func (c *call) showTag() {
	h := c.gin.Writer.Header()
	h.Set("ETag", c.etag)
	h.Set("Cache-Control", "private")
	h.Add("Vary", "Authorization")
	if c.server.Cookies {
		h.Add("Vary", "Cookie")
	}
}

// writeNotModified answers 304.
func (c *call) writeNotModified() {
	c.showTag()
	c.gin.Status(http.StatusNotModified)
	c.gin.Writer.WriteHeaderNow()
}

// ifNoneMatchParam and etagHeader describe what revalidates reads and writes.
var (
	ifNoneMatchParam = openapi.Parameter{
		Name: headerIfNoneMatch, In: "header", Schema: &schema.Schema{Type: "string"},
		Description: "ETags of answers that the client has. `*` matches nothing.",
	}
	etagHeader = openapi.Header{
		Required: true, Description: "Of this answer in this workspace, weak.", Schema: &schema.Schema{Type: "string"},
	}
)

// notModifiedResponse describes a 304.
func (r Route) notModifiedResponse() openapi.Response {
	text := "The client has the answer."
	if r.Throttling == Metered {
		text += " It costs nothing."
	}
	return openapi.Response{Description: text, Headers: r.headers(true)}
}

// derivedKey is a key that is the same on all servers that have the same ETagKey.
func (s *Core) derivedKey() []byte { return s.tagger.key }

// unchanging answers JSON that is always the same, with its ETag, compressed once.
func (s *Core) unchanging(content []byte) gin.HandlerFunc {
	tag := s.tagger.tag(workspace.ID{}, content)
	file := sync.OnceValue(func() asset.File { return asset.Compressed(content) })
	return func(ctx *gin.Context) {
		c := callOf(ctx)
		if c.etag = tag; c.holds(tag) {
			c.writeNotModified()
			return
		}
		c.showTag()
		c.writeFile(file())
	}
}
