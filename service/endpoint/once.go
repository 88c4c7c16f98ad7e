package endpoint

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/workspace"
)

// Answers stores the answers of requests that change something. *postgres.Store implements
// it.
type Answers interface {
	// Once runs do in one transaction that also stores its answer, unless the answer is nil. For
	// a repetition it returns the stored answer, and true for again. part is 0, or the place of
	// an item of a batch, from 1.
	Once(
		ctx context.Context, in workspace.ID, o workspace.Once, part int, do func(context.Context) ([]byte, error),
	) (answer []byte, again bool, err error)
}

// handleOnce is handle, or the stored answer of the earlier request that this one repeats.
func (c *Call) handleOnce() (r Reply, err error) {
	if !c.Keeping() || !c.Route.changes() {
		return c.handle()
	}
	kept, again, err := c.onceFor(0, func() ([]byte, error) {
		if r, err = c.handle(); err != nil || c.Unfinished {
			return nil, err
		}
		return c.storedForm(r)
	})
	if err != nil || !again {
		return r, err
	}
	if c.Route.Throttling == Limited {
		if err := c.TakeToken(); err != nil {
			return Reply{}, err
		}
	}
	c.Gin.Header(headerReplayed, strconv.FormatBool(true))
	if c.Route.again != nil {
		return c.Route.again(c, kept)
	}
	return Reply{Data: rendered(kept)}, nil
}

// onceFor runs do with a context that makes its changes part of the request.
func (c *Call) onceFor(part int, do func() ([]byte, error)) (kept []byte, again bool, err error) {
	request := c.Gin.Request
	defer func() { c.Gin.Request = request }()
	return c.server.Answers.Once(c.Context(), c.Workspace(), c.Once, part, func(ctx context.Context) ([]byte, error) {
		c.Gin.Request = request.WithContext(ctx)
		return do()
	})
}

// secretive is data with a secret, which is never stored.
type secretive interface {
	// WithoutSecrets returns the same data without secrets, and the names of the removed ones.
	WithoutSecrets() (data any, names []string)
}

// withheldMetadata is the metadata of a replayed answer whose secrets were not stored.
type withheldMetadata struct {
	Credits  int64    `json:"credits"`
	Withheld []string `json:"withheld,omitzero"`
}

var secretMetadataSchema = schema.Named("SecretMetadata", schema.Object(
	schema.Required("credits", schema.Always(0)),
	schema.Optional("withheld", schema.Array(schema.String("secret"), 0, 0).
		Described("Only of a repetition: the members that the first answer had and this one does not, because secrets are not stored.")),
))

// storedForm is the stored form of an answer.
func (c *Call) storedForm(r Reply) ([]byte, error) {
	if c.Stored != nil {
		return c.Stored, nil
	}
	if s, is := r.Data.(secretive); is {
		data, names := s.WithoutSecrets()
		r = Reply{Data: data, Metadata: withheldMetadata{Withheld: names}}
	}
	return r.Append(nil)
}

// storedItem is the stored form of a completed item, until the batch is complete.
type storedItem struct {
	ID   string         `json:"id"`
	Data jsontext.Value `json:"data,omitzero"`
}

// itemOnce runs do for an item of a batch, or returns what it did for an earlier request.
func (c *Call) itemOnce(i int, do func(i int) BatchResult) (r BatchResult, err error) {
	if !c.Keeping() {
		return do(i), nil
	}
	kept, again, err := c.onceFor(i+1, func() ([]byte, error) {
		if r = do(i); r.Err != nil {
			return nil, r.Err
		}
		item := storedItem{ID: r.ID}
		if r.Data != nil {
			data, err := json.Marshal(r.Data, json.Deterministic(true))
			if err != nil {
				return nil, err
			}
			item.Data = data
		}
		return json.Marshal(item)
	})
	switch code := fault.CodeOf(err); {
	case code == fault.IdempotencyConflict || code == fault.IdempotencyInProgress:
		return r, err
	case err != nil:
		return BatchResult{ID: r.ID, Err: err}, nil
	case !again:
		return r, nil
	}
	var item storedItem
	if err := json.Unmarshal(kept, &item); err != nil {
		return r, err
	}
	r = BatchResult{ID: item.ID}
	if item.Data != nil {
		r.Data = item.Data
	}
	return r, nil
}
