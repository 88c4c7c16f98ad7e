// Package credits counts what each workspace spends in a rolling window of 24
// hours, against its ceiling, in Redis (docs/api.md, "Credits").
//
// It is for the metered operations: they Reserve what they may deliver, run,
// and Settle what they did deliver, before the answer is sent. It is not for
// throttling by rate, for billing periods, or for knowing plans and ceilings:
// the caller brings the ceiling.
//
// # Rules
//
// Used credits are settled credits. A reservation is granted while settled and
// open credits together are below the ceiling, so at most one request passes
// the ceiling, and by less than its own page. A window whose settled use is the
// whole ceiling answers fault.RateLimited; one that only open reservations fill
// is waited for, up to a second, and then answers fault.Unavailable. An open
// reservation lapses, that is, counts no more, 60 s after it was made. One
// settled after that is charged all the same, so only there can a window pass
// its ceiling by more. After 11 minutes a reservation is forgotten and can no
// longer be settled.
//
// # The hash
//
// One hash per workspace, `<prefix>{<workspace>}`; the braces make Redis
// Cluster place it by workspace. Its fields:
//
//	w         time, used, held, oldest bucket, next / lapsed / forgotten place
//	          of the queue, epoch (the first reservation's id)
//	b         operations with their totals: "search_accounts:250 get_contact:3"
//	<minute>  a bucket, minutes since 1970: "1:25 2:1" (position in b : credits)
//	r<id>     an open or lapsed reservation: place, amount, time, operation
//	q<place>  its id, in the order of creation
//
// Credits are charged to the minute their reservation was made in. A bucket
// leaves when the whole of its minute is older than 24 hours, so credits count
// until 24 hours after the reservation, or less than a minute longer. Nothing
// scans: buckets
// are dropped from the oldest on, reservations lapse from the head of the
// queue. A hash holds 1441 buckets at most. With each minute busy it takes
// about 86 kB for one operation and 236 kB for fifteen (MEMORY USAGE on
// Redis 7), plus about 230 bytes per reservation that is open or was never
// settled and is younger than 11 minutes. It expires 72 hours after the last
// reserve or settle.
//
// # Time
//
// The time is that of the Redis server, kept in the hash, so that servers need
// not agree. Backward it never goes: while Redis's clock stands before the
// stored time, the window stands still, and open reservations lapse late.
// Forward it goes only as far as the calling server's own clock vouches for,
// with a minute's tolerance. That clock follows the time that really passed
// since the process started (the monotonic clock) and catches up with a system
// clock set forward by at most a minute an hour. So a Redis clock that jumps a
// day ahead, a failover to a machine whose clock is wrong, or the clock of one
// shared machine set forward, moves the window by a minute and not by a day.
// When the two clocks differ, a warning is logged, and credits leave late
// rather than early.
//
// Not covered: processes started while the clocks of both machines are ahead,
// and a Redis clock more than 48 hours ahead, because Redis itself then expires
// the hash. A stored time that got far into the future that way stands still
// until then; the remedy is to delete the hash.
//
// # When Redis is away
//
// Each call is bounded (100 ms unless configured), and a breaker fails fast for
// a second after a few failures in a row, then lets one call through to probe.
// The time counts from when the call has a connection: a burst of ours queues
// before that, for up to a second, because it says nothing about Redis. Calls
// that ran side by side and failed together count as one failure. A Reserve
// whose answer was lost gives back what it may hold. Errors are
// fault.Unavailable: metered operations answer 503; operations that cost nothing
// may go on when Check answers it.
//
// Settle tries harder: it ignores the breaker and the client's hanging up, and
// repeats itself, which is safe because a reservation is settled once. When it
// fails in the end the request must be answered with its error and nothing
// delivered. So the sum of all delivered credits is never above the ledger. It
// is below it by at most the page of each request whose Settle was applied by
// Redis while every answer to it was lost, or whose answer did not reach its
// client; each failed Settle is logged with its amount.
//
// What Redis itself loses is lost: with its log synced every second, a second
// of settled credits at a crash, and the replication lag at a failover. A
// reservation lost that way fails its Settle, so it is not delivered uncharged,
// unless newer reservations took its place in the queue by then.
package credits
