package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/service/endpoint"
)

// securityPath says where to report a vulnerability (RFC 9116).
const securityPath = "/.well-known/security.txt"

// securityValid is how long the document is valid; the standard recommends less than a year.
const securityValid = 180 * 24 * time.Hour

// reportingPath is the page about reporting a vulnerability, made of SECURITY.md.
const reportingPath = endpoint.DocsPath + "/reporting"

// CheckContact returns an error for an address that security.txt does not allow.
func CheckContact(address string) error {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains([]string{"mailto", "https", "tel"}, u.Scheme) || u.Host == "" && u.Opaque == "" ||
		strings.ContainsAny(address, " \r\n") {
		return fmt.Errorf("%.100q must be an address such as mailto:security@example.com or https://example.com/security", address)
	}
	return nil
}

// securityRows are security.txt. public is the origin of the service, contact an address for
// reports; each may be empty.
func securityRows(public, contact string) (rows []endpoint.Stranger) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		rows = append(
			rows,
			endpoint.Stranger{
				Method:    method,
				Path:      securityPath,
				Operation: "security_txt",
				Class:     endpoint.ClassDocuments,
				Handle: func(ctx *gin.Context) {
					ctx.Header("Cache-Control", "public, max-age=3600")
					ctx.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(securityText(public, contact, ctx.Request.Host)))
				},
			},
		)
	}
	return rows
}

// securityText is the document. host is the Host of the request.
func securityText(public, contact, host string) string {
	origin := strings.TrimSuffix(public, "/")
	at := cmp.Or(origin, "http://"+url.PathEscape(host))
	text := "Contact: " + cmp.Or(contact, at+reportingPath) + "\n" +
		"Expires: " + time.Now().UTC().Truncate(24*time.Hour).Add(securityValid).Format(time.RFC3339) + "\n" +
		"Preferred-Languages: en\n" +
		"Policy: " + at + reportingPath + "\n"
	if origin != "" {
		text += "Canonical: " + origin + securityPath + "\n"
	}
	return text
}
