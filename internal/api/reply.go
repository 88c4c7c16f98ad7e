package api

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/search"
)

// reply is a successful answer: { data, metadata }.
type reply struct {
	data     any
	metadata any
}

// creditsOnly is the metadata of everything but searches and lists.
type creditsOnly struct {
	Credits int64 `json:"credits"`
}

// pageMetadata is the metadata of a search.
type pageMetadata struct {
	Total         int     `json:"total"`
	TotalIsCapped bool    `json:"total_is_capped"`
	Limit         int     `json:"limit"`
	Offset        int     `json:"offset"`
	SearchAfter   *string `json:"search_after"`
	Credits       int64   `json:"credits"`
}

func pageMetadataOf(p search.Page, limit, offset int) pageMetadata {
	m := pageMetadata{Total: p.Total, TotalIsCapped: p.Capped, Limit: limit, Offset: offset, Credits: int64(len(p.Records))}
	if p.Next != "" {
		m.SearchAfter = &p.Next
	}
	return m
}

// records are passed on as the bytes they were stored as.
type records []jsontext.Value

const jsonType = "application/json; charset=utf-8"

// render writes a reply. Records are copied, never decoded.
func (c *call) render(r reply) error {
	metadata, err := json.Marshal(r.metadata)
	if err != nil {
		return err
	}
	var b []byte
	switch data := r.data.(type) {
	case records:
		size := 32 + len(metadata)
		for _, record := range data {
			size += len(record) + 1
		}
		b = append(make([]byte, 0, size), `{"data":[`...)
		for i, record := range data {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, record...)
		}
		b = append(b, ']')
	case jsontext.Value:
		b = append(append(make([]byte, 0, 32+len(data)+len(metadata)), `{"data":`...), data...)
	default:
		encoded, err := json.Marshal(data, json.Deterministic(true))
		if err != nil {
			return err
		}
		b = append([]byte(`{"data":`), encoded...)
	}
	b = append(append(append(b, `,"metadata":`...), metadata...), '}')
	c.write(http.StatusOK, b)
	return nil
}

func (c *call) json(status int, body any) {
	// A message may quote a path, whose bytes are anything.
	b, err := json.Marshal(body, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // only shapes of this package come here, and they marshal
	}
	c.write(status, b)
}

func (c *call) write(status int, body []byte) {
	c.gin.Header("Content-Length", strconv.Itoa(len(body)))
	c.gin.Data(status, jsonType, body)
}
