// Package removal lets a person erase one contact by a link (docs/privacy.md, "By a link"). The
// link is mailed to the contact's e-mail address only, and works once.
//
// Package eraser erases. service/delivery sends the e-mails, service/api has the page.
package removal

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"atlas/indexer/eraser"
	"atlas/indexer/erasure"
	"atlas/internal/fault"
	"atlas/search/catalog"
	"atlas/workspace"
)

// TTL is how long a link works.
const TTL = 7 * 24 * time.Hour

// purpose separates these tokens from other uses of the cursor keys.
const purpose = "erase a contact"

// Store stores links. *postgres.System implements it.
type Store interface {
	// AddErasureLink adds a link and ends the earlier links of the contact.
	AddErasureLink(ctx context.Context, l erasure.Link) error
	// ErasureLink returns fault.NotFound for a link that does not exist.
	ErasureLink(ctx context.Context, id uuid.UUID) (erasure.Link, error)
	// UseErasureLink marks a link as used, and adds suppressions and the records to be erased,
	// in one transaction: fault.NotFound if the link was used or has expired.
	UseErasureLink(ctx context.Context, id uuid.UUID, now time.Time, list []erasure.Suppression, records []erasure.Record) error
	// ClaimErasures returns used links whose contacts are not erased yet, and reserves them for
	// the caller up to `until`.
	ClaimErasures(ctx context.Context, now, until time.Time) ([]uuid.UUID, error)
	PutOffErasures(ctx context.Context, links []uuid.UUID, until time.Time) error
	EndErasures(ctx context.Context, links []uuid.UUID) error
}

// Cursors signs tokens. *search.Cursors implements it.
type Cursors interface {
	Seal(purpose string, data []byte) string
	Open(purpose, sealed string) (data []byte, ok bool)
}

// Links creates links and acts on them. All fields are required, but Cursors only for tokens.
type Links struct {
	Store   Store
	Eraser  *eraser.Eraser
	Cursors Cursors
	Now     func() time.Time
}

// errNowhere is the only error of links that do not work: the reason would tell the caller
// about the contact.
var errNowhere = fault.New(fault.NotFound, "this link was used, has expired, or is not complete")

// Make creates a link for a contact of the served generation. Errors: fault.NotFound,
// fault.BadRequest if the contact can get no e-mail.
func (l *Links) Make(ctx context.Context, contact uuid.UUID, by string) (erasure.Link, error) {
	return l.make(ctx, uuid.New(), contact, by, l.Now())
}

func (l *Links) make(ctx context.Context, id, contact uuid.UUID, by string, due time.Time) (erasure.Link, error) {
	v, there, err := l.values(ctx, contact)
	if err != nil {
		return erasure.Link{}, err
	}
	if !there {
		return erasure.Link{}, fault.New(fault.NotFound, "there is no contact %s", contact)
	}
	if addressOf(v) == "" {
		return erasure.Link{}, fault.New(fault.BadRequest, "the contact %s has no e-mail address that a letter can go to", contact)
	}
	set, err := l.Eraser.Current(ctx)
	if err != nil {
		return erasure.Link{}, err
	}
	if set.Has(catalog.Contacts, v) {
		return erasure.Link{}, fault.New(fault.BadRequest, "the contact %s is suppressed: atlas suppress add with its id finishes it", contact)
	}
	address, err := l.Eraser.Keys.New(catalog.Contacts, erasure.Email, v)
	if err != nil {
		return erasure.Link{}, err
	}
	due = workspace.StoredTime(due)
	link := erasure.Link{
		ID: id, Contact: contact, Address: address, By: by, Created: workspace.StoredTime(l.Now()), Due: due, Expires: due.Add(TTL),
	}
	return link, l.Store.AddErasureLink(ctx, link)
}

// values are the identifying values of a contact in the served generation.
func (l *Links) values(ctx context.Context, contact uuid.UUID) (v erasure.Values, there bool, err error) {
	found, err := l.Eraser.Live(l.Eraser.Names).Lookup(ctx, catalog.Contacts, []string{contact.String()})
	if err != nil {
		return v, false, err
	}
	record := found[contact.String()]
	if record == nil {
		return v, false, nil
	}
	v, _ = erasure.Read(record)
	v.ID = contact.String()
	return v, true, nil
}

