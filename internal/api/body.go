package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"atlas/internal/fault"
	"atlas/internal/input"
)

// MaxBody is the largest request body, in bytes.
const MaxBody = 1 << 20

// body reads the request's JSON object; an absent one reads as {}.
func (c *call) body() (input.Value, error) {
	data, err := c.read()
	if err != nil {
		return input.Value{}, err
	}
	v, issues := input.Decode(data)
	return v, input.Issues(issues).Err()
}

// read returns the request's body as it was sent.
func (c *call) read() ([]byte, error) {
	r := c.gin.Request
	data, err := io.ReadAll(http.MaxBytesReader(c.gin.Writer, r.Body, MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, fault.New(fault.PayloadTooLarge, "a request body may have at most %d bytes", MaxBody)
	}
	if err != nil {
		return nil, fault.Validation(fault.Issue{Code: fault.Custom, Message: "the body could not be read to its end"})
	}
	if len(data) > 0 && !isJSON(r) {
		return nil, fault.New(fault.UnsupportedMediaType, "send the body as application/json, in UTF-8 and without a content encoding")
	}
	if !c.hold(len(data)) {
		return nil, errBusy()
	}
	return data, nil
}

func isJSON(r *http.Request) bool {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	return err == nil && kind == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8")) &&
		r.Header.Get("Content-Encoding") == ""
}

// param returns a query parameter and whether it is given. One that is given
// twice is ambiguous and refused.
func (c *call) param(name string) (value string, given bool, err error) {
	values := c.gin.Request.URL.Query()[name]
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	default:
		return "", true, fault.Validation(fault.Issue{Code: fault.Custom, Path: []string{name}, Message: "is given more than once"})
	}
}
