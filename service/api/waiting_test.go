package api_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atlas/service/endpoint"
	"atlas/workspace"
	"atlas/workspace/people"
)

// A waiting request is checked again when the wait ends, as if it had been sent then,
// including the ceiling.
func TestAccessThatEndsWhileARequestWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var waiting sync.WaitGroup
	routes := 0
	for _, r := range w.server.Routes() {
		if !strings.HasSuffix(r.Path, "/changes") { // those that take wait_s
			continue
		}
		routes++
		var ended atomic.Bool // the access
		in := w.workspace(t, r.Operation, workspace.Pro, 1)
		id, key := w.key(t, people.NewKey{Workspaces: []workspace.ID{in}})
		admin := w.member(t, in, r.Operation+"@example.com", people.Admin)
		path := strings.ReplaceAll(r.Path, ":dataset", "accounts") + "?workspace_id=" + in.String()
		var from struct{ Next string }
		w.call(t, key, "POST", path, `{}`).into(t, new(any), &from)
		body := `{"wait_s":8,"records":true,"cursor":"` + from.Next + `"}`
		tokens := map[string]string{"a revoked key": key, "a removed admin": tokenFor(t, admin)}
		if r.Throttling != endpoint.Metered { // changes in the workspace end the wait, including a removal
			body = `{"wait_s":8,"cursor":"` + from.Next + `"}`
			delete(tokens, "a removed admin")
		}
		for name, token := range tokens {
			waiting.Go(func() {
				began := time.Now()
				a := w.call(t, token, "POST", path, body)
				// A change from before, which only now may be read, ends the wait too.
				for a.status == 200 && !ended.Load() {
					var m struct{ Next string }
					a.into(t, new(any), &m)
					a = w.call(t, token, "POST", path, strings.Replace(body, from.Next, m.Next, 1))
				}
				if a.status != 403 || a.code() != "forbidden" || time.Since(began) < 5*time.Second {
					t.Errorf("%s, %s after %s: %d %s", r.Operation, name, time.Since(began), a.status, a.text)
				}
				if charged := a.header.Get("X-Credits-Charged"); r.Throttling == endpoint.Metered && charged != "0" {
					t.Errorf("%s, %s: %q credits charged", r.Operation, name, charged)
				}
			})
		}
		waiting.Go(func() {
			time.Sleep(2 * time.Second) // the requests wait
			ended.Store(true)
			_, err := w.directory.RevokeKey(t.Context(), id)
			if err == nil && r.Throttling == endpoint.Metered {
				_, err = people.NewMembers(w.system, nil).Remove(t.Context(), in, people.OperatorActor, admin.ID)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	if routes != 5 {
		t.Errorf("%d routes wait; the test finds them by their paths", routes)
	}
}
