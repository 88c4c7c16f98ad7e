package auditlog

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"atlas/internal/timer"
	"atlas/workspace"
)

// Delivered is how many records a principal of a workspace got by an operation in an hour.
type Delivered struct {
	Workspace workspace.ID
	Hour      time.Time
	// By is the Service with id zero if too many principals were counted at once.
	By                Principal
	Operation         string
	Records, Requests int64
}

// Refused is how many sign-ins were refused in a minute.
type Refused struct {
	Minute time.Time
	Reason string
	// Network is a /24 or /48, and 0.0.0.0/0 if it is not known or too many were counted.
	Network netip.Prefix
	Times   int64
}

// anyNetwork stands for networks that are not distinguished.
var anyNetwork = netip.PrefixFrom(netip.IPv4Unspecified(), 0)

// DeliveredQuery selects counts of delivered records.
type DeliveredQuery struct {
	// Principal is who got it; zero: all.
	Principal uuid.UUID
	// Since and Until bound the hours, Until exclusively; zero: no bound.
	Since, Until  time.Time
	Limit, Offset int
}

// CountStore stores counts. *postgres.System implements it.
type CountStore interface {
	// AddDelivered adds counts. For each principal with more than threshold records in an hour
	// it also adds an event reads.above_threshold, once in that hour; 0: none.
	AddDelivered(ctx context.Context, all []Delivered, threshold int64) error
	AddRefused(ctx context.Context, all []Refused) error
	// ForgetCounts deletes counts from before a time.
	ForgetCounts(ctx context.Context, before time.Time) error
}

const (
	// countEvery is how often counts are stored: a killed server loses the counts since.
	countEvery = 10 * time.Second
	// maxCounts bounds the entries in memory, of about 200 bytes.
	maxCounts = 50_000
	// countsAtOnce bounds a statement.
	countsAtOnce = 1000
)

type deliveredKey struct {
	in        workspace.ID
	hour      int64
	by        Principal
	operation string
}

type count struct{ records, requests int64 }

type refusedKey struct {
	minute  int64
	reason  string
	network netip.Prefix
}

// Counter counts in memory and stores the sums regularly. Counting never waits for the store.
// It is safe for concurrent use.
type Counter struct {
	Store CountStore
	// Threshold is the number of records in an hour above which an event is written for a
	// principal; 0: none.
	Threshold int64
	// Retention is the retention of counts; 0: unlimited.
	Retention time.Duration
	Now       func() time.Time
	Log       *slog.Logger
	// Max bounds the entries in memory; 0 is 50,000.
	Max int

	mu        sync.Mutex
	delivered map[deliveredKey]count
	refused   map[refusedKey]int64
	forgotten time.Time
}

func (c *Counter) max() int {
	if c.Max > 0 {
		return c.Max
	}
	return maxCounts
}

// Delivered counts records that a principal got.
func (c *Counter) Delivered(in workspace.ID, by workspace.Author, operation string, records int64) {
	if records <= 0 || in.IsZero() {
		return
	}
	c.addDelivered(deliveredKey{in, c.Now().Unix() / 3600, PrincipalOf(by), operation}, count{records, 1})
}

func (c *Counter) addDelivered(k deliveredKey, n count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delivered == nil {
		c.delivered = map[deliveredKey]count{}
	}
	if _, known := c.delivered[k]; !known && len(c.delivered) >= c.max() {
		// Beyond the limit records are still counted, but not by principal: that is one more
		// entry for each workspace and hour, and only the operator creates workspaces.
		k.by, k.operation = Principal{Kind: Service}, "other"
	}
	was := c.delivered[k]
	c.delivered[k] = count{was.records + n.records, was.requests + n.requests}
}

// Refused counts a sign-in, or credentials, that were refused.
func (c *Counter) Refused(reason string, network netip.Prefix) {
	if !network.IsValid() {
		network = anyNetwork
	}
	c.addRefused(refusedKey{c.Now().Unix() / 60, reason, network}, 1)
}

func (c *Counter) addRefused(k refusedKey, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[refusedKey]int64{}
	}
	if _, known := c.refused[k]; !known && len(c.refused) >= c.max() {
		k.network = anyNetwork // reasons are few
	}
	c.refused[k] += n
}

// Run stores the counts until ctx ends, and then once more.
func (c *Counter) Run(ctx context.Context) {
	failing := false
	for more := true; more; {
		more = timer.Sleep(ctx, countEvery) == nil
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), countEvery)
		err := c.Flush(last)
		cancel()
		switch {
		case err != nil && !failing:
			c.Log.Warn("counts of the audit log are not stored; trying on", "error", err.Error())
		case err == nil && failing:
			c.Log.Info("counts of the audit log are stored again")
		}
		failing = err != nil
	}
}

// Flush stores the counts. Counts that cannot be stored remain in memory.
func (c *Counter) Flush(ctx context.Context) error {
	c.mu.Lock()
	delivered, refused := c.delivered, c.refused
	c.delivered, c.refused = nil, nil
	c.mu.Unlock()

	var some []Delivered
	store := func() error {
		if len(some) == 0 {
			return nil
		}
		err := c.Store.AddDelivered(ctx, some, c.Threshold)
		if err == nil {
			for _, d := range some {
				delete(delivered, deliveredKey{d.Workspace, d.Hour.Unix() / 3600, d.By, d.Operation})
			}
		}
		some = some[:0]
		return err
	}
	var failed error
	for k, n := range delivered {
		some = append(some, Delivered{k.in, time.Unix(k.hour*3600, 0).UTC(), k.by, k.operation, n.records, n.requests})
		if len(some) == countsAtOnce {
			if failed = store(); failed != nil {
				break
			}
		}
	}
	if failed == nil {
		failed = store()
	}
	var others []Refused
	for k, n := range refused {
		others = append(others, Refused{time.Unix(k.minute*60, 0).UTC(), k.reason, k.network, n})
	}
	if failed == nil && len(others) > 0 {
		if failed = c.Store.AddRefused(ctx, others); failed == nil {
			refused = nil
		}
	}
	for k, n := range delivered {
		c.addDelivered(k, n)
	}
	for k, n := range refused {
		c.addRefused(k, n)
	}
	if now := c.Now(); failed == nil && c.Retention > 0 && now.Sub(c.forgotten) > time.Hour {
		c.forgotten = now
		failed = c.Store.ForgetCounts(ctx, now.Add(-c.Retention))
	}
	return failed
}

// MarshalJSON encodes the sum as in docs/api.md, "Audit log".
func (d Delivered) MarshalJSON() ([]byte, error) {
	type by struct {
		Kind PrincipalKind `json:"kind"`
		ID   *uuid.UUID    `json:"id"`
	}
	who := by{Kind: d.By.Kind}
	if d.By.ID != uuid.Nil {
		who.ID = &d.By.ID
	}
	return json.Marshal(struct {
		Hour      *string `json:"hour"`
		By        by      `json:"principal"`
		Operation string  `json:"operation"`
		Records   int64   `json:"records"`
		Requests  int64   `json:"requests"`
	}{workspace.FormatTime(&d.Hour), who, d.Operation, d.Records, d.Requests})
}
