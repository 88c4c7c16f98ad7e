package rig

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// LogLine is a line of a server's log.
type LogLine struct {
	Time              time.Time
	Level, Msg, Error string
	Workspace         string
	RequestID         string `json:"request_id"`
	Delivered         int64  // credits
}

// Lines are those of its log so far, over all its starts.
func (s *Server) Lines() iter.Seq[LogLine] {
	return func(yield func(LogLine) bool) {
		for line := range strings.Lines(s.Log()) {
			var l LogLine
			if json.Unmarshal([]byte(line), &l) == nil && !yield(l) {
				return
			}
		}
	}
}

// Unsettled is the sum of credits that the server has logged as not settled since a
// time, for one workspace or, if it is "", for all.
func (s *Server) Unsettled(workspace string, since time.Time) (sum int64) {
	for l := range s.Lines() {
		if strings.HasPrefix(l.Msg, "credits not settled") && (workspace == "" || l.Workspace == workspace) && !l.Time.Before(since) {
			sum += l.Delivered
		}
	}
	return sum
}

// Causes maps the ids of failed requests to the causes in the log.
func (s *Server) Causes() map[string]string {
	all := map[string]string{}
	for l := range s.Lines() {
		if l.Msg == "request failed" {
			all[l.RequestID] = l.Error
		}
	}
	return all
}

// ports of connections, which differ from line to line.
var ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// Complaints counts the log lines of a server at warn and error, by message and
// cause. Each result line has the times of the first and the last one.
func (s *Server) Complaints() string {
	type complaint struct {
		times       int
		first, last time.Time
	}
	all := map[string]complaint{}
	for l := range s.Lines() {
		if l.Level != "WARN" && l.Level != "ERROR" {
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
		fmt.Fprintf(
			&text, "%6d times from %s to %s: %.300s\n", all[what].times, all[what].first.Format(time.RFC3339Nano),
			all[what].last.Format(time.RFC3339Nano), what,
		)
	}
	return text.String()
}
