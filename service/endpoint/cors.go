package endpoint

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/rs/cors"
)

// corsMaxAge is how long browsers keep the answer of a preflight, in seconds.
const corsMaxAge = 600

// allowOrigins lets pages of the origins call the API, without cookies and other credentials.
// Other origins, and their preflights, get answers without CORS headers.
func allowOrigins(origins []string) gin.HandlerFunc {
	policy := cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{
			"Authorization", "Content-Type", headerIfNoneMatch, HeaderIdempotencyKey, RequestIDHeader,
			"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
		},
		ExposedHeaders: []string{
			"ETag", "Retry-After", "WWW-Authenticate", RequestIDHeader, headerCharged, headerUsed, headerRemaining,
			headerCeiling, headerNextAt, headerKeyRemaining, headerLimit, headerTokens, headerTokenReset,
			headerReplayed,
		},
		MaxAge: corsMaxAge,
	})
	return func(ctx *gin.Context) {
		preflight := ctx.Request.Method == http.MethodOptions && ctx.GetHeader("Access-Control-Request-Method") != ""
		if preflight && !policy.OriginAllowed(ctx.Request) {
			return
		}
		policy.HandlerFunc(ctx.Writer, ctx.Request)
		if preflight {
			ctx.Writer.WriteHeaderNow()
			ctx.Abort()
		}
	}
}

// errBadOrigin is the error of CheckOrigin.
var errBadOrigin = errors.New("an origin is http(s)://host or http(s)://host:port, in lower case, without anything after it and without *")

// CheckOrigin refuses a text that is not the origin of a page.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || origin != u.Scheme+"://"+u.Host ||
		strings.ContainsAny(u.Host, "*,") || origin != strings.ToLower(origin) {
		return errBadOrigin
	}
	return nil
}
