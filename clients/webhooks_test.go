package clients

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"atlas/client"
)

// Requests that the library of Standard Webhooks signed are read, others are not.
func TestReadWebhook(t *testing.T) {
	t.Parallel()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	body := []byte(`{"type":"record.deleted","timestamp":"2026-01-02T03:04:05.000Z","data":{"id":"x"}}`)
	signed := func(at time.Time, secrets ...string) http.Header {
		h := http.Header{}
		h.Set("webhook-id", "one")
		h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		for _, s := range secrets {
			signer, err := standardwebhooks.NewWebhook(s)
			if err != nil {
				t.Fatal(err)
			}
			signature, err := signer.Sign("one", at, body)
			if err != nil {
				t.Fatal(err)
			}
			h.Set("webhook-signature", h.Get("webhook-signature")+" "+signature)
		}
		return h
	}
	now := time.Now()
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
		ok     bool
	}{
		"signed":         {signed(now, secret), body, true},
		"rotated":        {signed(now, other, secret), body, true},
		"another secret": {signed(now, other), body, false},
		"another body":   {signed(now, secret), append([]byte(" "), body...), false},
		"old":            {signed(now.Add(-time.Hour), secret), body, false},
		"of the future":  {signed(now.Add(time.Hour), secret), body, false},
		"unsigned":       {signed(now), body, false},
		"no header":      {http.Header{}, body, false},
	} {
		event, err := client.ReadWebhook(secret, c.header, c.body)
		switch {
		case c.ok && (err != nil || event.ID != "one" || event.Type != "record.deleted" || string(event.Data) != `{"id":"x"}`):
			t.Errorf("%s: %+v, %v", name, event, err)
		case !c.ok && !errors.Is(err, client.ErrWebhookSignature):
			t.Errorf("%s: %+v, %v", name, event, err)
		}
	}
}
