package endpoint

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/asset"
	"atlas/search/query"
)

// rendered is the rendered data of a reply, with its metadata.
type rendered []byte

// Records are rows as they are stored, byte for byte.
type Records []jsontext.Value

// RecordsOf is the rows of a page as Records.
func RecordsOf(p query.Page) any { return Records(p.Rows) }

// appender is data that writes itself.
type appender interface {
	Append(b []byte) ([]byte, error)
}

const jsonType = "application/json; charset=utf-8"

// bodies are buffers for building answers. Writing to a client copies the buffer,
// so it can be reused afterwards.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// largestPooled is the capacity above which a buffer is not reused, in bytes.
const largestPooled = 1 << 20

// render writes a reply. Records are copied, never decoded.
func (c *Call) render(r Reply) error {
	if _, is := r.Data.(notModified); is {
		c.writeNotModified()
		return nil
	}
	if ready, is := r.Data.(asset.File); is {
		c.writeFile(ready)
		return nil
	}
	buffer := bodies.Get().(*[]byte)
	b, err := r.Append((*buffer)[:0])
	if err != nil {
		return err
	}
	switch {
	case c.Route.Conditional && c.etag == "" && c.revalidates(b):
		c.writeNotModified()
	case c.Route.Conditional:
		c.showTag()
		fallthrough
	default:
		c.write(http.StatusOK, b)
	}
	if cap(b) <= largestPooled {
		*buffer = b
		bodies.Put(buffer)
	}
	return nil
}

// Append appends the answer to b.
func (r Reply) Append(b []byte) ([]byte, error) {
	switch whole := r.Data.(type) {
	case rendered:
		return append(b, whole...), nil
	case asset.File:
		return append(b, whole.Plain...), nil
	}
	metadata, err := json.Marshal(r.Metadata)
	if err != nil {
		return nil, err
	}
	b = append(b, `{"data":`...)
	switch data := r.Data.(type) {
	case Records:
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
		if b, err = data.Append(b); err != nil {
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

// JSON answers with a status and a body.
func (c *Call) JSON(status int, body any) {
	// A message may quote a path, which may have any bytes.
	b, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // all types that come here can be marshalled
	}
	c.write(status, b)
}

// writeFile answers with precomputed, compressed content.
func (c *Call) writeFile(f asset.File) {
	body, encoding := f.Encoded(c.Gin.Request)
	h := c.Gin.Writer.Header()
	h.Add("Vary", "Accept-Encoding")
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	Uncompressed(c.Gin)
	c.write(http.StatusOK, body)
}

func (c *Call) write(status int, body []byte) {
	c.Gin.Header("Content-Length", strconv.Itoa(len(body)))
	c.Gin.Data(status, jsonType, body)
}
