package rig

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Metrics are samples by name and labels as Prometheus writes them, like
// `go_goroutines` or `atlas_pool_connections{pool="redis",state="idle"}`.
type Metrics map[string]float64

// Metrics reads the server's metrics.
func (s *Server) Metrics(ctx context.Context) (Metrics, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s", res.Status)
	}
	m := Metrics{}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := cutLast(lines.Text())
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = v
		}
	}
	return m, lines.Err()
}

func cutLast(line string) (before, after string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// Sum adds up the samples of a name that have all these labels, each given as
// name="value".
func (m Metrics) Sum(name string, labels ...string) (sum float64) {
next:
	for sample, v := range m {
		if own, _, _ := strings.Cut(sample, "{"); own != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(sample, l) {
				continue next
			}
		}
		sum += v
	}
	return sum
}

// Goroutines is the current number of the server's goroutines.
func (s *Server) Goroutines(ctx context.Context) (float64, error) {
	m, err := s.Metrics(ctx)
	return m["go_goroutines"], err
}
