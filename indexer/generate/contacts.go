package generate

import (
	"context"
	"strconv"

	"atlas/indexer/generate/fiction"
	"atlas/indexer/ndjson"
)

// Contacts come in three runs, so that employer and staff can be computed from each
// other: contacts spread evenly over the accounts, contacts spread by Zipf's law,
// and contacts without an account.
func (w world) runs() (even, skewed int64) {
	employed := w.Contacts * 93 / 100
	even = employed * 45 / 100
	return even, employed - even
}

// employer returns the account of a contact, -1 for none.
func (w world) employer(c int64) int64 {
	even, skewed := w.runs()
	switch {
	case c < even:
		return c * w.Accounts / even
	case c < even+skewed:
		j := c - even
		r := rank((float64(j)+0.5)/float64(skewed), w.Accounts)
		// Rounding can put the guess beside the run that contains j.
		for r > 0 && j < w.skewedFrom(r, skewed) {
			r--
		}
		for r < w.Accounts-1 && j >= w.skewedFrom(r+1, skewed) {
			r++
		}
		return r
	}
	return -1
}

// skewedFrom is the first contact of the second run that belongs to account r
// or a later one.
func (w world) skewedFrom(r, skewed int64) int64 {
	if r >= w.Accounts {
		return skewed
	}
	return int64(below(r, w.Accounts) * float64(skewed))
}

// staff returns a random contact of an account, -1 when it has none.
func (w world) staff(d dice, account int64) int64 {
	even, skewed := w.runs()
	var from, to int64
	if even > 0 {
		from = (account*even + w.Accounts - 1) / w.Accounts
		to = ((account+1)*even + w.Accounts - 1) / w.Accounts
	}
	skewedFrom, skewedTo := w.skewedFrom(account, skewed), w.skewedFrom(account+1, skewed)
	n := to - from + skewedTo - skewedFrom
	if n <= 0 {
		return -1
	}
	at := d.Int64N(n)
	if at < to-from {
		return from + at
	}
	return even + skewedFrom + at - (to - from)
}

// freelancer returns a contact without an account, -1 when there is none.
func (w world) freelancer(d dice) int64 {
	even, skewed := w.runs()
	if n := w.Contacts - even - skewed; n > 0 {
		return even + skewed + d.Int64N(n)
	}
	return -1
}

var publicDomains = []string{"example.com", "example.org", "example.net"}

func (w world) writeContacts(ctx context.Context, write func([]byte) error, p *progress) error {
	d := newDice()
	var o ndjson.Object
	return each(ctx, w.Contacts, p, func(i int64) error {
		account := w.employer(i)
		var firm string
		var domains []string
		var c *city
		if account >= 0 {
			firm, domains = w.accountName(d, account)
			c = w.accountCity(d, account)
		}
		d.set(w, aContact, i)
		if account < 0 && d.chance(80) || account >= 0 && d.chance(10) {
			c = &cities[rank(d.Float64(), int64(len(cities)))]
		}
		first, last := fiction.Person(d.Rand)
		role := fiction.Role(d.Rand)
		created := d.past(900)
		o.Reset()
		o.Text("id", w.id(aContact, i))
		o.Text("name", first+" "+last)
		if d.chance(88) {
			o.Text("title", fiction.Title(d.Rand, role))
		}
		if d.chance(87) {
			o.Text("email", address(d, first, last, domains, i))
		}
		if d.chance(60) {
			o.Text("phone", fiction.Phone(d.Rand, areaOf(c)))
		}
		if d.chance(94) {
			o.Text("role", role)
		}
		switch n := d.IntN(100); {
		case n < 72:
			o.Text("status", "active")
		case n < 90:
			o.Text("status", "unverified")
		default:
			o.Text("status", "inactive")
		}
		if account >= 0 {
			o.Text("account_id", w.id(anAccount, account))
			o.Text("account_name", firm)
		}
		place(&o, c, false)
		o.Time("created_at", when(created))
		o.Time("updated_at", when(d.after(created, 200)))
		return write(o.Line())
	})
}

// address is an e-mail address. Most belong to one contact. Contacts of a firm with
// one mailbox, or of the same name, can share one.
func address(d dice, first, last string, domains []string, i int64) string {
	at := one(d, publicDomains)
	if len(domains) > 0 {
		at = domains[0]
		if d.chance(2) {
			return "info@" + at
		}
	}
	box := fiction.Mailbox(first, last)
	if len(domains) == 0 || d.chance(50) {
		box += "." + strconv.FormatInt(i, 36)
	}
	return box + "@" + at
}
