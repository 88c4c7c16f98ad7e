package api

import (
	"context"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"atlas/internal/fault"
	"atlas/service/endpoint"
)

// ErasureForm takes the addresses of people who ask for a link to have their entry erased. It
// looks them up later. *removal.Requests implements it.
type ErasureForm interface {
	// Ask returns fault.InvalidInput if the text is not an address, and fault.TooManyRequests.
	Ask(ctx context.Context, address string, network netip.Prefix) error
}

const erasureFormPath = erasurePath + "/request"

type erasureFormHandlers struct{ form ErasureForm }

// rows are the page where somebody asks for a link: a GET shows it, its button
// sends the request. The answer is the same whether or not the address is on file.
func (s erasureFormHandlers) rows() []endpoint.Stranger {
	if s.form == nil {
		return nil
	}
	fail := func(ctx *gin.Context, err error) {
		if fault.CodeOf(err) == fault.InvalidInput {
			renderErasure(
				ctx,
				http.StatusBadRequest,
				append([]g.Node{h.P(h.Role("alert"), g.Text("This is no e-mail address."))}, erasureForm...),
			)
			return
		}
		guardErasure(ctx)
		endpoint.CallOf(ctx).Fail(err)
	}
	row := endpoint.Stranger{Path: erasureFormPath, Operation: "request_erasure", Class: endpoint.ClassErasureForm}
	shows, asks := row, row
	shows.Method, asks.Method = http.MethodGet, http.MethodPost
	asks.Look = receiveErasureForm
	return []endpoint.Stranger{
		endpoint.Visit(shows, func(ctx *gin.Context) error {
			renderErasure(ctx, http.StatusOK, erasureForm)
			return nil
		}, fail),
		endpoint.Visit(asks, s.askForErasure, fail),
	}
}

// receiveErasureForm accepts the form of this page only: otherwise another site could make
// its visitors send it.
func receiveErasureForm(c *endpoint.Call) error {
	if err := c.ReceiveVisit(); err != nil {
		return err
	}
	if kind, _, _ := mime.ParseMediaType(c.Gin.GetHeader("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return fault.New(fault.UnsupportedMediaType, "the form of the page sends application/x-www-form-urlencoded: use it")
	}
	if c.Gin.GetHeader("Sec-Fetch-Site") != "" && !fromHere(c.Gin.Request) {
		return fault.New(fault.Forbidden, "this is asked for by the page %s alone: open it", erasureFormPath)
	}
	return nil
}

func (s erasureFormHandlers) askForErasure(ctx *gin.Context) error {
	c := endpoint.CallOf(ctx)
	sent, err := url.ParseQuery(string(c.RawBody))
	if err != nil || len(sent) != 1 || len(sent["email"]) != 1 {
		return fault.Validation(
			fault.Issue{Code: fault.Custom, Path: []string{"email"}, Message: "the form of the page sends one email: use it"},
		)
	}
	if err := s.form.Ask(c.Context(), strings.TrimSpace(sent.Get("email")), c.Client.Network); err != nil {
		return err
	}
	renderErasure(ctx, http.StatusOK, erasureRequested)
	return nil
}

var (
	erasureForm = []g.Node{
		h.H1(g.Text("Erase your entry")),
		h.P(g.Text("If Atlas has an entry with your e-mail address, you get a letter there with a link that erases it. " +
			"Nothing is erased before you press the button of its page.")),
		h.Form(h.Method("post"),
			h.P(h.Label(h.For("email"), g.Text("Your e-mail address"))),
			h.P(h.Input(h.ID("email"), h.Name("email"), h.Type("email"), h.Required(), h.MaxLength("254"), h.AutoComplete("email"))),
			h.Button(g.Text("Send the letter"))),
	}
	erasureRequested = []g.Node{
		h.H1(g.Text("Look into your mail")),
		h.P(g.Text("If this address is on file, a letter is on its way. It takes some minutes, and longer when many ask; there is one a day. " +
			"Its link works for seven days.")),
	}
)
