package endpoint

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// smallestCompressed is the size from which answers are compressed, in bytes.
const smallestCompressed = 1025

// compressed compresses JSON with zstd or gzip, as the client prefers. It uses the fastest
// levels: pages are small, and the client waits.
func compressed(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(smallestCompressed), gzhttp.ContentTypes([]string{"application/json"}),
		gzhttp.CompressionLevel(gzip.BestSpeed),
	)
	if err != nil {
		panic(err) // the options are constant
	}
	return wrap(h)
}

// Uncompressed disables compression: if an answer has a secret beside text that others
// choose, its compressed length reveals the secret.
func Uncompressed(ctx *gin.Context) { ctx.Header(gzhttp.HeaderNoCompression, "1") }
