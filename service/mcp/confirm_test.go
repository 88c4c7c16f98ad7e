package mcp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"
	"time"
)

// A consent is valid for its own call, until it expires, and for no other.
func TestAgreements(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := &Server{Key: []byte("a key"), Now: func() time.Time { return now }}
	whose := Caller{ID: "key:1", Workspace: "w"}
	good := &call{server: s, tool: tool{name: "search_records"}, caller: whose, digest: []byte("arguments")}
	text := s.sign(agreement{
		Caller: "key:1", Workspace: "w", Tool: "search_records", Arguments: []byte("arguments"), Credits: 25,
		Expires: now.Add(confirmedFor).Unix(), Key: "k",
	})
	if a, err := good.open(text); err != nil || a.Credits != 25 || a.Key != "k" {
		t.Fatalf("%+v %v", a, err)
	}
	others := map[string]func(c *call){
		"caller":    func(c *call) { c.caller.ID = "key:2" },
		"workspace": func(c *call) { c.caller.Workspace = "v" },
		"tool":      func(c *call) { c.tool.name = "search_book" },
		"arguments": func(c *call) { c.digest = []byte("others") },
		"service":   func(c *call) { c.server = &Server{Key: []byte("another key"), Now: s.Now} },
	}
	for name, change := range others {
		c := *good
		change(&c)
		if _, err := c.open(text); !errors.Is(err, errForged) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		forged := bytes.Clone(b)
		forged[i] ^= 1
		if _, err := good.open(base64.RawURLEncoding.EncodeToString(forged)); !errors.Is(err, errForged) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if _, err := good.open(base64.RawURLEncoding.EncodeToString(b[:i])); !errors.Is(err, errForged) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
	if _, err := good.open(text + "\n"); !errors.Is(err, errForged) {
		t.Errorf("a line break: %v", err)
	}
	now = now.Add(confirmedFor)
	if _, err := good.open(text); !errors.Is(err, errExpired) {
		t.Errorf("too late: %v", err)
	}
}
