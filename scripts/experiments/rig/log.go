package rig

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ports of connections, which differ from line to line.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// Complaints counts what a server's log says at warn and error, by message and
// cause; each is one line, with when it was first and last said.
func (s *Server) Complaints() string {
	type said struct {
		times       int
		first, last string
	}
	all := map[string]said{}
	for line := range strings.Lines(s.Log()) {
		var l struct{ Time, Level, Msg, Error string }
		if json.Unmarshal([]byte(line), &l) != nil || l.Level != "WARN" && l.Level != "ERROR" {
			continue
		}
		what := ports.ReplaceAllString(l.Msg+": "+l.Error, "…")
		one := all[what]
		if one.times++; one.times == 1 {
			one.first = l.Time
		}
		one.last = l.Time
		all[what] = one
	}
	var text strings.Builder
	for _, what := range slices.SortedFunc(maps.Keys(all), func(a, b string) int { return all[b].times - all[a].times }) {
		fmt.Fprintf(&text, "%6d times from %s to %s: %.300s\n", all[what].times, all[what].first, all[what].last, what)
	}
	return text.String()
}

// Causes are why requests failed, by their ids, as the log has them.
func (s *Server) Causes() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(s.Log()) {
		var l struct {
			Msg, Error string
			ID         string `json:"request_id"`
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "request failed" {
			all[l.ID] = l.Error
		}
	}
	return all
}
