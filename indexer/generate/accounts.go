package generate

import (
	"context"
	"strconv"

	"atlas/indexer/generate/fiction"
	"atlas/indexer/ndjson"
	"atlas/search/catalog"
)

// trade is the main type of an account.
func trade(i int64) string { return trades[i%int64(len(trades))] }

// accountName returns an account's name and its domains, which its contacts use. One account in
// five has no domain, one in ten has several, one in fifty shares that of the previous account.
func (w world) accountName(d dice, i int64) (name string, domains []string) {
	d.set(w, accountName, i)
	name = d.firmName(i)
	switch n := d.Float64() * 100; {
	case n < 20:
		return name, nil
	case n < 22 && i > 0:
		// The name of the previous account depends only on its number.
		d.set(w, accountName, i-1)
		return name, []string{domain(d.firmName(i-1), i-1, "")}
	case n < 32:
		return name, []string{domain(name, i, ""), domain(name, i, "group")}
	}
	return name, []string{domain(name, i, "")}
}

func (d dice) firmName(i int64) string {
	stem := hot(d, firmStems)
	if d.chance(55) {
		// Two stems make most names rare.
		stem += " " + hot(d, firmStems)
	}
	return stem + " " + hot(d, firmTrades[trade(i)]) + one(d, firmForms)
}

func domain(name string, i int64, part string) string {
	host := fiction.Slug(name) + "-" + strconv.FormatInt(i, 36)
	if part != "" {
		host = part + "." + host
	}
	return host + ".example"
}

// accountCity is the city of an account, nil when it is unknown.
func (w world) accountCity(d dice, i int64) *city {
	d.set(w, accountPlace, i)
	if d.chance(4) {
		return nil
	}
	return &cities[rank(d.Float64(), int64(len(cities)))]
}

func (w world) writeAccounts(ctx context.Context, write func([]byte) error, p *progress) error {
	d := newDice()
	var o ndjson.Object
	return each(ctx, w.Accounts, p, func(i int64) error {
		name, domains := w.accountName(d, i)
		c := w.accountCity(d, i)
		d.set(w, anAccount, i)
		types := []string{trade(i)}
		if other := one(d, catalog.AccountTypes).Value; d.chance(18) && other != types[0] {
			types = append(types, other)
		}
		created := d.past(1200)
		o.Reset()
		o.Text("id", w.id(anAccount, i))
		o.Text("name", name)
		o.List("account_types", types)
		o.List("domains", domains)
		if len(domains) > 0 && d.chance(75) {
			o.Text("website", "https://www."+domains[0]+"/")
		}
		if d.chance(70) {
			o.Text("phone", fiction.Phone(d.Rand, areaOf(c)))
		}
		if d.chance(35) {
			o.Text("description", d.prose(firmSentences))
		}
		place(&o, c, true)
		o.Time("created_at", when(created))
		o.Time("updated_at", when(d.after(created, 300)))
		return write(o.Line())
	})
}

func place(o *ndjson.Object, c *city, country bool) {
	if c == nil {
		return
	}
	o.Text("city", c.name)
	o.Text("state", c.state)
	if country {
		o.Text("country", c.country)
	}
}

func areaOf(c *city) int {
	if c == nil {
		return 800
	}
	return c.area
}
