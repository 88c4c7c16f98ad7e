package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"time"
)

// call is a request that is sent again and again, and the answer it got when it
// was first made. The data does not change, so each later one must be equal to
// the byte.
type call struct {
	method string
	url    *url.URL
	header http.Header // shared, never written to
	body   []byte
	size   int
	sum    uint32
}

// table of the checksum that processors compute by themselves: checking every
// answer costs the client next to nothing.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// expect takes down the answer.
func (c *call) expect(answer []byte) {
	c.size, c.sum = len(answer), crc32.Checksum(answer, castagnoli)
}

// client sends calls over connections that stay open. One is used for each side
// of a comparison.
type client struct{ transport *http.Transport }

// newClient keeps up to so many connections.
func newClient(connections int) client {
	return client{&http.Transport{
		MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections,
		DisableCompression:    true,
		ResponseHeaderTimeout: time.Minute,
	}}
}

func (c client) close() { c.transport.CloseIdleConnections() }

// do sends a call and reads the whole answer into buf, which it returns.
func (c client) do(ctx context.Context, call *call, buf []byte) ([]byte, int, error) {
	r := &http.Request{
		Method: call.method, URL: call.url, Host: call.url.Host, Header: call.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(call.body)), ContentLength: int64(len(call.body)),
	}
	res, err := c.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return buf, 0, err
	}
	defer res.Body.Close()
	b := bytes.NewBuffer(buf[:0])
	_, err = b.ReadFrom(res.Body)
	return b.Bytes(), res.StatusCode, err
}

// check sends a call and refuses any other answer than the one expected.
func (c client) check(ctx context.Context, call *call, buf []byte) ([]byte, error) {
	buf, status, err := c.do(ctx, call, buf)
	switch {
	case err != nil:
		return buf, err
	case status != http.StatusOK:
		return buf, fmt.Errorf("%s answered %d to %s: %.500s", call.url, status, call.body, buf)
	case len(buf) != call.size || crc32.Checksum(buf, castagnoli) != call.sum:
		return buf, fmt.Errorf("%s answered %s otherwise than before, %d bytes instead of %d: %.300s", call.url, call.body, len(buf), call.size, buf)
	}
	return buf, nil
}

// timed sends one of the calls each turn, in their order, and checks the answer.
func (c client) timed(ctx context.Context, calls ...*call) func(turn int) (time.Duration, error) {
	var buf []byte
	return func(turn int) (took time.Duration, err error) {
		began := time.Now()
		buf, err = c.check(ctx, calls[turn%len(calls)], buf)
		return time.Since(began), err
	}
}

// closedLoop sends so many calls, beginning anew when all were sent, over n
// connections, the next one as soon as the one before is answered. The first
// wrong answer ends it.
func (c client) closedLoop(ctx context.Context, calls []*call, n, total int) (loop, error) {
	return crowd(ctx, n, total, func() func(context.Context, int) error {
		var buf []byte
		return func(ctx context.Context, i int) (err error) {
			buf, err = c.check(ctx, calls[i%len(calls)], buf)
			return err
		}
	})
}
