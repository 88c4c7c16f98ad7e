package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/schema"
	"atlas/search/query"
)

// MaxBody is the largest request body, in bytes.
const MaxBody = 1 << 20

// TooLargeText is the message for a body of more than MaxBody bytes.
const TooLargeText = "a request body may have at most %d bytes"

// Body reads the request's JSON object. A missing body is {}.
func (c *Call) Body() (input.Value, error) {
	data, err := c.read()
	if err != nil {
		return input.Value{}, err
	}
	v, issues := input.Decode(data)
	c.asksDryRun = v.Get("dry_run").Bool
	v = WithoutNulls(c.withoutMisplaced(v), c.Route.Body)
	if !c.Route.asSent {
		v, _ = query.ResolveDates(v, c.Began)
	}
	return v, input.Issues(issues).Err()
}

// explicitOnly are the members whose null is an error: dropping them would charge the
// request, overwrite somebody's change, or leave a value that it means to clear.
var explicitOnly = []string{"dry_run", "max_credits", "revision", "replace", "definition", "tags"}

// WithoutNulls is an object without optional members that are null. Generated clients send
// null for unset members. Within a member null stays an error.
func WithoutNulls(v input.Value, s *schema.Schema) input.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m input.Member) bool {
		return m.Value.Kind == input.Null && !slices.Contains(explicitOnly, m.Name) && s.Omits(m.Name)
	})
	return v
}

// withoutMisplaced is a body without the members that belong elsewhere in the request, for
// which it adds issues.
func (c *Call) withoutMisplaced(v input.Value) input.Value {
	v.Members = slices.DeleteFunc(v.Members, func(m input.Member) bool {
		place := c.placeOf(m)
		if place != "" {
			c.PathIssues = append(c.PathIssues, fault.Issue{Code: fault.UnrecognizedKeys, Path: []string{}, Keys: []string{m.Name},
				Message: fmt.Sprintf("unrecognized key: %q (%s)", m.Name, place)})
		}
		return place != ""
	})
	return v
}

// placeOf says where a misplaced member of a body belongs; "" if it is not known.
func (c *Call) placeOf(m input.Member) string {
	body := c.Route.Body
	switch {
	case body.Has(m.Name):
		return ""
	case slices.Contains(c.Route.queryParams(), m.Name):
		return "it is a query parameter: ?" + m.Name + "="
	case input.Nearest(m.Name, []string{HeaderIdempotencyKey}) != "":
		return "it is a header: " + HeaderIdempotencyKey
	case c.Route.Item != nil && c.Route.Item.Has(m.Name):
		return "it belongs in an element of " + c.Route.Items + input.Wrapped(
			fmt.Sprintf(": {%q:[{%q:", c.Route.Items, m.Name),
			m.Value,
			"}]}",
		)
	}
	if of := body.Holder(m.Name); of != "" && of != "filters" && of != "relations" { // conditions have hints of their own
		return "it belongs in " + of + input.Wrapped(fmt.Sprintf(": {%q:{%q:", of, m.Name), m.Value, "}}")
	}
	return ""
}

