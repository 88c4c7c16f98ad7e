package elastic

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// bufferedBody is the body of a response that is already in memory.
type bufferedBody struct {
	bytes.Reader
	data []byte
}

// Close implements io.Closer.
func (*bufferedBody) Close() error { return nil }

// bufferBody reads the body of an answer into memory.
func bufferBody(res *http.Response) error {
	data, err := read(res)
	_ = res.Body.Close() // the body was read, or err says why not
	whole := &bufferedBody{data: data}
	whole.Reset(data)
	res.Body = whole
	return err
}

// bytesOf are the bytes of the body of an answer.
func bytesOf(body io.Reader) ([]byte, error) {
	if whole, ok := body.(*bufferedBody); ok {
		return whole.data, nil
	}
	return io.ReadAll(body) // the library replaced the body
}

// buffers are reused to read bodies.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooledBuffer is the largest buffer that is reused, in bytes: pages are some
// tens of KiB, and few answers are much larger.
const maxPooledBuffer = 1 << 20

// read reads the whole body. Searches answer in chunks without a length, so the
// body is read into a reused buffer first and copied when its size is known.
func read(res *http.Response) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	_, err := b.ReadFrom(res.Body)
	body := bytes.Clone(b.Bytes())
	if b.Cap() <= maxPooledBuffer {
		buffers.Put(b)
	}
	return body, err
}
