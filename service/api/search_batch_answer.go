package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/service/credits"
	"atlas/service/endpoint"
	"atlas/workspace/book"
)

// batchedSearch is a search of a batch and its result.
type batchedSearch struct {
	searching
	err error
	// refused is set if the search was refused for its body alone.
	refused bool
	reply   endpoint.Reply
	rows    []jsontext.Value // with all members
	bytes   int
	// found gives back the tokens of a search that reads e-mail addresses.
	found func()
}

// batchAnswer is the answer of a batch, its cost, and what c.Stored has of it. While no
// search has succeeded, an outage fails the call, as in every batch.
func batchAnswer(c *endpoint.Call, b []*batchedSearch) (r endpoint.Reply, charges []credits.Charge, err error) {
	done := slices.ContainsFunc(b, func(item *batchedSearch) bool { return item.err == nil })
	m := endpoint.BatchMetadata{}
	results := make(searchResults, len(b))
	for i, item := range b {
		if endpoint.IsServerFault(item.err) {
			if !done {
				return endpoint.Reply{}, nil, item.err
			}
			if !c.Unfinished {
				c.Unfinished = true
				c.LogFailure(endpoint.FaultOf(item.err), item.err)
			}
		}
		if item.err != nil {
			m.Failed++
			failure := c.ItemErrorOf(notSearched(item.err))
			results[i].failure = &failure
			continue
		}
		m.Succeeded++
		results[i].reply = item.reply
		if n := int64(len(item.rows)); n > 0 {
			m.Credits += n
			at := slices.IndexFunc(charges, func(c credits.Charge) bool { return c.Operation == item.operation })
			if at < 0 {
				at, charges = len(charges), append(charges, credits.Charge{Operation: item.operation})
			}
			charges[at].Credits += n
		}
	}
	if c.Idempotent() && !c.Unfinished &&
		!slices.ContainsFunc(b, func(item *batchedSearch) bool { return fault.CodeOf(item.err) == fault.TooManyRequests }) {
		c.Stored, err = storedBatch(b, results)
	}
	return endpoint.Reply{Data: results, Metadata: m}, charges, err
}

// notSearched is an outage with the message of a search.
func notSearched(err error) error {
	e, ours := errors.AsType[*fault.Error](err)
	if !ours || e.Code != fault.Unavailable || e.Message == endpoint.TooManyBytes {
		return err
	}
	return fault.New(fault.Unavailable, endpoint.NotSearchedText)
}

// searchResults are the results of a batch, rendered as the single searches are.
type searchResults []struct {
	reply   endpoint.Reply
	failure *endpoint.ItemError
}

// Append appends the data of the batch.
func (all searchResults) Append(b []byte) (_ []byte, err error) {
	b = append(b, `{"results":[`...)
	for i, r := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = strconv.AppendInt(b, int64(i), 10)
		if r.failure != nil {
			failure, err := json.Marshal(r.failure)
			if err != nil {
				return nil, err
			}
			b = append(append(b, `,"status":"`...), r.failure.Code...)
			b = append(append(append(b, `","error":`...), failure...), '}')
			continue
		}
		b = append(b, `,"status":"ok",`...)
		at := len(b)
		if b, err = r.reply.Append(b); err != nil {
			return nil, err
		}
		b = slices.Delete(b, at, at+1) // {"data":…,"metadata":…} without its opening brace
	}
	return append(b, `]}`...), nil
}

// storedSearch is the stored form of a search in a batch. For a search that was refused for its
// body alone it has only the code: the replay has the same body and refuses it again.
type storedSearch struct {
	Metadata jsontext.Value `json:"m,omitzero"`
	Rows     int            `json:"n,omitzero"`
	Code     fault.Code     `json:"c,omitzero"`
	Message  string         `json:"t,omitzero"`
}

// maxStoredBatch is the maximum size of a stored batch in bytes. A repetition of a longer one
// runs again.
const maxStoredBatch = 128 << 10

// storedBatch stores the metadata and ids of each search, as StoredPage; nil if that is too long.
func storedBatch(b []*batchedSearch, results searchResults) ([]byte, error) {
	all := make([]storedSearch, len(b))
	var ids []uuid.UUID
	for i, item := range b {
		all[i].Rows = len(item.rows)
		if failure := results[i].failure; failure != nil {
			if all[i] = (storedSearch{Code: failure.Code}); !item.refused {
				all[i].Message = failure.Message
			}
		}
		if m, is := item.reply.Metadata.(endpoint.PageMetadata); is && item.err == nil {
			own, err := book.RecordIDs(item.rows)
			if err != nil {
				return nil, err
			}
			ids = append(ids, own...)
			if all[i].Metadata, err = json.Marshal(m.Free()); err != nil {
				return nil, err
			}
		}
	}
	stored, err := endpoint.StoredFormOf(all, "", ids)
	if len(stored) > maxStoredBatch {
		return nil, err
	}
	return stored, err
}

// replayedFailure is the error of a search in a replay, nil if it has none.
func replayedFailure(c *endpoint.Call, item *batchedSearch, stored storedSearch) *endpoint.ItemError {
	var failure endpoint.ItemError
	switch {
	case item.err != nil: // it is parsed again, and its View may be deleted
		failure = c.ItemErrorOf(item.err)
	case stored.Code != "":
		failure = c.ItemErrorOf(fault.New(stored.Code, "%s", cmp.Or(stored.Message, "refused as at first")))
	default:
		return nil
	}
	return &failure
}

// replayBatch answers a repetition: each search with its current rows. Each costs a token.
func (s searches) replayBatch(c *endpoint.Call, b []*batchedSearch, stored []byte) (endpoint.Reply, error) {
	return c.Replay(stored, func(ctx context.Context, page endpoint.StoredPage) (endpoint.Reply, error) {
		c.OweTokens(len(b) - 1)
		var all []storedSearch
		if err := json.Unmarshal(page.Metadata, &all); err != nil {
			return endpoint.Reply{}, err
		}
		if len(all) != len(b) {
			return endpoint.Reply{}, fault.New(fault.Internal, "a stored batch has another number of searches")
		}
		ctx, cancel := context.WithTimeout(ctx, batchWithin)
		defer cancel()
		results := make(searchResults, len(b))
		pages := make([]endpoint.StoredPage, len(b))
		for i, one := range all {
			results[i].failure = replayedFailure(c, b[i], one)
			pages[i].Metadata = one.Metadata
			n := min(one.Rows, len(page.IDs))
			pages[i].IDs, page.IDs = page.IDs[:n], page.IDs[n:]
		}
		errs := make([]error, len(b))
		s.Search.Together(ctx, len(b), func(ctx context.Context, i int) {
			switch {
			case results[i].failure != nil:
			case b[i].q.DryRun:
				results[i].reply, errs[i] = s.dryPage(c, ctx, b[i].searching, 1)
			default:
				results[i].reply, errs[i] = s.replayPage(c, ctx, b[i].searching, pages[i])
			}
		})
		m := endpoint.BatchMetadata{}
		for i := range results {
			if errs[i] != nil {
				return endpoint.Reply{}, errs[i]
			}
			if results[i].failure != nil {
				m.Failed++
			} else {
				m.Succeeded++
			}
		}
		return endpoint.Reply{Data: results, Metadata: m}, nil
	})
}
