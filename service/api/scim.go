package api

import (
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/scim"
)

// SCIM serves identity providers; the zero value disables its addresses.
type SCIM struct {
	Provisioning *scim.Provisioning
	Tokens       *scim.Tokens
}

// scimType is the type of bodies and answers.
const scimType = "application/scim+json"

// scimBody is the time limit for receiving a body once its token is recognized.
const scimBody = 15 * time.Second

// paceOfSCIM is the rate of one token: a synchronizing provider sends a few requests a
// second.
var paceOfSCIM = endpoint.Pace{PerSecond: 50, Burst: 200}

// scimPlaces is how many requests of one workspace are handled at once: its changes are
// serialized.
const scimPlaces = 16

// provider identifies the caller: the token of a workspace.
type provider struct{ scim.TokenRecord }

// scimRows are the addresses of SCIM 2.0, outside of the contract of the API (docs/scim.md).
// They accept SCIM tokens only, which are valid nowhere else.
func (s *Server) scimRows() []endpoint.Stranger {
	if s.SCIM.Tokens == nil {
		return nil
	}
	row := func(method, path, operation string, run func(c *endpoint.Call, by provider) error) endpoint.Stranger {
		return endpoint.Visit(
			endpoint.Stranger{Method: method, Path: scim.Base + path, Operation: operation, Class: endpoint.ClassSCIM},
			func(ctx *gin.Context) error {
				return s.provide(endpoint.CallOf(ctx), run)
			},
			func(ctx *gin.Context, err error) { failSCIM(endpoint.CallOf(ctx), err) },
		)
	}
	return []endpoint.Stranger{
		row(http.MethodGet, "/Users", "scim_list_users", s.scimListUsers),
		row(http.MethodPost, "/Users", "scim_create_user", s.scimCreateUser),
		row(http.MethodGet, "/Users/:id", "scim_get_user", s.scimGetUser),
		row(http.MethodPut, "/Users/:id", "scim_replace_user", s.scimReplaceUser),
		row(http.MethodPatch, "/Users/:id", "scim_patch_user", s.scimPatchUser),
		row(http.MethodDelete, "/Users/:id", "scim_delete_user", s.scimDeleteUser),
		row(http.MethodGet, "/Groups", "scim_list_groups", s.scimListGroups),
		row(http.MethodPost, "/Groups", "scim_create_group", s.scimCreateGroup),
		row(http.MethodGet, "/Groups/:id", "scim_get_group", s.scimGetGroup),
		row(http.MethodPut, "/Groups/:id", "scim_replace_group", s.scimReplaceGroup),
		row(http.MethodPatch, "/Groups/:id", "scim_patch_group", s.scimPatchGroup),
		row(http.MethodDelete, "/Groups/:id", "scim_delete_group", s.scimDeleteGroup),
		row(http.MethodGet, "/ServiceProviderConfig", "scim_config", func(c *endpoint.Call, _ provider) error {
			return writeSCIM(c, http.StatusOK, scim.ServiceProviderConfig(s.PublicURL, s.PublicURL+endpoint.DocsPath+"/scim"))
		}),
		row(http.MethodGet, "/ResourceTypes", "scim_resource_types",
			described(func() []scim.Resource { return scim.ResourceTypes(s.PublicURL) })),
		row(http.MethodGet, "/ResourceTypes/:id", "scim_resource_type",
			described(func() []scim.Resource { return scim.ResourceTypes(s.PublicURL) })),
		row(http.MethodGet, "/Schemas", "scim_schemas", described(func() []scim.Resource { return scim.Schemas(s.PublicURL) })),
		row(http.MethodGet, "/Schemas/:id", "scim_schema", described(func() []scim.Resource { return scim.Schemas(s.PublicURL) })),
	}
}

// described answers with all descriptions, or the one with the id in the path.
func described(all func() []scim.Resource) func(c *endpoint.Call, by provider) error {
	return func(c *endpoint.Call, _ provider) error {
		id := c.Gin.Param("id")
		if id == "" {
			return writeSCIM(c, http.StatusOK, scim.ListOf(scim.Page{Start: 1, Count: scim.MaxPage}, all(),
				func(r scim.Resource) scim.Resource { return r }))
		}
		for _, r := range all() {
			if r["id"] == id {
				return writeSCIM(c, http.StatusOK, r)
			}
		}
		return fault.New(fault.NotFound, "there is no such description")
	}
}

