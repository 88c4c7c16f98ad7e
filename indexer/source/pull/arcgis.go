package pull

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/indexer/source"
	"atlas/internal/fault"
)

// arcgis is a layer of an ArcGIS FeatureServer or MapServer: features with attributes and a
// geometry in degrees, in pages by offset, ordered by the object id.
type arcgis struct {
	client *client
	of     source.Pull
	layer  *layer
}

// layer is the server's description of a layer.
type layer struct {
	ObjectID string `json:"objectIdField"`
	Most     int    `json:"maxRecordCount"`
	Fields   []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"fields"`
	Error *arcgisError `json:"error"`
}

// arcgisError is an error that comes with status 200.
type arcgisError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details"`
}

func (e *arcgisError) refusal() error {
	if e == nil {
		return nil
	}
	status := e.Code
	if status < http.StatusBadRequest {
		status = http.StatusBadRequest
	}
	return &refusal{status, 0, e.Message + " " + strings.Join(e.Details, " ")}
}

func (a *arcgis) describe(ctx context.Context) error {
	if a.layer != nil {
		return nil
	}
	var found layer
	err := a.client.get(ctx, "", url.Values{"f": {"json"}}, func(body []byte) error {
		found = layer{}
		if err := json.Unmarshal(body, &found); err != nil {
			return err
		}
		return found.Error.refusal()
	})
	if err != nil {
		return err
	}
	for _, f := range found.Fields {
		if f.Type == "esriFieldTypeOID" && found.ObjectID == "" {
			found.ObjectID = f.Name
		}
	}
	if found.ObjectID == "" {
		return fault.New(fault.BadRequest, "%s is no layer: its address ends in a number, such as …/FeatureServer/0", a.of.URL)
	}
	a.layer = &found
	return nil
}

const arcgisPage = 1000

func (a *arcgis) page(ctx context.Context, offset int64, since string) (page, error) {
	if err := a.describe(ctx); err != nil {
		return page{}, err
	}
	size := cmp.Or(a.layer.Most, arcgisPage)
	if a.of.Page > 0 {
		size = min(size, a.of.Page)
	}
	query := url.Values{
		"f": {"json"}, "where": {a.where(since)}, "outFields": {"*"}, "returnGeometry": {"true"}, "outSR": {"4326"},
		"orderByFields": {a.layer.ObjectID},
		"resultOffset":  {strconv.FormatInt(offset, 10)}, "resultRecordCount": {strconv.Itoa(size)},
	}
	var found page
	err := a.client.get(ctx, "/query", query, func(body []byte) (err error) {
		found, err = a.read(body, size)
		return err
	})
	return found, err
}

// where is the condition of the rows.
func (a *arcgis) where(since string) string {
	where := cmp.Or(a.of.Where, "1=1")
	if since != "" && a.of.Changed != "" {
		where = fmt.Sprintf("(%s) AND %s >= TIMESTAMP '%s'", where, a.of.Changed, since)
	}
	return where
}

func (a *arcgis) count(ctx context.Context, since string) (n int64, err error) {
	query := url.Values{"f": {"json"}, "where": {a.where(since)}, "returnCountOnly": {"true"}}
	err = a.client.once(ctx, a.client.address("/query", query), func(body []byte) error {
		var answer struct {
			Count int64 `json:"count"`
		}
		err := json.Unmarshal(body, &answer)
		n = answer.Count
		return err
	})
	return n, err
}

func (a *arcgis) read(body []byte, size int) (page, error) {
	var answer struct {
		Features []jsontext.Value `json:"features"`
		More     bool             `json:"exceededTransferLimit"`
		Error    *arcgisError     `json:"error"`
	}
	if err := json.Unmarshal(body, &answer, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return page{}, err
	}
	if err := answer.Error.refusal(); err != nil {
		return page{}, err
	}
	found := page{more: answer.More || len(answer.Features) == size}
	for _, f := range answer.Features {
		found.rows = append(found.rows, compacted(f))
		if a.of.Changed != "" {
			found.newest = max(found.newest, changedAt(f, a.of.Changed))
		}
	}
	return found, nil
}

// changedAt is when a feature changed, in the form of conditions; "" if it does not say.
func changedAt(feature jsontext.Value, column string) string {
	var f struct {
		Attributes map[string]jsontext.Value `json:"attributes"`
	}
	var millis int64
	if json.Unmarshal(feature, &f) != nil || json.Unmarshal(f.Attributes[column], &millis) != nil || millis == 0 {
		return ""
	}
	return time.UnixMilli(millis).UTC().Format(time.DateTime)
}
