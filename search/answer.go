package search

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/scan"
)

// answer parses a response of Elasticsearch.
type answer struct {
	*scan.Scanner
	// rowsLater leaves the rows of results unread.
	rowsLater bool
}

// err returns fault.Unavailable if the answer could not be read.
func (s answer) err() error {
	if err := s.Err(); err != nil {
		return fault.BackendUnavailable(err, "elasticsearch")
	}
	return nil
}

// listOf reads the array of an answer to n requests, one element for each.
func listOf[T any](a answer, name string, n int, read func() T) ([]T, error) {
	list := make([]T, 0, n)
	a.Members(func(member []byte) {
		if string(member) == name {
			a.Elements(func() { list = append(list, read()) })
		}
	})
	if err := a.err(); err != nil {
		return nil, err
	}
	if len(list) != n {
		return nil, fault.BackendUnavailable(fmt.Errorf("%d answers to %d requests", len(list), n), "elasticsearch")
	}
	return list, nil
}

// result reads the answer of one search.
func (s answer) result() (r result) {
	s.Members(func(name []byte) {
		switch string(name) {
		case "timed_out":
			r.timedOut = string(s.Value()) != "false"
		case "_shards":
			s.Members(func(name []byte) {
				if string(name) == "failed" {
					r.failed = new(s.Integer())
				}
			})
		case "hits":
			s.Members(func(name []byte) {
				switch {
				case string(name) == "total" && s.Peek() == '{':
					s.Members(func(name []byte) {
						if string(name) == "value" {
							r.total = new(s.Integer())
						}
					})
				case string(name) == "hits" && s.rowsLater:
					r.unread = s.Value()
				case string(name) == "hits":
					s.Elements(func() { r.rows = append(r.rows, s.hit()) })
				}
			})
		case "aggregations":
			r.aggregations = s.Value()
		case "suggest":
			r.suggest = s.Value()
		case "error":
			r.error = s.Value()
		case "status":
			r.status = s.Integer()
		}
	})
	return r
}

func (s answer) hit() (h hit) {
	s.Members(func(name []byte) {
		switch string(name) {
		case "_index":
			h.index = s.Value()
		case "_source":
			h.source = s.Value()
		case "sort":
			h.sort = s.Value()
		}
	})
	return h
}

// doc is one answer of an _mget.
type doc struct {
	id, source, error jsontext.Value
	found             bool
}

func (s answer) doc() (d doc) {
	s.Members(func(name []byte) {
		switch string(name) {
		case "_id":
			d.id = s.Value()
		case "found":
			d.found = string(s.Value()) == "true"
		case "_source":
			d.source = s.Value()
		case "error":
			d.error = s.Value()
		}
	})
	return d
}
