package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"testing"
	"time"
)

// A client that does not read its answer is disconnected, however much of the server's own
// limit is left; one that is idle for longer than that limit between two requests is not.
func TestAnswersAreTakenInTime(t *testing.T) {
	t.Parallel()
	const most, size = 300 * time.Millisecond, 64 << 20 // more than sockets hold
	ended := make(chan error, 1)
	server := httptest.NewUnstartedServer(limitWrites(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			_, _ = io.WriteString(w, "small")
			return
		}
		_, err := w.Write(make([]byte, size))
		ended <- err
	}), most))
	server.Config.WriteTimeout = 5 * time.Minute
	server.Start()
	t.Cleanup(server.Close)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	fmt.Fprint(connection, "GET /large HTTP/1.1\r\nHost: here\r\n\r\n")
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the answer ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the client is waited for")
	}

	for n := range 2 {
		var reused bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/small", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || string(body) != "small" {
			t.Errorf("%q, %v", body, err)
		}
		if n > 0 && !reused {
			t.Error("the connection of the first answer was lost")
		}
		time.Sleep(2 * most) // past the first answer's deadline: no condition shows that
	}
}
