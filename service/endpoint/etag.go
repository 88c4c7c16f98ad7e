package endpoint

import (
	"crypto/hmac"
	"net/http"
	"strings"
)

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

// SecretKey is a key that all servers with the same ETagKey share.
func (s *Core) SecretKey() []byte { return s.tagger.key }
