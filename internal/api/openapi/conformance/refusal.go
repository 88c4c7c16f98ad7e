package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Refusal says what a refusal is not as the document says, "" for nothing. Unlike
// Check it does not judge whether the request had to be refused. target is the
// path and query as they were sent.
func (d *Document) Refusal(method, target string, res *http.Response, got []byte) string {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return "the target cannot be read: " + err.Error()
	}
	o, _ := d.find(method, u.Path)
	if o == nil && res.StatusCode == http.StatusBadRequest {
		// A parameter that is empty is one that is not valid.
		o, _ = d.find(method, strings.ReplaceAll(u.Path, "//", "/-/"))
	}
	if o != nil {
		return strings.Join(o.answer(res, got), "; ")
	}
	if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
		return "the document has no such operation"
	}
	if res.StatusCode == http.StatusMethodNotAllowed && res.Header.Get("Allow") == "" {
		return "the header Allow is missing"
	}
	var e struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	decoder := json.NewDecoder(bytes.NewReader(got))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil || e.Error.Code == "" || e.Error.Message == "" {
		return "the answer is no error with a code and a message"
	}
	return ""
}
