package auditlog

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"atlas/workspace"
)

// Head is the state of a chain that is stored besides its events.
type Head struct {
	// Chain is the workspace, zero for the installation.
	Chain workspace.ID
	// Number and Digest are those of the last event.
	Number int64
	Digest Digest
	// Checkpoint is the last event that retention deleted, with number 0 if there is none.
	Checkpoint Checkpoint
}

// Checkpoint is where the stored part of a chain begins: after the event with the Number.
type Checkpoint struct {
	Number int64
	Digest Digest
	// At is when the events up to it were deleted.
	At time.Time
	// Signature is nil if no key was given.
	Signature []byte
}

// text is what is signed.
func (c Checkpoint) text(chain workspace.ID) []byte {
	return fmt.Appendf(nil, "atlas audit checkpoint 1\n%s\n%d\n%s\n%s\n", chainName(chain), c.Number, c.Digest, c.At.UTC().Format(timeFormat))
}

// Sign signs the checkpoint of a chain.
func (c *Checkpoint) Sign(chain workspace.ID, key ed25519.PrivateKey) {
	c.Signature = ed25519.Sign(key, c.text(chain))
}

// SignedBy reports whether a key signed the checkpoint.
func (c Checkpoint) SignedBy(chain workspace.ID, key ed25519.PublicKey) bool {
	return ed25519.Verify(key, c.text(chain), c.Signature)
}

// ReadKey reads an Ed25519 key in PEM, private (PKCS 8) or public (PKIX); private is nil for
// a public one.
func ReadKey(text []byte) (private ed25519.PrivateKey, public ed25519.PublicKey, err error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, errors.New("it is no PEM: openssl genpkey -algorithm ed25519 makes a key")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if private, ok := key.(ed25519.PrivateKey); ok {
			return private, private.Public().(ed25519.PublicKey), nil
		}
	}
	if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
		if public, ok := key.(ed25519.PublicKey); ok {
			return nil, public, nil
		}
	}
	return nil, nil, errors.New("it is no Ed25519 key: openssl genpkey -algorithm ed25519 makes one")
}

// Problem is a defect of a chain.
type Problem struct {
	// Number is the position, 0 for the chain as a whole.
	Number int64  `json:"number"`
	What   string `json:"problem"`
}

// Report is the result of verifying a chain.
type Report struct {
	Chain workspace.ID
	// Events is the number of verified events, from First to Last.
	Events, First, Last int64
	Digest              Digest
	// Unchained counts events that are not in the chain yet.
	Unchained int64
	// Checkpoint is where the stored part begins. Signed reports whether the key signed it, nil
	// without a key or a checkpoint.
	Checkpoint Checkpoint
	Signed     *bool
	// Since is the number of the event whose digest was given to Verify, 0 if none was given or
	// found.
	Since    int64
	Problems []Problem
}

// maxProblems bounds the problems of a report: one edited event breaks all following ones.
const maxProblems = 100

// Source has the events of chains. *postgres.System implements it.
type Source interface {
	AuditHead(ctx context.Context, chain workspace.ID) (Head, error)
	// ChainedEvents are the events of a chain after a number, in order.
	ChainedEvents(ctx context.Context, chain workspace.ID, after int64, limit int) ([]Event, error)
	// UnchainedEvents counts those that are not chained yet.
	UnchainedEvents(ctx context.Context, chain workspace.ID) (int64, error)
}

const verifyAtOnce = 1000

// Verify reads a chain and computes its digests. since is a digest that was stored outside of
// the database, key the one that signs checkpoints; both may be nil.
func Verify(ctx context.Context, s Source, chain workspace.ID, since *Digest, key ed25519.PublicKey) (Report, error) {
	r, err := verify(ctx, s, chain, since, key)
	if err != nil || len(r.Problems) == 0 {
		return r, err
	}
	// Retention may have deleted events while they were read.
	head, err := s.AuditHead(ctx, chain)
	if err != nil || head.Checkpoint.Number == r.Checkpoint.Number {
		return r, err
	}
	return verify(ctx, s, chain, since, key)
}

func verify(ctx context.Context, s Source, chain workspace.ID, since *Digest, key ed25519.PublicKey) (Report, error) {
	head, err := s.AuditHead(ctx, chain)
	if err != nil {
		return Report{}, err
	}
	r := Report{Chain: chain, Checkpoint: head.Checkpoint, First: head.Checkpoint.Number + 1}
	add := func(number int64, format string, args ...any) {
		if len(r.Problems) < maxProblems {
			r.Problems = append(r.Problems, Problem{number, fmt.Sprintf(format, args...)})
		}
	}
	if head.Checkpoint.Number > 0 && key != nil {
		ok := head.Checkpoint.SignedBy(chain, key)
		if r.Signed = &ok; !ok {
			add(head.Checkpoint.Number, "the checkpoint is not signed by the key")
		}
	}
	number, digest := head.Checkpoint.Number, head.Checkpoint.Digest
	if since != nil && number > 0 && *since == digest {
		r.Since = number
	}
	for {
		page, err := s.ChainedEvents(ctx, chain, number, verifyAtOnce)
		if err != nil {
			return r, err
		}
		for _, e := range page {
			problem, err := e.Check(number, digest)
			if err != nil {
				return r, err
			}
			if problem != "" {
				add(e.Number, "%s", problem)
			}
			number, digest = e.Number, e.Digest
			if r.Events++; since != nil && *since == digest {
				r.Since = number
			}
		}
		if len(page) < verifyAtOnce {
			break
		}
	}
	// The head was read before the events: an unmodified chain may have grown since, not
	// shrunk.
	switch {
	case number < head.Number:
		add(0, "the chain ends at %d and once had %d events: the last are missing", number, head.Number)
	case number == head.Number && number > 0 && digest != head.Digest:
		add(number, "it is not the event that was chained last")
	}
	if since != nil && r.Since == 0 {
		add(0, "the digest %s is not in the chain: events up to it were replaced, or retention deleted them", since)
	}
	r.Last, r.Digest = number, digest
	r.Unchained, err = s.UnchainedEvents(ctx, chain)
	return r, err
}
