package workspace

// Once identifies a request that may be repeated, whose answer is stored (docs/api.md,
// "Idempotency"). The zero value is a request whose answer is not stored.
type Once struct {
	// Key is equal for a request and its repetitions, and different for all others of the
	// workspace: a digest of the caller, the operation and the Idempotency-Key.
	Key [16]byte
	// Request is a digest of the request.
	Request [16]byte
}
