package api

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search/query"
)

// reply is a successful answer: { data, metadata }.
type reply struct {
	data     any
	metadata any
}

// records are passed on byte for byte as they are stored.
type records []jsontext.Value

func recordsOf(p query.Page) any { return records(p.Rows) }

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
	metadata, err := json.Marshal(r.metadata)
	if err != nil {
		return err
	}
	buffer := bodies.Get().(*[]byte)
	b := append((*buffer)[:0], `{"data":`...)
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
	default:
		encoded, err := json.Marshal(data, json.Deterministic(true))
		if err != nil {
			return err
		}
		b = append(b, encoded...)
	}
	b = append(append(append(b, `,"metadata":`...), metadata...), '}')
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

func (c *call) json(status int, body any) {
	// A message may quote a path, which may have any bytes.
	b, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // all types that come here can be marshalled
	}
	c.write(status, b)
}

func (c *call) write(status int, body []byte) {
	c.gin.Header("Content-Length", strconv.Itoa(len(body)))
	c.gin.Data(status, jsonType, body)
}
