package query

import (
	"slices"

	"atlas/internal/rule"
	"atlas/search/catalog"
)

// Arrived is when Atlas first had a signal, in milliseconds since 1970.
var Arrived = catalog.Field{Name: "arrived_at", Key: "arrived_at", Type: catalog.Integer, Kind: catalog.Plain, Internal: true}

// QueueRequest is a search of the queue of signals. Query has the request's own conditions,
// and the order of the queue: newest arrival first.
type QueueRequest struct {
	Query
	// InBook means that the account or the project must be in the book.
	InBook bool
	// Dismissed selects dismissed signals instead of the others.
	Dismissed bool
}

// QueueRule is the rule of a search of the queue: that of signals without a sort.
var QueueRule = func() rule.Rule[QueueRequest] {
	fields := slices.Concat(
		conditionFields(catalog.Signals, catalog.Data, true),
		pageFields(catalog.Signals, catalog.Data, MaxLimit),
		textFields(),
	)
	fields = append(fields,
		rule.Optional(
			"in_book", rule.Boolean().Default(false).Described("Only signals whose account or project is in the book."),
			func(r *request) *bool { return &r.inBook },
		),
		rule.Optional(
			"dismissed", rule.Boolean().Default(false).Described("The dismissed signals alone, instead of the others."),
			func(r *request) *bool { return &r.dismissed },
		),
	)
	return rule.Map(rule.Object(fields...), func(r request) QueueRequest {
		r.Query.Dataset, r.Query.Base.Kind, r.Query.Where = catalog.Signals, catalog.QueueBase, r.where
		r.Query.Sort = Sort{Field: Arrived, Desc: true}
		return QueueRequest{r.Query, r.inBook, r.dismissed}
	}).Named("SignalQueueSearchRequest")
}()