// Receive reads the whole body before the handler runs, even if the route takes no body, so
// that no route acts on half a request. It stores a read error in BodyErr, which read returns
// later, in the order of the checks. It returns false when a memory limit is reached.
func (c *Call) Receive() (room bool) {
	r := c.Gin.Request
	if r.Body == nil || r.Body == http.NoBody {
		return true
	}
	body := http.MaxBytesReader(c.Gin.Writer, r.Body, MaxBody)
	if c.Route.Body == nil {
		start, err := io.ReadAll(io.LimitReader(body, firstRead))
		if err == nil {
			_, err = io.Copy(io.Discard, body)
		}
		if err != nil {
			c.BodyErr = fault.Validation(fault.Issue{
				Code: fault.Custom, Message: noBodyText + ", and the one that was sent could not be read to its end",
			})
		} else {
			c.checkStray(start)
		}
		return true
	}
	const most = MaxBody + 1 // one byte more, to detect a larger body
	b := make([]byte, 0, firstRead)
	for {
		if len(b) == cap(b) {
			next := 2 * cap(b)
			if 2*next > most {
				next = most
			}
			if next > smallBody && !c.reserveReceived(next-cap(b)) {
				c.reservedBytes.release()
				// A client may miss the answer if its connection is closed while it sends.
				_, _ = io.Copy(io.Discard, body)
				return false
			}
			b = append(make([]byte, 0, next), b...)
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF { //nolint:errorlint // as io.ReadAll
			c.RawBody = b
			return true
		}
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			c.BodyErr = fault.New(fault.PayloadTooLarge, TooLargeText, MaxBody)
			return true
		}
		if err != nil {
			c.BodyErr = fault.Validation(fault.Issue{Code: fault.Custom, Message: "the body could not be read to its end"})
			return true
		}
	}
}

const noBodyText = "this route takes no body"

// checkStray adds an issue about the body, given its first bytes, of a route that takes none:
// the client expects it to have an effect. Some programs always send {} or null, which is
// allowed.
func (c *Call) checkStray(start []byte) {
	switch string(bytes.TrimSpace(start)) {
	case "", "{}", "null":
		return
	}
	message := noBodyText + ": leave it out"
	sent, _ := input.Decode(start)
	for _, name := range c.Route.queryParams() {
		if sent.Get(name).Kind != input.Absent {
			message += ", and write " + name + " as a query parameter: ?" + name + "="
			break
		}
	}
	c.PathIssues.Add(fault.Custom, []string{}, "%s", message)
}

// firstRead is the initial buffer size for a body, in bytes.
const firstRead = 1 << 10

// read returns the received body. Call it once.
func (c *Call) read() ([]byte, error) {
	if c.BodyErr != nil {
		return nil, c.BodyErr
	}
	data := c.RawBody
	c.RawBody = nil // release the bytes once they are parsed
	if len(data) > 0 {
		if err := checkJSON(c.Gin.Request.Header); err != nil {
			return nil, err
		}
	}
	if !c.reserveBody(len(data)) {
		return nil, c.Busy()
	}
	c.reservedBytes.release() // reserveBody counts the bytes now
	return data, nil
}

// checkJSON refuses bodies that are not JSON by their headers.
func checkJSON(h http.Header) error {
	const want = "send the body with Content-Type: application/json"
	given := h.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(given)
	charset := params["charset"]
	switch encoding := h.Get("Content-Encoding"); {
	case given == "":
		return fault.New(fault.UnsupportedMediaType, want)
	case err != nil || kind != "application/json":
		return fault.New(fault.UnsupportedMediaType, want+", not %.100q", given)
	case charset != "" && !strings.EqualFold(charset, "utf-8"):
		return fault.New(fault.UnsupportedMediaType, want+" in UTF-8, not %.100q", charset)
	case encoding != "":
		return fault.New(fault.UnsupportedMediaType, want+" and without Content-Encoding, not compressed with %.100q", encoding)
	}
	return nil
}

// Param returns a query parameter and whether it is given. A repeated parameter is
// ambiguous and refused.
func (c *Call) Param(name string) (value string, given bool, err error) {
	values := c.Params[name]
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	default:
		return "", true, fault.Validation(fault.Issue{Code: fault.Custom, Path: []string{name}, Message: "is given more than once"})
	}
}

// queryParams are the query parameters of the route.
func (r Route) queryParams() []string {
	known := []string{"workspace_id"}
	for _, p := range r.Doc.Params {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	return known
}

// JoinIssues adds issues before those of err. An error of another kind replaces
// them.
func JoinIssues(issues input.Issues, err error) error {
	if err == nil {
		return issues.Err()
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.InvalidInput {
		return err
	}
	return fault.Validation(slices.Concat(issues, e.Issues)...)
}
