package api

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"atlas/internal/fault"
	"atlas/service/endpoint"
	"atlas/service/ratelimit"
	"atlas/workspace"
	"atlas/workspace/scim"
)

// scimBody is the time limit for receiving a body once its token is recognized.
const scimBody = 15 * time.Second

// paceOfSCIM is the rate of one token: a synchronizing provider sends a few requests a
// second.
var paceOfSCIM = endpoint.Pace{PerSecond: 50, Burst: 200}

// scimPlaces is how many requests of one workspace are handled at once: its changes are
// serialized.
const scimPlaces = 16

type scimHandlers struct {
	scimResources
	*endpoint.Core
	// pace has the token buckets of tokens, places the requests in progress.
	pace   *ratelimit.Buckets[scim.TokenID]
	places *endpoint.Limiter
}

// rows are the addresses of SCIM 2.0, outside of the contract of the API (docs/scim.md).
// They accept SCIM tokens only, which are valid nowhere else.
func (s scimHandlers) rows() []endpoint.Stranger {
	if s.Tokens == nil {
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
			return writeSCIM(c, http.StatusOK, scim.ServiceProviderConfig(s.root, s.root+endpoint.DocsPath+"/scim"))
		}),
		row(http.MethodGet, "/ResourceTypes", "scim_resource_types",
			described(func() []scim.Resource { return scim.ResourceTypes(s.root) })),
		row(http.MethodGet, "/ResourceTypes/:id", "scim_resource_type",
			described(func() []scim.Resource { return scim.ResourceTypes(s.root) })),
		row(http.MethodGet, "/Schemas", "scim_schemas", described(func() []scim.Resource { return scim.Schemas(s.root) })),
		row(http.MethodGet, "/Schemas/:id", "scim_schema", described(func() []scim.Resource { return scim.Schemas(s.root) })),
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
func (s scimHandlers) provide(c *endpoint.Call, run func(c *endpoint.Call, by provider) error) error {
	text, err := scimToken(c.Gin.Request.Header.Values("Authorization"))
	var from netip.Addr
	if err == nil {
		from = endpoint.KnownAddress(c.Context())
		var r scim.TokenRecord
		if r, err = s.Tokens.Recognize(c.Context(), text, workspace.ClientNetwork(from)); err == nil {
			return s.provideBy(c, provider{r}, run)
		}
	}
	if code := fault.CodeOf(err); code == fault.Unauthorized || code == fault.Forbidden {
		s.CountRefused(c.Context(), "token of SCIM")
		c.Gin.Header("WWW-Authenticate", "Bearer")
	}
	return err
}

func (s scimHandlers) provideBy(c *endpoint.Call, by provider, run func(c *endpoint.Call, by provider) error) error {
	c.Target = by.ID.String()
	if !s.Unpaced && !s.pace.Of(by.ID, paceOfSCIM.PerSecond, paceOfSCIM.Burst).Allow() {
		return c.TooMany("too many requests with this token: at most %d a second, and %d at once", paceOfSCIM.PerSecond, paceOfSCIM.Burst)
	}
	if !c.Hold(s.places, by.Workspace, scimPlaces) {
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
