// Package asset serves files that are in the binary or made by it, each in the encodings
// that it has, with an ETag. It is not for answers of the API.
package asset

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Cache-Control of files whose name has a hash of their content, and of others.
const (
	Immutable = "public, max-age=31536000, immutable"
	Asked     = "no-cache"
)

// File is a file in all its encodings.
type File struct {
	// Plain is nil if Unpacked computes it, on the first request.
	Plain, Gzip, Brotli []byte
	Unpacked            func() []byte
	ContentType         string
	// Tag is a hash of the file, without quotes.
	Tag string
}

// Unpack returns a function that unpacks a gzip once. An incomplete gzip gives nothing, so
// it must be one of the binary.
func Unpack(packed []byte) func() []byte {
	return sync.OnceValue(func() []byte {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil
		}
		plain, err := io.ReadAll(z) // #nosec G110 -- a file of the binary
		if err != nil {
			return nil
		}
		return plain
	})
}

// Compressed is a file with its gzip, which is computed once.
func Compressed(body []byte) File {
	f := File{Plain: body}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(body)
	if _ = z.Close(); b.Len() < len(body) {
		f.Gzip = b.Bytes()
	}
	return f
}

// Encoded is the file in the smallest encoding that the client accepts, "" for none.
func (f File) Encoded(r *http.Request) (body []byte, encoding string) {
	switch accepted := r.Header.Values("Accept-Encoding"); {
	case f.Brotli != nil && accepts(accepted, "br"):
		return f.Brotli, "br"
	case f.Gzip != nil && accepts(accepted, "gzip"):
		return f.Gzip, "gzip"
	case f.Plain == nil && f.Unpacked != nil:
		return f.Unpacked(), ""
	}
	return f.Plain, ""
}

// Tag is a hash of a file for ETags and names.
func Tag(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Serve answers a GET or HEAD of the file, in the smallest encoding that the client
// accepts. A client that has the file gets 304.
func (f File) Serve(w http.ResponseWriter, r *http.Request, cacheControl string) {
	h := w.Header()
	h.Set("Cache-Control", cacheControl)
	h.Set("Content-Type", f.ContentType)
	body, encoding := f.Encoded(r)
	if f.Brotli != nil || f.Gzip != nil {
		h.Set("Vary", "Accept-Encoding")
	}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("ETag", `"`+f.Tag+encoding+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// Navigates reports whether a browser opens the address as a page, and not a script or
// an image of a page.
func Navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// accepts reports whether the header Accept-Encoding names an encoding without refusing it.
func accepts(header []string, encoding string) bool {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			quality, weighted := strings.CutPrefix(strings.TrimSpace(parameters), "q=")
			return !weighted || strings.Trim(quality, "0.") != ""
		}
	}
	return false
}
