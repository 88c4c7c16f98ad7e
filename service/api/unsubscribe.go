package api

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"atlas/internal/fault"
	"atlas/service/endpoint"
	"atlas/workspace"
)

// Unsubscriber ends e-mails of signals and alerts. *postgres.System implements it.
type Unsubscriber interface {
	// WantsMail also returns the name of the workspace: fault.NotFound for a user who is not a
	// member.
	WantsMail(ctx context.Context, in workspace.ID, user workspace.UserID) (name string, wants bool, err error)
	SetWantsMail(ctx context.Context, in workspace.ID, user workspace.UserID, wants bool) error
}

// MailLinks reads the tokens of links in e-mails. digest.Links implements it.
type MailLinks interface {
	Read(token string) (in workspace.ID, user workspace.UserID, err error)
}

// unsubscribePath is the address of links in e-mails, outside of the contract of the API.
const unsubscribePath = "/unsubscribe"

type unsubscribeHandlers struct {
	Unsubscribe Unsubscriber
	MailLinks   MailLinks
}

// rows are the page that ends e-mails. A GET shows it and changes nothing: mail
// programs open links by themselves. A POST ends them, by the button or by a mail program
// (RFC 8058).
func (s unsubscribeHandlers) rows() []endpoint.Stranger {
	if s.Unsubscribe == nil {
		return nil
	}
	fail := func(ctx *gin.Context, err error) {
		if fault.CodeOf(err) == fault.NotFound {
			unsubscribePage{Unknown: true}.render(ctx, http.StatusNotFound)
			return
		}
		endpoint.CallOf(ctx).Fail(err)
	}
	// An invalid link takes no place.
	readsLink := func(c *endpoint.Call) error {
		_, _, err := s.MailLinks.Read(c.Gin.Query("token"))
		return err
	}
	receives := func(c *endpoint.Call) error {
		if err := readsLink(c); err != nil {
			return err
		}
		return c.ReceiveVisit()
	}
	row := endpoint.Stranger{Path: unsubscribePath, Operation: "unsubscribe", Class: endpoint.ClassUnsubscribe}
	shows, ends := row, row
	shows.Method, shows.Look = http.MethodGet, readsLink
	ends.Method, ends.Look = http.MethodPost, receives
	return []endpoint.Stranger{endpoint.Visit(shows, s.unsubscribe, fail), endpoint.Visit(ends, s.unsubscribe, fail)}
}

func (s unsubscribeHandlers) unsubscribe(ctx *gin.Context) error {
	c := endpoint.CallOf(ctx)
	in, user, err := s.MailLinks.Read(ctx.Query("token"))
	if err != nil {
		return err
	}
	if ctx.Request.Method == http.MethodPost {
		// Only the button to subscribe again sends this. Mail programs send anything else, mostly
		// multipart/form-data.
		subscribe := string(c.RawBody) == "again=1"
		if err := s.Unsubscribe.SetWantsMail(c.Context(), in, user, subscribe); err != nil {
			return err
		}
	}
	name, wants, err := s.Unsubscribe.WantsMail(c.Context(), in, user)
	if err != nil {
		return err
	}
	unsubscribePage{Workspace: name, Wants: wants}.render(ctx, http.StatusOK)
	return nil
}

type unsubscribePage struct {
	Workspace string
	Wants     bool
	// Unknown: the link is invalid.
	Unknown bool
}

// main shows the current state, with the button that changes it.
func (p unsubscribePage) main() []g.Node {
	name := g.El("bdi", g.Text("“"+p.Workspace+"”"))
	button := func(nodes ...g.Node) g.Node { return h.Form(h.Method("post"), h.Button(nodes...)) }
	switch {
	case p.Unknown:
		return []g.Node{h.H1(g.Text("This link leads nowhere")),
			h.P(g.Text("It is not complete, or not the link of a member of the workspace. Copy it as a whole, from the latest e-mail."))}
	case p.Wants:
		return []g.Node{h.H1(g.Text("E-mails of signals and alerts")),
			h.P(g.Text("You get e-mails of signals and alerts of the workspace "), name, g.Text(".")), button(g.Text("Unsubscribe"))}
	}
	return []g.Node{h.H1(g.Text("You are unsubscribed")),
		h.P(g.Text("You get no more e-mails of signals and alerts of the workspace "), name, g.Text(". Others in it are not affected.")),
		button(h.Name("again"), h.Value("1"), g.Text("Subscribe again"))}
}

func (p unsubscribePage) render(ctx *gin.Context, status int) {
	ctx.Header("Content-Security-Policy", endpoint.PlainPolicy)
	ctx.Header("Referrer-Policy", "no-referrer")
	ctx.Data(
		status,
		"text/html; charset=utf-8",
		endpoint.PlainPage("E-mails of signals", h.Meta(h.Name("robots"), h.Content("noindex")), p.main()...),
	)
}
