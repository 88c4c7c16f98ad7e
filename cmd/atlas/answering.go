package main

import (
	"net/http"
	"time"
)

// answerWithin gives a client so long to take an answer, from its first byte on.
// http.Server.WriteTimeout counts from the request's header on: it has to allow
// for all that a request may take, and what a quick one leaves of it would be the
// client's, who keeps a place among the requests under way meanwhile.
func answerWithin(h http.Handler, most time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(&timedAnswer{ResponseWriter: w, most: most}, r)
	})
}

// timedAnswer sets the deadline when the answer begins; the server sets its own
// for the next request of the connection.
type timedAnswer struct {
	http.ResponseWriter
	most  time.Duration
	begun bool
}

// Unwrap is for http.ResponseController.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *timedAnswer) WriteHeader(status int) {
	a.begin()
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *timedAnswer) Write(b []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(b)
}

func (a *timedAnswer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	// A connection without deadlines keeps the server's own limit.
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.most))
}
