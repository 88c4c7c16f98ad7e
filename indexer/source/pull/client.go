package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"atlas/indexer/source"
	"atlas/internal/fault"
	"atlas/internal/release"
	"atlas/internal/timer"
)

// Bounds of requests.
const (
	maxAttempts = 8
	firstWait   = time.Second
	longestWait = 2 * time.Minute
	maxAnswer   = 256 << 20
	pageTimeout = 3 * time.Minute
)

// client sends requests to one host.
type client struct {
	http    *http.Client
	wait    func(context.Context, time.Duration) error
	token   string
	header  string // for the token
	base    *url.URL
	retries *int
}

func (c *client) prepare(p source.Pull) error {
	base, err := url.Parse(p.URL)
	if err != nil || base.Host == "" {
		return fault.New(fault.BadRequest, "pull.url is no address")
	}
	c.base = base
	c.header = map[string]string{"soda": "X-App-Token", "arcgis": "X-Esri-Authorization"}[p.Interface]
	if p.Interface == "arcgis" && c.token != "" {
		c.token = "Bearer " + c.token
	}
	if c.token != "" && base.Scheme != "https" && base.Hostname() != "localhost" && base.Hostname() != "127.0.0.1" {
		return fault.New(fault.BadRequest, "a token goes to https addresses only")
	}
	if c.wait == nil {
		c.wait = timer.Sleep
	}
	one := http.Client{Timeout: pageTimeout}
	if c.http != nil {
		one = *c.http
	}
	// The token must not be sent to another host.
	one.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != base.Host || r.URL.Scheme != base.Scheme || len(via) > 5 {
			return errors.New("the address redirects to " + r.URL.Host)
		}
		return nil
	}
	c.http = &one
	return nil
}

// refusal is an error answer.
type refusal struct {
	status int
	after  time.Duration // to wait, 0 if the server does not say
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.text) }

// temporary reports whether a retry may succeed.
func (r *refusal) temporary() bool { return r.status == http.StatusTooManyRequests || r.status >= 500 }

// address is the URL of a document.
func (c *client) address(path string, query url.Values) string {
	address := *c.base
	address.Path += path
	address.RawQuery = query.Encode()
	return address.String()
}

// get fetches a JSON document, with retries while they may help.
func (c *client) get(ctx context.Context, path string, query url.Values, read func([]byte) error) error {
	address := c.address(path, query)
	wait := firstWait
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, address, read)
		if err == nil {
			return nil
		}
		no, refused := errors.AsType[*refusal](err)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused && !no.temporary() {
			return fault.Wrap(err, fault.BadRequest, "%s refuses the request", c.base.Host)
		}
		if attempt == maxAttempts {
			return fault.Wrap(err, fault.Unavailable, "%s does not answer; the same command goes on", c.base.Host)
		}
		pause := wait
		if refused && no.after > 0 {
			pause = no.after
		}
		*c.retries++
		if err := c.wait(ctx, min(pause, longestWait)); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

func (c *client) once(ctx context.Context, address string, read func([]byte) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "atlas/"+release.Version())
	if c.token != "" {
		request.Header.Set(c.header, c.token)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) > maxAnswer {
		return &refusal{http.StatusRequestEntityTooLarge, 0, "the answer is too long; ask for fewer rows with pull.page"}
	}
	if answer.StatusCode != http.StatusOK {
		return &refusal{answer.StatusCode, retryAfter(answer.Header.Get("Retry-After")), shortened(body)}
	}
	return read(body)
}

func retryAfter(text string) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func shortened(body []byte) string { return string(body[:min(len(body), 300)]) }
