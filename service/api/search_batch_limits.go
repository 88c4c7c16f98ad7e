package api

import "time"

// Limits of a batch of searches.
const (
	maxBatchSearches = 50
	// batchLimit is the default limit of a search in a batch.
	batchLimit = 20
	// maxBatchRows is the maximum sum of all limits.
	maxBatchRows = 1_000
	// maxBatchBytes is the size after which a batch returns no more records. The record that
	// reaches it is the last one.
	maxBatchBytes = 16 << 20
	// batchWithin is the time limit of all searches together.
	batchWithin = 15 * time.Second
	// maxMergedOffset is the highest offset in a View whose searches are merged.
	maxMergedOffset = 1_000
	// batchesAtOnce is how many batches run at once on a server, batchesOfWorkspace how many of
	// one workspace. Others wait for up to batchWaits.
	batchesAtOnce      = 16
	batchesOfWorkspace = batchesAtOnce / 4
	batchWaits         = time.Second
	// renewEach is how often the lease of a batch's Idempotency-Key is renewed.
	renewEach = 2 * time.Second
)
