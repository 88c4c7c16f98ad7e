package conformance

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Refusal returns how an error answer differs from the document, "" if it does not.
// Unlike Check it does not check whether the request had to be refused. target is the
// raw path and query.
func (d *Document) Refusal(method, target string, res *http.Response, got []byte) string {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return "the target cannot be read: " + err.Error()
	}
	o, _ := d.find(method, u.Path)
	if o == nil && res.StatusCode == http.StatusBadRequest {
		// An empty path parameter is invalid.
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
			DocURL  string `json:"doc_url"`
		} `json:"error"`
	}
	decoder := json.NewDecoder(bytes.NewReader(got))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil || e.Error.Code == "" || e.Error.Message == "" || e.Error.DocURL == "" {
		return "the answer is no error with a code, a message and a doc_url"
	}
	return ""
}