// provide authenticates the token of a request, receives the body, and runs the handler.
func (s *Server) provide(c *endpoint.Call, run func(c *endpoint.Call, by provider) error) error {
	text, err := scimToken(c.Gin.Request.Header.Values("Authorization"))
	var from netip.Addr
	if err == nil {
		from = endpoint.KnownAddress(c.Context())
		var r scim.TokenRecord
		if r, err = s.SCIM.Tokens.Recognize(c.Context(), text, workspace.ClientNetwork(from)); err == nil {
			return s.provideBy(c, provider{r}, run)
		}
	}
	if code := fault.CodeOf(err); code == fault.Unauthorized || code == fault.Forbidden {
		s.CountRefused(c.Context(), "token of SCIM")
		c.Gin.Header("WWW-Authenticate", "Bearer")
	}
	return err
}

func (s *Server) provideBy(c *endpoint.Call, by provider, run func(c *endpoint.Call, by provider) error) error {
	c.Target = by.ID.String()
	if !s.Unpaced && !s.scimPace.Of(by.ID, paceOfSCIM.PerSecond, paceOfSCIM.Burst).Allow() {
		return c.TooMany("too many requests with this token: at most %d a second, and %d at once", paceOfSCIM.PerSecond, paceOfSCIM.Burst)
	}
	if !c.Hold(&s.scimPlaces, by.Workspace, scimPlaces) {
		return c.TooMany("too many requests of this workspace are under way: at most %d", scimPlaces)
	}
	if err := receiveSCIM(c); err != nil {
		return err
	}
	ctx := workspace.WithAuthor(c.WithOrigin(), workspace.Author{SCIM: by.ID})
	c.Gin.Request = c.Gin.Request.WithContext(ctx)
	return run(c, by)
}

// scimToken returns the token of the Authorization header, which must be unique.
func scimToken(header []string) (string, error) {
	const want = "send a token of SCIM: Authorization: Bearer " + workspace.SCIMTokenStart + "…"
	if len(header) != 1 || len(header[0]) > 200 {
		return "", fault.New(fault.Unauthorized, want)
	}
	const scheme = "bearer "
	given := header[0]
	if len(given) < len(scheme) || !equalFold(given[:len(scheme)], scheme) {
		return "", fault.New(fault.Unauthorized, want)
	}
	return given[len(scheme):], nil
}

// receiveSCIM receives the body. Meanwhile it holds a place, which needs a valid token.
func receiveSCIM(c *endpoint.Call) error {
	r := c.Gin.Request
	if r.ContentLength == 0 || r.Body == nil {
		return nil
	}
	tooLarge := fault.New(fault.PayloadTooLarge, endpoint.TooLargeText, endpoint.MaxBody)
	if r.ContentLength > endpoint.MaxBody {
		return tooLarge
	}
	_ = http.NewResponseController(c.Gin.Writer).SetReadDeadline(time.Now().Add(scimBody))
	var err error
	c.RawBody, err = io.ReadAll(http.MaxBytesReader(c.Gin.Writer, r.Body, endpoint.MaxBody))
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return tooLarge
	case err != nil:
		return fault.New(fault.BadRequest, "the body did not arrive to its end in time")
	}
	_ = http.NewResponseController(c.Gin.Writer).SetReadDeadline(time.Time{})
	return nil
}

// scimInput reads the body.
func scimInput(c *endpoint.Call) (input.Value, error) {
	kind, _, err := mime.ParseMediaType(c.Gin.GetHeader("Content-Type"))
	if err != nil || kind != scimType && kind != "application/json" || c.Gin.GetHeader("Content-Encoding") != "" {
		return input.Value{}, fault.New(fault.UnsupportedMediaType, "send the body with Content-Type: "+scimType)
	}
	return scim.Decode(c.RawBody)
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

// ofSCIM reports whether a request is to an address below SCIM, even one that does not exist.
func ofSCIM(r *http.Request) bool {
	rest, is := strings.CutPrefix(r.URL.Path, scim.Base)
	return is && (rest == "" || rest[0] == '/')
}

// failsSCIM answers the error of a SCIM request.
func failsSCIM(c *endpoint.Call, err error) bool {
	of := ofSCIM(c.Gin.Request)
	if of {
		failSCIM(c, err)
	}
	return of
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
