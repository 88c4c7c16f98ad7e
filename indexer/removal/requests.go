package removal

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/erasure"
	"atlas/internal/fault"
	"atlas/internal/seal"
	"atlas/search/catalog"
	"atlas/workspace"
)

// Limits of requests from strangers.
const (
	// askedOfNetwork and askedOfAll limit the requests accepted in an hour, per network and in
	// total. The total limits what is stored and looked up; it takes 1,000 networks to reach
	// it.
	askedOfNetwork, askedOfAll = 10, 10_000
	// answered is the maximum number of requests in an hour that are answered by e-mail. It
	// applies separately to requests that are the first of their network in 24 hours, and to
	// the others. Requests beyond it wait.
	answered = 250
	// lettersApart is the minimum time between two rounds of e-mails to one address.
	lettersApart = 24 * time.Hour
	// mostLetters is the maximum number of contacts with the address that one request sends a
	// link to.
	mostLetters = 5
	// longest is the maximum length of an address in bytes, including invisible characters.
	longest = 600
	// lineBits is the prefix length of IPv6 networks that count as one: one line can have a /48.
	lineBits = 48
)

const (
	requestPurpose = "an address that a link to erase was asked for"
	networkPurpose = "the network of who asks for a link to erase"
	byForm         = "the form of the service"
)

// RequestStore stores requests. *postgres.System implements it.
type RequestStore interface {
	// AddErasureRequest returns fault.TooManyRequests above one of the limits.
	AddErasureRequest(ctx context.Context, r erasure.Request, ofNetwork, ofAll int) error
	// ErasureRequest returns fault.NotFound for a request that was already handled.
	ErasureRequest(ctx context.Context, id uuid.UUID) (erasure.Request, error)
	// ClaimErasureLetters returns when the e-mails of a request are due, so that at most ofLane
	// requests are answered in an hour; the first requests of their networks are counted
	// separately. mine is false if another request had e-mails sent to the address after the
	// time after.
	ClaimErasureLetters(ctx context.Context, id uuid.UUID, now, after time.Time, ofLane int) (due time.Time, mine bool, err error)
}

// Requests accepts e-mail addresses from anybody, and mails a link for each contact that has
// the address, to the address on file only. The answer does not depend on what is on file. All
// fields are required.
type Requests struct {
	Links *Links
	Store RequestStore
	// Secrets encrypt addresses until they are looked up. The first one encrypts, all decrypt.
	Secrets [][]byte
}

// Ask stores an address to be looked up later, so neither the answer nor its time depends on
// what is on file. Errors: fault.InvalidInput if it is not an address, fault.TooManyRequests.
func (r *Requests) Ask(ctx context.Context, address string, network netip.Prefix) error {
	v := erasure.Values{Email: address}
	normal := v.Normal(erasure.Email)
	if len(address) > longest || !workspace.ValidEmail(normal) {
		return fault.Validation(fault.Issue{
			Code: fault.Custom, Path: []string{"email"}, Message: "is no e-mail address, such as ada@bow-valley.example",
		})
	}
	of, err := r.Links.Eraser.Keys.New(catalog.Contacts, erasure.Email, v)
	if err != nil {
		return err
	}
	request := erasure.Request{ID: uuid.New(), Digest: of.Digest, Created: workspace.StoredTime(r.Links.Now())}
	if network.IsValid() {
		if network.Addr().Is6() && network.Bits() > lineBits {
			network = netip.PrefixFrom(network.Addr(), lineBits).Masked()
		}
		mac := hmac.New(sha256.New, r.Secrets[0])
		mac.Write([]byte(networkPurpose + "\x00" + network.String()))
		request.Network = mac.Sum(nil)
	}
	if request.Sealed, err = seal.Seal(r.Secrets[0], requestPurpose, address); err != nil {
		return err
	}
	return r.Store.AddErasureRequest(ctx, request, askedOfNetwork, askedOfAll)
}

// Answer looks up the address of a request and queues the e-mails. It is idempotent: a repeated
// call queues the missing ones.
func (r *Requests) Answer(ctx context.Context, id uuid.UUID) error {
	request, err := r.Store.ErasureRequest(ctx, id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	v, known := erasure.Values{}, false
	for _, secret := range r.Secrets {
		known = known || seal.Open(secret, requestPurpose, request.Sealed, &v.Email) == nil
	}
	if !known {
		return fault.New(fault.Unavailable, "the address is sealed by a key that this server does not have")
	}
	found, err := r.Links.Eraser.Find(ctx, catalog.Contacts, erasure.Email, v)
	if fault.CodeOf(err) == fault.BadRequest {
		return nil // of too many contacts to tell apart
	}
	if err != nil || found.Len() == 0 {
		return err
	}
	now := r.Links.Now()
	due, mine, err := r.Store.ClaimErasureLetters(ctx, id, now, now.Add(-lettersApart), answered)
	if err != nil || !mine {
		return err
	}
	contacts := found[catalog.Contacts]
	slices.SortFunc(contacts, func(a, b uuid.UUID) int { return cmp.Compare(a.String(), b.String()) })
	for made := 0; len(contacts) > 0 && made < mostLetters; contacts = contacts[1:] {
		switch err := r.make(ctx, request.ID, contacts[0], due); fault.CodeOf(err) {
		case "":
			made++
		case fault.NotFound, fault.BadRequest: // gone, or its address has changed
		default:
			return err
		}
	}
	return nil
}

// make creates the link of a request for a contact, unless it exists.
func (r *Requests) make(ctx context.Context, request, contact uuid.UUID, due time.Time) error {
	id := uuid.NewSHA1(request, contact[:])
	_, err := r.Links.Store.ErasureLink(ctx, id)
	if fault.CodeOf(err) == fault.NotFound {
		_, err = r.Links.make(ctx, id, contact, byForm, due)
	}
	return err
}
