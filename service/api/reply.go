package api

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/asset"
	"atlas/search/query"
)

// reply is a successful answer: { data, metadata }.
type reply struct {
	data     any
	metadata any
}

// rendered is the data of a reply that is rendered already, with its metadata.
type rendered []byte

// records are passed on byte for byte as they are stored.
type records []jsontext.Value

func recordsOf(p query.Page) any { return records(p.Rows) }

// appender is data that writes itself.
type appender interface {
	append(b []byte) ([]byte, error)
}

const jsonType = "application/json; charset=utf-8"

// bodies are buffers for building answers. Writing to a client copies the buffer,
// so it can be reused afterwards.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// largestKept is the capacity above which a buffer is not reused, in bytes.
const largestKept = 1 << 20

// render writes a reply. Records are copied, never decoded.
func (c *call) render(r reply) error {
	if _, is := r.data.(notModified); is {
		c.writeNotModified()
		return nil
	}
	if ready, is := r.data.(asset.File); is {
		c.writeFile(ready)
		return nil
	}
	buffer := bodies.Get().(*[]byte)
	b, err := r.append((*buffer)[:0])
	if err != nil {
		return err
	}
	switch {
	case c.route.Conditional && c.etag == "" && c.revalidates(b):
		c.writeNotModified()
	case c.route.Conditional:
		c.showTag()
		fallthrough
	default:
		c.write(http.StatusOK, b)
	}
	if cap(b) <= largestKept {
		*buffer = b
		bodies.Put(buffer)
	}
	return nil
}

// append appends the answer to b.
func (r reply) append(b []byte) ([]byte, error) {
	switch whole := r.data.(type) {
	case rendered:
		return append(b, whole...), nil
	case asset.File:
		return append(b, whole.Plain...), nil
	}
	metadata, err := json.Marshal(r.metadata)
	if err != nil {
		return nil, err
	}
	b = append(b, `{"data":`...)
	switch data := r.data.(type) {
	case records:
		b = append(b, '[')
		for i, record := range data {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, record...)
		}
		b = append(b, ']')
	case jsontext.Value:
		b = append(b, data...)
	case appender:
		if b, err = data.append(b); err != nil {
			return nil, err
		}
	default:
		encoded, err := json.Marshal(data, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		b = append(b, encoded...)
	}
	return append(append(append(b, `,"metadata":`...), metadata...), '}'), nil
}

func (c *call) json(status int, body any) {
	// A message may quote a path, which may have any bytes.
	b, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // all types that come here can be marshalled
	}
	c.write(status, b)
}

// writeFile answers with what was made, and compressed, before.
func (c *call) writeFile(f asset.File) {
	body, encoding := f.Encoded(c.gin.Request)
	h := c.gin.Writer.Header()
	h.Add("Vary", "Accept-Encoding")
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	uncompressed(c.gin)
	c.write(http.StatusOK, body)
}

func (c *call) write(status int, body []byte) {
	c.gin.Header("Content-Length", strconv.Itoa(len(body)))
	c.gin.Data(status, jsonType, body)
}
