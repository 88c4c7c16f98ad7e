package api

import (
	"context"
	"mime"
	"net/http"

	"github.com/gin-gonic/gin"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"atlas/internal/fault"
	"atlas/service/endpoint"
)

// ErasureLinks acts on the links by which people have a contact erased. *removal.Worker
// implements it. The error for a link that does not work is fault.NotFound, whatever the reason.
type ErasureLinks interface {
	// Reads checks only the token, Works also the link that it names. Neither changes anything.
	Reads(token string) error
	Works(ctx context.Context, token string) error
	Erase(ctx context.Context, token string) error
}

// erasurePath is the address of these links, outside of the contract of the API.
const erasurePath = "/erasure"

// erasureConfirmed is the body that the button sends. Nothing else acts: programs that scan
// e-mails open links, and some send a POST to them.
const erasureConfirmed = "erase=contact"

type erasureHandlers struct{ links ErasureLinks }

// rows are the page of such a link. A GET shows it and changes nothing; its button, a POST,
// erases.
func (s erasureHandlers) rows() []endpoint.Stranger {
	if s.links == nil {
		return nil
	}
	fail := func(ctx *gin.Context, err error) {
		if fault.CodeOf(err) == fault.NotFound {
			renderErasure(ctx, http.StatusNotFound, erasureNowhere)
			return
		}
		guardErasure(ctx)
		endpoint.CallOf(ctx).Fail(err)
	}
	reads := func(c *endpoint.Call) error { return s.links.Reads(c.Gin.Query("token")) }
	receives := func(c *endpoint.Call) error {
		if err := reads(c); err != nil {
			return err
		}
		if err := c.ReceiveVisit(); err != nil {
			return err
		}
		if kind, _, _ := mime.ParseMediaType(c.Gin.GetHeader("Content-Type")); kind != "application/x-www-form-urlencoded" {
			return fault.New(fault.UnsupportedMediaType, "the button of the page sends application/x-www-form-urlencoded: use it")
		}
		if string(c.RawBody) != erasureConfirmed {
			return fault.Validation(
				fault.Issue{Code: fault.Custom, Message: "the button of the page sends " + erasureConfirmed + ": use it"},
			)
		}
		return nil
	}
	row := endpoint.Stranger{Path: erasurePath, Operation: "erase_by_link", Class: endpoint.ClassErasure}
	shows, erases := row, row
	shows.Method, shows.Look = http.MethodGet, reads
	erases.Method, erases.Look = http.MethodPost, receives
	return []endpoint.Stranger{endpoint.Visit(shows, s.showErasure, fail), endpoint.Visit(erases, s.eraseByLink, fail)}
}

func (s erasureHandlers) showErasure(ctx *gin.Context) error {
	if err := s.links.Works(endpoint.CallOf(ctx).Context(), ctx.Query("token")); err != nil {
		return err
	}
	renderErasure(ctx, http.StatusOK, erasureAsks)
	return nil
}

func (s erasureHandlers) eraseByLink(ctx *gin.Context) error {
	if err := s.links.Erase(endpoint.CallOf(ctx).Context(), ctx.Query("token")); err != nil {
		return err
	}
	renderErasure(ctx, http.StatusOK, erasureDone)
	return nil
}

// The pages show nothing of the contact: a link can be forwarded.
var (
	erasureAsks = []g.Node{
		h.H1(g.Text("Erase your entry")),
		h.P(g.Text("Atlas has an entry with the e-mail address that this link was sent to. " +
			"The button erases it for everybody who uses this service, with what they have added to it, and keeps it out of later data. " +
			"It cannot be undone here.")),
		h.Form(h.Method("post"), h.Button(h.Name("erase"), h.Value("contact"), g.Text("Erase the entry"))),
		h.P(g.Text("If you want to keep the entry, there is nothing you need to do.")),
	}
	erasureDone = []g.Node{
		h.H1(g.Text("Your entry is being erased")),
		h.P(g.Text("Within a minute it is in no answer of this service anymore. What is stored of it is deleted after that. " +
			"There is nothing more you need to do.")),
	}
	erasureNowhere = []g.Node{
		h.H1(g.Text("This link leads nowhere")),
		h.P(g.Text("It was used, has expired, or is not complete. Nothing was changed. " +
			"Copy it as a whole from the latest e-mail, or ask who sent it for another one.")),
	}
)

// guardErasure keeps the token out of caches and referrers.
func guardErasure(ctx *gin.Context) {
	ctx.Header("Content-Security-Policy", endpoint.PlainPolicy)
	ctx.Header("Referrer-Policy", "no-referrer")
	ctx.Header("Cache-Control", "no-store")
}

func renderErasure(ctx *gin.Context, status int, main []g.Node) {
	guardErasure(ctx)
	ctx.Data(
		status,
		"text/html; charset=utf-8",
		endpoint.PlainPage("Erase your entry", h.Meta(h.Name("robots"), h.Content("noindex")), main...),
	)
}
