package server

import (
	"atlas/internal/delivery"
	"atlas/internal/mail"
	"atlas/workspace/digest"
	"atlas/workspace/postgres"
)

// mailsDigests reports whether signals are mailed: links to end that need the address of
// this service.
func (c Config) mailsDigests() bool { return c.mail().Enabled() && c.PublicURL != "" }

// digests wires what sends digests of signals.
func (c Config) digests(system *postgres.System, signals delivery.Signals) (delivery.Digests, error) {
	post, err := mail.NewPost(c.mail())
	if err != nil {
		return delivery.Digests{}, err
	}
	cursors, err := c.Cursors()
	return delivery.Digests{Recipients: system, Signals: signals, Post: post, Links: digest.Links{Cursors: cursors}, PublicURL: c.PublicURL}, err
}
