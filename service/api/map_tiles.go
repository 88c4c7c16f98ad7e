package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"atlas/internal/tiles"
	"atlas/service/endpoint"
)

// Addresses of the tiles for the Explorer's map. They need no key: browsers fetch tiles from
// a worker, and the archive is as public as its source maps.
const (
	tilesPath   = "/map/tiles.json"
	archivePath = "/map/archive.pmtiles"
)

// tileToken is how many bytes of an archive one token of ClassTiles pays for.
const tileToken = 65_536

// mapTiles says where the tiles are. URL is absent if there are none.
type mapTiles struct {
	// URL is the address of a tile with {z}, {x} and {y}, or the path of an archive.
	URL         string `json:"url,omitempty"`
	Archive     bool   `json:"archive"`
	Attribution string `json:"attribution,omitempty"`
}

// tileRows are the addresses of the map.
func tileRows(from tiles.Source) (rows []endpoint.Stranger) {
	at := mapTiles{URL: from.Template, Attribution: from.Attribution}
	archive := from.Archive
	if archive != nil {
		at.URL, at.Archive = archivePath, true
	}
	text, _ := json.Marshal(at) // strings and a boolean
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		rows = append(rows, endpoint.Stranger{
			Method: method, Path: tilesPath, Operation: "get_map", Class: endpoint.ClassDocuments, Handle: func(ctx *gin.Context) {
				ctx.Header("Cache-Control", "no-cache")
				ctx.Data(http.StatusOK, "application/json; charset=utf-8", text)
			},
		})
		if archive != nil {
			rows = append(rows, endpoint.Stranger{
				Method: method, Path: archivePath, Operation: "get_map_archive", Class: endpoint.ClassTiles,
				Weigh:  func(c *endpoint.Call) int { return tileTokens(archive, c.Gin.Request) },
				Handle: func(ctx *gin.Context) { archive.Serve(ctx.Writer, ctx.Request) },
			})
		}
	}
	return rows
}

// tileTokens is the cost of a request by the length of its range.
func tileTokens(archive *tiles.Archive, r *http.Request) int {
	return 1 + int(archive.Length(r)/tileToken)
}
