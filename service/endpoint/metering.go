package endpoint

import (
	"context"
	"strconv"

	"atlas/internal/fault"
	"atlas/service/auth"
	"atlas/service/credits"
	"atlas/workspace"
)

// The headers of metered operations.
const (
	headerCharged   = "X-Credits-Charged"
	headerUsed      = "X-Credits-Used"
	headerRemaining = "X-Credits-Remaining"
	headerCeiling   = "X-Credits-Ceiling"
	// headerNextAt is in the answers of all operations that are refused because the
	// ceiling is used up.
	headerNextAt = "X-Credits-Next-At"
	// headerKeyRemaining is in the answers to keys with a budget.
	headerKeyRemaining = "X-Key-Credits-Remaining"
)

// outOfCredits reports whether the ceiling, or the budget of the key, is used up.
func outOfCredits(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.RateLimited || code == fault.KeyBudgetUsed
}

// Key is the API key of the call with its budget, zero for a user.
func (c *Call) Key() credits.Key {
	if c.Principal.Kind != auth.ByKey {
		return credits.Key{}
	}
	return credits.Key{ID: c.Principal.Key.String(), Budget: c.Principal.Budget.DailyCredits}
}

// checkCeiling refuses a free call when the ceiling or the budget is used up. Without the
// ledger free calls are allowed.
func (c *Call) checkCeiling() error {
	if _, err := c.check(); outOfCredits(err) {
		return err
	}
	return nil
}

func (c *Call) check() (credits.Window, error) {
	w := c.Principal.Workspace
	window, err := c.server.Ledger.Check(c.Context(), w.ID.String(), w.CreditCeiling, c.Key())
	if outOfCredits(err) {
		c.showNextAt(window)
		if c.Route.Throttling == Metered {
			c.showWindow(window)
		}
	}
	return window, err
}

func (c *Call) showWindow(w credits.Window) {
	c.Gin.Header(headerUsed, strconv.FormatInt(w.Used, 10))
	c.Gin.Header(headerRemaining, strconv.FormatInt(w.Remaining, 10))
	c.Gin.Header(headerCeiling, strconv.FormatInt(w.Ceiling, 10))
	if w.Key.Budget > 0 {
		c.Gin.Header(headerKeyRemaining, strconv.FormatInt(w.Key.Remaining(), 10))
	}
	c.showNextAt(w)
}

func (c *Call) showNextAt(w credits.Window) {
	if !w.NextAt.IsZero() {
		c.Gin.Header(headerNextAt, w.NextAt.Format(workspace.TimeFormat))
	}
}

// reserved reports whether the request reached the ledger.
func (c *Call) reserved() bool { return c.Gin.Writer.Header().Get(headerCeiling) != "" }

// Metered reserves the maximum that the operation may deliver, runs it, and charges
// what it delivered before the answer is sent. A failed operation costs nothing. A
// repetition is answered by replay from what run stored of the first answer.
func (c *Call) Metered(
	most int, run func(ctx context.Context) (r Reply, delivered int, err error),
	replay func(ctx context.Context, stored StoredPage) (Reply, error),
) (Reply, error) {
	w := c.Principal.Workspace
	reservation, stored, window, err := c.server.Ledger.ReserveOnce(
		c.Context(), w.ID.String(), w.CreditCeiling, c.Route.Operation, int64(most), c.Key(), credits.Once(c.Once),
	)
	if err := c.Reservation(window, err); err != nil {
		return Reply{}, err
	}
	if stored != nil {
		return c.Replay(stored, replay)
	}
	c.server.Meter.CreditsReserved(c.Route.Operation, int64(most))
	// Releases the reservation if run fails or panics. After a settlement it does nothing.
	defer reservation.Settle(c.Context(), 0) //nolint:errcheck // it lapses by itself
	r, delivered, err := run(c.Context())
	if err != nil {
		return Reply{}, err
	}
	if window, err = reservation.SettleStoring(c.Context(), int64(delivered), c.Stored); err != nil {
		return Reply{}, err
	}
	c.ShowCharged(window, []credits.Charge{{Operation: c.Route.Operation, Credits: int64(delivered)}})
	return r, nil
}

// ChargeAfter is Metered where ample credits remain: it charges without a reservation, in one
// call of the ledger.
func (c *Call) ChargeAfter(run func(ctx context.Context) (r Reply, delivered int, err error)) (Reply, error) {
	r, delivered, err := run(c.Context())
	if err != nil {
		return Reply{}, err
	}
	w := c.Principal.Workspace
	charge := credits.Charge{Operation: c.Route.Operation, Credits: int64(delivered)}
	window, err := c.server.Ledger.Charge(c.Context(), w.ID.String(), w.CreditCeiling, charge, c.Key())
	if err := c.Reservation(window, err); err != nil {
		return Reply{}, err
	}
	c.ShowCharged(window, []credits.Charge{charge})
	return r, nil
}

// Reservation sets the headers of the caller's window, and counts a request that got no
// credits.
func (c *Call) Reservation(window credits.Window, err error) error {
	if code := fault.CodeOf(err); err != nil && code != fault.IdempotencyConflict && code != fault.IdempotencyInProgress {
		c.refused(err)
	}
	if window.Ceiling > 0 || err == nil {
		c.showWindow(window)
	}
	return err
}

// ShowCharged sets the headers of the charge, and counts it.
func (c *Call) ShowCharged(window credits.Window, charges []credits.Charge) {
	if c.server.CreditsUsed != nil {
		c.server.CreditsUsed(c.Workspace(), window.Used, window.Ceiling)
	}
	for _, charge := range charges {
		c.charged += charge.Credits
		c.server.Meter.CreditsCharged(charge.Operation, charge.Credits)
	}
	c.Gin.Header(headerCharged, strconv.FormatInt(c.charged, 10))
	c.showWindow(window)
}

// refused counts a metered request that got no credits, once per request.
func (c *Call) refused(err error) {
	if c.uncredited {
		return
	}
	c.uncredited = true
	reason := "unavailable"
	switch fault.CodeOf(err) {
	case fault.RateLimited:
		reason = "used_up"
	case fault.KeyBudgetUsed:
		reason = "key_budget"
	}
	c.server.Meter.CreditsRefused(c.Route.Operation, reason)
}

// Unmetered makes a call of a metered route free: it draws on the token bucket of its caller.
// It works without the ledger.
func (c *Call) Unmetered() error {
	if err := c.ShowUnmetered(); err != nil {
		return err
	}
	return c.TakeToken()
}

// ShowUnmetered is Unmetered without the token.
func (c *Call) ShowUnmetered() error {
	window, err := c.check()
	switch {
	case err == nil:
		c.showWindow(window)
	case outOfCredits(err):
		return err
	}
	return nil
}
