package endpoint

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
	"atlas/service/openapi"
	"atlas/workspace"
)

// tagger makes ETags. They are keyed, so that nobody can compute the ETag of a guessed
// record, and learn from a free 304 whether the guess is right.
type tagger struct{ key []byte }

// newTagger derives its key. Without a key it makes a random one, and the ETags of other
// servers and of earlier processes do not match.
func newTagger(key []byte) *tagger {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("atlas etags"))
	return &tagger{mac.Sum(nil)}
}

// tag is the ETag of content in a workspace. It is weak: one tag for all content encodings.
func (t *tagger) tag(in workspace.ID, content []byte) string {
	mac := hmac.New(sha256.New, t.key)
	mac.Write(in[:])
	mac.Write(content)
	return `W/"` + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16]) + `"`
}

// holds reports whether the client has the content with a tag: If-None-Match lists it. `*`
// matches nothing.
func (c *Call) holds(tag string) bool {
	wanted := []byte(strings.TrimPrefix(tag, "W/"))
	for _, line := range c.Gin.Request.Header.Values(headerIfNoneMatch) {
		for given := range strings.SplitSeq(line, ",") {
			given = strings.TrimPrefix(strings.TrimSpace(given), "W/")
			if hmac.Equal([]byte(given), wanted) {
				return true
			}
		}
	}
	return false
}

// revalidates sets the ETag of the content, and reports whether the client already has it.
func (c *Call) revalidates(content []byte) bool {
	c.etag = c.server.tagger.tag(c.Workspace(), content)
	return c.holds(c.etag)
}

// notModified is the data of a reply without a body: the client has the answer.
type notModified struct{}

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
			err = c.Keep(CreditsOnly{}, "", nil)
		}
		return r, cost, err
	}, func(ctx context.Context, kept StoredPage) (Reply, error) {
		record, err := get(ctx)
		if err == nil && c.revalidates(record) {
			return Reply{Data: notModified{}}, nil
		}
		return Reply{record, kept.Metadata}, err
	})
}

const headerIfNoneMatch = "If-None-Match"

// showTag allows the client to cache the answer, but no shared cache.
func (c *Call) showTag() {
	h := c.Gin.Writer.Header()
	h.Set("ETag", c.etag)
	h.Set("Cache-Control", "private")
	h.Add("Vary", "Authorization")
	if c.server.Cookies {
		h.Add("Vary", "Cookie")
	}
}

// writeNotModified answers 304.
func (c *Call) writeNotModified() {
	c.showTag()
	c.Gin.Status(http.StatusNotModified)
	c.Gin.Writer.WriteHeaderNow()
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

// SecretKey is a key that all servers with the same ETagKey share.
func (s *Core) SecretKey() []byte { return s.tagger.key }

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
