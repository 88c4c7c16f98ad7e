package api

import (
	"errors"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/scim"
)

// scimType is the type of bodies and answers.
const scimType = "application/scim+json"

// provider identifies the caller: the token of a workspace.
type provider struct{ scim.TokenRecord }

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// scimID returns the id in the path. All ids are UUIDs.
func scimID[T ~[16]byte](c *endpoint.Call, resource string) (T, error) {
	id, err := workspace.ParseUUID(c.Gin.Param("id"))
	if err != nil || id == uuid.Nil {
		return T{}, scim.Unknown(resource)
	}
	return T(id), nil
}

// scimInput reads the body.
func scimInput(c *endpoint.Call) (input.Value, error) {
	kind, _, err := mime.ParseMediaType(c.Gin.GetHeader("Content-Type"))
	if err != nil || kind != scimType && kind != "application/json" || c.Gin.GetHeader("Content-Encoding") != "" {
		return input.Value{}, fault.New(fault.UnsupportedMediaType, "send the body with Content-Type: "+scimType)
	}
	return scim.Decode(c.RawBody)
}

func scimPatch(c *endpoint.Call) (scim.Patch, error) {
	body, err := scimInput(c)
	if err != nil {
		return nil, err
	}
	return scim.ParsePatch(body)
}

// scimQuery returns a parameter of the query string, "" without one, and whether it is
// present.
func scimQuery(c *endpoint.Call, name string) (value string, given bool) {
	// Names of attributes are case-insensitive. Some providers also write those of parameters in
	// another case.
	for key, values := range c.Gin.Request.URL.Query() {
		if equalFold(key, name) && len(values) > 0 {
			return values[0], true
		}
	}
	return "", false
}

func writeSCIM(c *endpoint.Call, status int, body any) error {
	b, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return err
	}
	c.Gin.Header("Content-Length", strconv.Itoa(len(b)))
	c.Gin.Data(status, scimType+"; charset=utf-8", b)
	return nil
}

// failSCIM answers an error in the shape of SCIM.
func failSCIM(c *endpoint.Call, err error) {
	e := endpoint.FaultOf(err)
	status := endpoint.StatusOf(e.Code)
	kind, _ := errors.AsType[scim.Type](err)
	switch {
	case kind == scim.Uniqueness:
		status = http.StatusConflict
	case kind == scim.TooMany:
		status = http.StatusRequestEntityTooLarge
		kind = "" // the standard defines it for filters only
	case e.Code == fault.RevisionConflict:
		status = http.StatusPreconditionFailed
	}
	c.Code = e.Code
	if status >= http.StatusInternalServerError {
		c.LogFailure(e, err)
	}
	if e.RetryAfter > 0 {
		c.Gin.Header("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	detail := e.Message
	if status == http.StatusInternalServerError {
		detail = endpoint.InternalText
	}
	_ = writeSCIM(c, status, scim.ErrorOf(status, kind, detail))
}

// writeResource answers with a resource and its version.
func writeResource(c *endpoint.Call, status int, version int, location string, r scim.Resource) error {
	c.Gin.Header("ETag", scim.ETag(version))
	if status == http.StatusCreated {
		c.Gin.Header("Location", location)
	}
	return writeSCIM(c, status, r)
}

// isVersion reports whether a conditional GET has a stale version.
func isVersion(c *endpoint.Call, version int) bool {
	return c.Gin.GetHeader("If-None-Match") == scim.ETag(version)
}

func ifMatch(c *endpoint.Call) scim.IfMatch { return scim.IfMatch(c.Gin.GetHeader("If-Match")) }

// selected reads the attributes that the answer must have.
func selected(c *endpoint.Call, by func(attributes, excluded string) (scim.Selection, error)) (scim.Selection, error) {
	attributes, _ := scimQuery(c, "attributes")
	excluded, _ := scimQuery(c, "excludedAttributes")
	return by(attributes, excluded)
}

func scimPage(c *endpoint.Call) (scim.Page, error) {
	start, _ := scimQuery(c, "startIndex")
	count, _ := scimQuery(c, "count")
	return scim.ReadPage(start, count)
}
