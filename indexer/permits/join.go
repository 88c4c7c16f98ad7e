package permits

import (
	"slices"
	"strings"
	"time"

	"atlas/indexer/source/permit"
	"atlas/search/catalog"
)

// join combines the rows of one permit, which are in the order of the files.
func join(rows []*permit.Permit, how string) *permit.Permit {
	if len(rows) == 1 {
		return rows[0]
	}
	slices.SortStableFunc(rows, func(a, b *permit.Permit) int { return a.Latest().Compare(b.Latest()) })
	if how == "phases" {
		return joinPhases(rows)
	}
	joined := *rows[len(rows)-1]
	if how == "separate" { // like a load with lines of the same id
		return &joined
	}
	for _, p := range slices.Backward(rows[:len(rows)-1]) {
		fill(&joined, p)
	}
	return &joined
}

// fill adds to a permit the fields that it lacks and the firms of another row.
func fill(p, from *permit.Permit) {
	for to, v := range map[*string]string{
		&p.Name: from.Name, &p.Description: from.Description, &p.Address: from.Address, &p.City: from.City,
		&p.State: from.State, &p.Country: from.Country, &p.PrimaryUse: from.PrimaryUse, &p.URL: from.URL,
	} {
		if *to == "" {
			*to = v
		}
	}
	for to, v := range map[*time.Time]time.Time{&p.Filed: from.Filed, &p.Permitted: from.Permitted} {
		if to.IsZero() {
			*to = v
		}
	}
	p.Units, p.Stories = or(p.Units, from.Units), or(p.Stories, from.Stories)
	p.Sqft, p.Cost = or(p.Sqft, from.Sqft), or(p.Cost, from.Cost)
	if p.Latitude == nil {
		p.Latitude, p.Longitude = from.Latitude, from.Longitude
	}
	addParties(p, from)
}

func or[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

func addParties(p, from *permit.Permit) {
	p.Assigned = p.Assigned || from.Assigned
	for _, y := range from.Parties {
		if !slices.ContainsFunc(p.Parties, func(known permit.Party) bool {
			return known.Type == y.Type && firmKey(known.Name) == firmKey(y.Name)
		}) {
			p.Parties = append(slices.Clip(p.Parties), y)
		}
	}
}

// joinPhases combines the rows of the phases of a job: the job is at the stage of its least
// advanced active phase.
func joinPhases(rows []*permit.Permit) *permit.Permit {
	joined := *rows[0]
	descriptions := []string{joined.Description}
	for _, p := range rows[1:] {
		if p.Description != "" && !slices.Contains(descriptions, p.Description) {
			descriptions = append(descriptions, p.Description)
		}
		joined.Units, joined.Stories = sum(joined.Units, p.Units), greater(joined.Stories, p.Stories)
		joined.Sqft, joined.Cost = sum(joined.Sqft, p.Sqft), sum(joined.Cost, p.Cost)
		joined.Filed = earlier(joined.Filed, p.Filed)
		joined.Permitted = earlier(joined.Permitted, p.Permitted)
		joined.Ended, joined.Updated = later(joined.Ended, p.Ended), later(joined.Updated, p.Updated)
		if lessAdvanced(p, &joined) {
			joined.Stage, joined.Disposition, joined.Status = p.Stage, p.Disposition, p.Status
		}
		units, stories, sqft, cost := joined.Units, joined.Stories, joined.Sqft, joined.Cost
		ended := joined.Ended
		fill(&joined, p)
		joined.Units, joined.Stories, joined.Sqft, joined.Cost, joined.Ended = units, stories, sqft, cost, ended
	}
	joined.Description = shortened(strings.Join(descriptions, "; "))
	return &joined
}

// shortened cuts a description to the maximum length in a record.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > catalog.LongChars {
		return string(runes[:catalog.LongChars-1]) + "…"
	}
	return s
}

// lessAdvanced reports whether a phase is less advanced than another.
func lessAdvanced(a, b *permit.Permit) bool {
	if active := a.Disposition == "active"; active != (b.Disposition == "active") {
		return active
	}
	order := catalog.Stages.Values()
	return a.Stage != "" && slices.Index(order, a.Stage) < slices.Index(order, b.Stage)
}

type numeric interface{ ~int64 | ~float64 }

func sum[T numeric](a, b *T) *T {
	if a == nil || b == nil {
		return or(a, b)
	}
	return new(*a + *b)
}

func greater[T numeric](a, b *T) *T {
	if a == nil || b == nil {
		return or(a, b)
	}
	return new(max(*a, *b))
}