// addressOf is the address to mail, as the record writes it; "" if there is none.
func addressOf(v erasure.Values) string {
	text := strings.TrimSpace(v.Email)
	for _, address := range []string{text, v.Normal(erasure.Email)} {
		if v.Normal(erasure.Email) != "" && workspace.ValidEmail(address) {
			return address
		}
	}
	return ""
}

// has reports whether a contact has the address that a link was made for.
func (l *Links) has(link erasure.Link, v erasure.Values) (bool, error) {
	set, err := erasure.NewSet(l.Eraser.Keys, []erasure.Suppression{link.Address})
	return set.Has(catalog.Contacts, v), err
}

// Letter returns the recipient of a link's e-mail and the link's token: fault.NotFound if the
// contact is gone or has another address.
func (l *Links) Letter(ctx context.Context, id uuid.UUID) (to, token string, expires time.Time, err error) {
	link, v, there, err := l.open(ctx, id)
	if err == nil && !there {
		err = errNowhere
	}
	if err != nil {
		return "", "", time.Time{}, err
	}
	return addressOf(v), l.Cursors.Seal(purpose, id[:]), link.Expires, nil
}

// Reads reports whether a token is a genuine token of any link: fault.NotFound.
func (l *Links) Reads(token string) error {
	_, err := l.read(token)
	return err
}

func (l *Links) read(token string) (id uuid.UUID, err error) {
	data, ok := l.Cursors.Open(purpose, token)
	if !ok || len(data) != len(id) {
		return id, errNowhere
	}
	return uuid.UUID(data), nil
}

// Works reports whether a link can be used: fault.NotFound. It changes nothing.
func (l *Links) Works(ctx context.Context, token string) error {
	id, err := l.read(token)
	if err != nil {
		return err
	}
	_, _, _, err = l.open(ctx, id)
	return err
}

// open returns a valid link and the values of its contact. The contact may be missing in the
// served generation: a load could bring it back, so it can still be suppressed.
func (l *Links) open(ctx context.Context, id uuid.UUID) (link erasure.Link, v erasure.Values, there bool, err error) {
	if link, err = l.Store.ErasureLink(ctx, id); err != nil {
		return link, v, false, err
	}
	if link.Used != nil || !l.Now().Before(link.Expires) {
		return link, v, false, errNowhere
	}
	if v, there, err = l.values(ctx, link.Contact); err != nil {
		return link, v, false, err
	}
	v.ID = link.Contact.String()
	set, err := l.Eraser.Current(ctx)
	if err != nil {
		return link, v, false, err
	}
	same, err := l.has(link, v)
	if err == nil && (set.Has(catalog.Contacts, v) || there && !same) {
		err = errNowhere
	}
	return link, v, there, err
}

// Erase uses a link and suppresses its contact, which a Worker erases later. It also suppresses
// the address, unless other contacts have it: the link is for one. Error: fault.NotFound.
func (l *Links) Erase(ctx context.Context, token string) (values map[uuid.UUID]erasure.Values, err error) {
	id, err := l.read(token)
	if err != nil {
		return nil, err
	}
	link, v, there, err := l.open(ctx, id)
	if err != nil {
		return nil, err
	}
	kinds := []erasure.Kind{erasure.ID}
	if there {
		found, err := l.Eraser.Find(ctx, catalog.Contacts, erasure.Email, v)
		if err != nil && fault.CodeOf(err) != fault.BadRequest { // BadRequest: too many contacts have the address
			return nil, err
		}
		if err == nil && found.Len() <= 1 {
			kinds = append(kinds, erasure.Email)
		}
	}
	now := workspace.StoredTime(l.Now())
	record := erasure.Record{Dataset: catalog.Contacts, ID: link.Contact}
	var list []erasure.Suppression
	values = map[uuid.UUID]erasure.Values{}
	for _, kind := range kinds {
		s, err := l.Eraser.Keys.New(catalog.Contacts, kind, v)
		if err != nil {
			return nil, err
		}
		s.By, s.Added = erasure.ByLink, now
		if kind != erasure.ID { // later records with the address are left out, but the link is for one
			s.Of = list[0].ID
		}
		list, values[s.ID], record.Suppressions = append(list, s), v, append(record.Suppressions, s.ID)
	}
	return values, l.Store.UseErasureLink(ctx, id, now, list, []erasure.Record{record})
}
