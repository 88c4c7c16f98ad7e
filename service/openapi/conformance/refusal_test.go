package conformance_test

import (
	"net/http"
	"testing"

	"atlas/service/openapi/conformance"
)

// TestRefusal violates each rule about error answers once.
func TestRefusal(t *testing.T) {
	t.Parallel()
	d, err := conformance.Read([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	const shaped = `{"error":{"code":"not_found","message":"no","doc_url":"/docs/errors#not_found"}}`
	for name, c := range map[string]struct {
		target string
		status int
		allow  string
		got    string
		good   bool
	}{
		"documented":            {"/v1/things/x", 400, "", `{}`, true},
		"of no documented code": {"/v1/things/x", 404, "", shaped, false},
		"no JSON":               {"/v1/things/x", 400, "", `no`, false},
		"no route":              {"/v1/none", 404, "", shaped, true},
		"no route, no shape":    {"/v1/none", 404, "", `{"error":"no"}`, false},
		"no route, more":        {"/v1/none", 404, "", `{"error":{"code":"x","message":"y","doc_url":"z"},"more":1}`, false},
		"no route, taken":       {"/v1/none", 400, "", shaped, false},
		"method, without":       {"/v1/none", 405, "", shaped, false},
		"method":                {"/v1/none", 405, "GET", shaped, true},
	} {
		res := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {"application/json"}}}
		if c.allow != "" {
			res.Header.Set("Allow", c.allow)
		}
		if problem := d.Refusal(http.MethodPost, c.target, res, []byte(c.got)); (problem == "") != c.good {
			t.Errorf("%s: %q", name, problem)
		}
	}
}
