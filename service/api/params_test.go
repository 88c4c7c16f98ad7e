package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

// An unreadable query string must not count as absent parameters: the request would
// continue in a workspace that the caller did not name.
func TestMalformedQueryString(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "Acme", workspace.Pro, 1_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	for _, query := range []string{
		"workspace_id=%zz", "workspace_id=%", "workspace_id=" + unknownID + ";x",
		"workspace_id=" + in.String() + "&%zz",
	} {
		if got := w.call(t, key, "GET", "/data/usage?"+query, ""); got.status != 400 || got.code() != "validation" {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
		if got := w.call(t, "", "GET", "/data/usage?"+query, ""); got.status != 401 {
			t.Errorf("%s, without a token: %d %s", query, got.status, got.text)
		}
	}
	if got := w.call(t, key, "GET", "/data/usage?workspace_id="+in.String()+"&", ""); got.status != 200 {
		t.Errorf("a good one: %d %s", got.status, got.text)
	}
}

// A misspelt parameter must not count as absent, on any route.
func TestUnknownQueryParameters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := w.workspace(t, "Acme", workspace.Pro, 1_000)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/data/usage?workspace=" + in.String(), "", `"keys":["workspace"]`},
		{"GET", "/data/usage?workspace=x", "", `did you mean \"workspace_id\"?`},
		{
			"GET", "/data/projects/" + unknownID + "?includes=signals&expand=&fields=name", "",
			`unrecognized query parameters: \"expand\" (did you mean \"include\"?), \"includes\" (did you mean \"include\"?)`,
		},
		{"POST", "/data/projects/search?limit=5", `{"limt":5}`, `unrecognized query parameter: \"limit\" (it belongs in the JSON body); known here: workspace_id`},
		{"POST", "/data/projects/search?limit=5", `{"limt":5}`, `unrecognized key: \"limt\" (did you mean \"limit\"?)`},
		{"GET", "/workspace/views?Limit=5", "", `did you mean \"limit\"?`},
	} {
		if got := w.call(t, key, c.method, c.path, c.body); got.status != 400 || got.code() != "validation" ||
			!strings.Contains(got.text, c.want) {
			t.Errorf("%s: %d %s", c.path, got.status, got.text)
		}
	}
}

// An incomplete body is the client's error, also on a metered route, where the context
// of the request has ended by then.
func TestUnfinishedBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{w.workspace(t, "Acme", workspace.Pro, 1_000)}})
	impatient := httptest.NewUnstartedServer(w.server.Handler())
	impatient.Config.ReadTimeout = 2 * time.Second // the other requests send their bodies at once
	impatient.Start()
	t.Cleanup(impatient.Close)
	for _, path := range []string{"/data/projects/search", "/data/fields/search"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", impatient.Listener.Addr().String())
		fatal(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(
			conn,
			"POST %s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
			endpoint.Version,
			path,
			key,
		)
		fatal(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		fatal(t, err)
		defer res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}
