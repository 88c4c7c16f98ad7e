package api

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/shares"
	"atlas/search/query"
	"atlas/service/credits"
	"atlas/service/endpoint"
)

const searchesMember = "searches"

type batchHandlers struct {
	viewRecordHandlers
	// running are the batches in progress.
	running *shares.Shares
}

// searchBatch answers a batch whose items read reads.
func (s batchHandlers) searchBatch(
	c *endpoint.Call,
	read func(issues input.Issues, item input.Value) (searching, error),
) (endpoint.Reply, error) {
	sent, err := c.BatchItems(searchesMember, maxBatchSearches, nil)
	if err != nil || len(c.PathIssues) > 0 {
		return endpoint.Reply{}, endpoint.JoinIssues(c.PathIssues, err)
	}
	b := make([]*batchedSearch, len(sent))
	rows := 0
	for i, item := range sent {
		value, _ := query.ResolveDates(item.Value, c.Began)
		b[i] = &batchedSearch{}
		if b[i].searching, b[i].err = read(item.Issues, value); b[i].err == nil {
			rows += b[i].q.Limit
		} else if b[i].refused = true; endpoint.IsServerFault(b[i].err) {
			return endpoint.Reply{}, b[i].err
		}
	}
	if rows > maxBatchRows {
		return endpoint.Reply{}, fault.Validation(fault.Issue{
			Code: fault.Custom, Path: []string{searchesMember},
			Message: "the limits of all searches together must be at most 1000, and are " + strconv.Itoa(rows),
		})
	}
	release, err := s.acquireBatch(c)
	if err != nil {
		return endpoint.Reply{}, err
	}
	defer release()
	c.OweTurns(len(b) - 1)
	return s.meteredBatch(c, b)
}

// acquireBatch waits for the place of a batch.
func (s batchHandlers) acquireBatch(c *endpoint.Call) (release func(), err error) {
	ctx, cancel := context.WithTimeout(c.Context(), batchWaits)
	defer cancel()
	if release, err = s.running.Acquire(ctx, c.Workspace().String(), 1, batchesOfWorkspace, batchesAtOnce); err != nil {
		return nil, c.Busy()
	}
	return release, nil
}

// meteredBatch is metered for the searches of a batch.
func (s batchHandlers) meteredBatch(c *endpoint.Call, b []*batchedSearch) (endpoint.Reply, error) {
	var amounts []int64
	var asked []*batchedSearch
	for _, item := range b {
		if item.err == nil && !item.q.DryRun {
			amounts, asked = append(amounts, int64(item.q.Limit)), append(asked, item)
		}
	}
	if len(asked) == 0 {
		if err := c.ShowUnmetered(); err != nil {
			return endpoint.Reply{}, err
		}
		s.runBatch(c, b)
		r, _, err := batchAnswer(c, b)
		return r, err
	}
	w := c.Principal.Workspace
	reservation, granted, stored, window, err := s.Ledger.ReserveItems(
		c.Context(), w.ID.String(), w.CreditCeiling, c.Route.Operation, amounts, c.Key(), credits.Once(c.Once),
	)
	if err := c.Reservation(window, err); err != nil {
		return endpoint.Reply{}, err
	}
	if stored != nil {
		return s.replayBatch(c, b, stored)
	}
	defer reservation.Settle(c.Context(), 0) //nolint:errcheck // it lapses by itself
	reserved := int64(0)
	for i, item := range asked {
		if i < granted {
			reserved += amounts[i]
			s.Meter.CreditsReserved(item.operation, amounts[i])
		} else {
			item.err = notGranted(c, window, reserved)
		}
	}
	stop := renewing(c, reservation)
	s.runBatch(c, b)
	stop()
	if c.Left() && slices.ContainsFunc(b, func(item *batchedSearch) bool { return endpoint.IsServerFault(item.err) }) {
		// Only charged answers are stored. This one is not: the repetition runs and is charged.
		return endpoint.Reply{}, fault.BackendUnavailable(context.Cause(c.Context()), "the request")
	}
	r, charges, err := batchAnswer(c, b)
	if err != nil {
		return endpoint.Reply{}, err
	}
	if window, err = reservation.SettleItems(c.Context(), charges, c.Stored); err != nil {
		return endpoint.Reply{}, err
	}
	c.ShowCharged(window, charges)
	return r, nil
}

// grantedText is the error of a search that has no answer because earlier ones reserved the
// credits.
const grantedText = "the searches before this one may use what was left of the credits; send it again in another request"

// notGranted is the reason why a search is not run after others reserved the credits.
func notGranted(c *endpoint.Call, w credits.Window, reserved int64) error {
	switch {
	case w.Used+reserved >= w.Ceiling:
		return fault.New(fault.RateLimited, grantedText)
	case w.Key.Budget > 0 && w.Key.Used+reserved >= w.Key.Budget:
		return fault.New(fault.KeyBudgetUsed, grantedText)
	}
	return credits.Held()
}

// renewing renews the lease of the request's key until stop is called.
func renewing(c *endpoint.Call, r *credits.Reservation) (stop func()) {
	if !c.Idempotent() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.Context())
	go func() {
		each := time.NewTicker(renewEach)
		defer each.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-each.C:
				r.Renew(ctx)
			}
		}
	}()
	return cancel
}

// runBatch runs the searches that have no error yet.
func (s batchHandlers) runBatch(c *endpoint.Call, b []*batchedSearch) {
	var tasks []*batchedSearch
	for _, item := range b {
		if item.err == nil {
			item.err = tokenOf(c, item)
		}
		if item.err == nil {
			tasks = append(tasks, item)
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), batchWithin)
	defer cancel()
	var bytes atomic.Int64
	s.Search.Together(ctx, len(tasks), func(ctx context.Context, i int) {
		item := tasks[i]
		if bytes.Load() > maxBatchBytes {
			item.err = fault.New(fault.Unavailable, endpoint.TooManyBytes)
			return
		}
		if item.q.DryRun {
			item.reply, item.err = s.dryPage(c, ctx, item.searching, 1)
			return
		}
		item.reply, item.rows, item.err = s.searchPage(c, ctx, item.searching)
		for _, row := range item.rows {
			item.bytes += len(row)
		}
		bytes.Add(int64(item.bytes))
	})
	sum := 0
	for _, item := range tasks {
		if sum += item.bytes; sum > maxBatchBytes && sum > item.bytes && item.bytes > 0 {
			item.err = fault.New(fault.Unavailable, endpoint.TooManyBytes)
		}
		if item.found != nil && item.err == nil && len(item.rows) > 0 {
			item.found()
		}
	}
}

// tokenOf takes the tokens that a single search would take.
func tokenOf(c *endpoint.Call, item *batchedSearch) (err error) {
	switch {
	case item.q.DryRun:
		return c.TakeToken()
	case item.reads:
		item.found, err = c.ReadAddresses()
	}
	return err
}
