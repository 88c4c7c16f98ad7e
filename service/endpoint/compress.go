package endpoint

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// smallestCompressed is the size from which answers are compressed, in bytes.
const smallestCompressed = 1025

// compressed compresses JSON with zstd or gzip, whichever the client prefers. Levels
// are the fastest ones: pages are small, and sent while the client waits.
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

// Uncompressed keeps the answer as it is: if an answer has a secret beside text that
// others choose, its compressed length tells about the secret.
func Uncompressed(ctx *gin.Context) { ctx.Header(gzhttp.HeaderNoCompression, "1") }
