package server

import (
	"net/http"
	"time"
)

// limitWrites bounds the time for a client to read a response, from its first byte.
// http.Server.WriteTimeout starts at the request header and has to cover the longest
// request, so after a quick one a slow reader could occupy its place among the requests in
// flight for the rest of it.
func limitWrites(h http.Handler, most time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&deadlineWriter{ResponseWriter: w, most: most}, r)
	})
}

// deadlineWriter sets the deadline with the first byte of the response. The
// server resets it for the next request of the connection.
type deadlineWriter struct {
	http.ResponseWriter
	most  time.Duration
	begun bool
}

// Unwrap is for http.ResponseController.
func (a *deadlineWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *deadlineWriter) WriteHeader(status int) {
	a.begin()
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *deadlineWriter) Write(b []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(b)
}

func (a *deadlineWriter) begin() {
	if a.begun {
		return
	}
	a.begun = true
	// A connection without deadlines keeps the limit of the server.
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.most))
}
