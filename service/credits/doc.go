// Package credits counts in Redis the credits that each workspace uses in a rolling window of
// 24 hours, against its ceiling, and those of each API key, against the budget of the key
// (docs/api.md, "Credits").
//
// A metered operation Reserves what it may deliver, runs, and Settles what it
// delivered before it sends the response. Where credits are Ample, a search may run and then
// be Charged at once. The package does not limit request rates,
// has no billing periods, and does not know plans, ceilings or budgets: the caller passes
// them.
//
// # Rules
//
// Used credits are settled credits. Reserve grants a reservation while settled and
// reserved credits together are below the ceiling. So at most one request passes the
// ceiling, by less than its own page. When settled credits reach the ceiling, Reserve
// returns fault.RateLimited. When only open reservations fill the window, it waits up
// to a second and then returns fault.Unavailable. An open reservation lapses 60 s
// after it was made: it no longer counts. A lapsed reservation can still be settled
// and is charged; only then can a window pass its ceiling by more. After 11 minutes a
// reservation is deleted and cannot be settled.
//
// The same holds for the settled and reserved credits of a key and its budget: both are
// checked and charged in one step, and Reserve then returns fault.KeyBudgetUsed. A budget
// applies to each workspace of the key separately. A key without a budget is counted too.
//
// # The hash
//
// Each workspace has one hash, `<prefix>{<workspace>}`. The braces make Redis Cluster
// place it by workspace. Its fields:
//
//	w         time, used, reserved, oldest bucket, next / lapsed / deleted position
//	          of the queue, epoch (the first reservation's id)
//	b         operations with their totals: "search_accounts:250 get_contact:3"
//	<minute>  a bucket, minutes since 1970: "1:25 2:1" (position in b : credits)
//	r<id>     an open or lapsed reservation: position, amount, time, operation, key
//	q<seq>    the id at this position of the queue, in the order of creation
//	l         numbers of the keys that used credits: "1/<key> 2/<key>"
//	k<key>    what a key that used or reserved any has: number, used, reserved, time of
//	          its last reservation
//	m<minute> a bucket of keys: "1:25 2:1" (number : credits)
//	o         oldest bucket of keys
//	e         the hour, and how many answers without records were stored in it
//
// Credits are charged to the minute in which their reservation was made, those of a Charge to
// its own. A Charge is granted like a reservation, but holds none: when it is refused,
// nothing may be delivered. Its id is stored for 60 s under a key beside the hash,
// `<prefix>{<workspace>}:<id>`, about 100 bytes, so that a repeated call charges once.
//
// A batch has one reservation for all of its items. They are granted in order, and its Settle
// charges each operation. Renew prolongs the lease of its Idempotency-Key.
//
// A bucket is
// dropped when its whole minute is older than 24 hours, so credits count for 24 hours
// after the reservation and up to a minute longer. Nothing scans the hash: buckets are
// dropped from the oldest on, and reservations lapse from the head of the queue. A hash
// has at most 1441 buckets. With credits in each minute it takes about 86 kB for one
// operation and 236 kB for fifteen (MEMORY USAGE on Redis 7), plus about 230 bytes for
// each reservation that is open, or unsettled and younger than 11 minutes. Buckets of keys
// take about as much again for one key in each minute, and each key of the last 24 hours
// about 170 bytes. It expires 72 hours after the last call, or up to a minute earlier.
//
// # Stored answers
//
// The answer to a request with an Idempotency-Key is stored for 24 hours under a key beside
// the hash, `<prefix>{<workspace>}:<digest>`. Reserve takes the key for the request, for 5 s;
// Settle stores the answer in the call that charges for it. So a server that is killed at any
// moment has done both or neither. A request that took longer than 5 s, and was repeated, is
// not charged: the repetition is. An answer takes its size and about 215 bytes (216 for a
// get, 940 for a search of 25 records with a cursor of 300 bytes). Those with records are
// bounded by the ceiling, those without by 2,000 an hour for each workspace; further ones are
// not stored.
//
// Servers of different versions share the hashes during an upgrade: a change of the layout
// must be readable by the version before. A server that does not know keys leaves their
// fields unchanged: it charges nothing to them, and a reservation that lapsed on it counts
// for its key until the key has made none for 60 s.
//
// # Calls
//
// One script, ledger.lua, applies any number of operations (reserve, settle, read). A server
// has one call in flight, in a Cluster one for each workspace. Operations that arrive
// meanwhile are sent together in the next call. Each has its own outcome: a refusal, an
// unusable hash or a caller that gives up does not affect the others. An operation can be
// repeated without effect, so when the reply to a call is lost, each of its callers repeats
// its own.
//
// # Time
//
// The time is that of the Redis server and is stored in the hash, so servers need no
// common clock. It never goes back: while Redis's clock is behind the stored time, the
// window does not move, and open reservations lapse late. It goes forward at most to
// one minute after the calling server's own clock. That clock follows the time since
// the process started (the monotonic clock), and catches up with a system clock that
// was set forward by at most a minute per hour. So when Redis's clock jumps a day
// ahead, a failover leads to a machine with a wrong clock, or the clock of a shared
// machine is set forward, the window moves by a minute and not by a day. When the two
// clocks differ, a warning is logged, and credits leave the window late rather than
// early.
//
// Not covered: processes that start while the clocks of both machines are ahead, and a
// Redis clock more than 48 hours ahead, because then Redis itself expires the hash. If
// the stored time gets far into the future that way, it does not move until then. The
// remedy is to delete the hash.
//
// # Outages of Redis
//
// Each call has a timeout (100 ms by default). After some failures in a row a circuit
// breaker fails calls at once for a second, then lets one call through as a probe. The
// timeout starts when the call is made. Before that an operation waits for earlier calls,
// up to a second, because a burst of our own calls says nothing about Redis. Concurrent
// calls that fail together count as one failure. A Reserve whose reply was lost releases
// what it may have reserved. Errors are fault.Unavailable: metered operations respond
// 503; operations that cost nothing may go on when Check returns it.
//
// Settle tries harder: it ignores the breaker and the cancellation of its context, and
// repeats the call, which is safe because a reservation is settled only once. When it
// fails in the end, the response must be its error, and nothing may be delivered. So
// the ledger is never below the sum of all delivered credits. It is above that sum by
// at most the page of each request whose Settle Redis applied while every reply was
// lost, or whose response did not reach its client. Each failed Settle is logged with
// its amount.
//
// Redis itself can lose data: up to a second of settled credits in a crash, when it
// syncs its log every second, and the replication lag in a failover. Settling a
// reservation that was lost that way fails, so nothing is delivered uncharged, unless
// newer reservations have taken its position in the queue by then.
package credits
