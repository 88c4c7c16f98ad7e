package endpoint

import (
	"context"
	"strconv"

	"atlas/internal/schema"
)

// handleOnce is handle, or the stored answer of the earlier request that this one repeats.
func (c *Call) handleOnce() (r Reply, err error) {
	if !c.Idempotent() || !c.Route.changes() {
		return c.handle()
	}
	stored, replayed, err := c.onceFor(0, func() ([]byte, error) {
		if r, err = c.handle(); err != nil || c.Unfinished {
			return nil, err
		}
		return c.storedForm(r)
	})
	if err != nil || !replayed {
		return r, err
	}
	if c.Route.Throttling == Limited {
		if err := c.TakeToken(); err != nil {
			return Reply{}, err
		}
	}
	c.Gin.Header(headerReplayed, strconv.FormatBool(true))
	if c.Route.replay != nil {
		return c.Route.replay(c, stored)
	}
	return Reply{Data: rendered(stored)}, nil
}

// handle runs the route's handler, after the credit check of a free route. If the route takes
// a body, the handler reports the issues of the path together with those of the body.
func (c *Call) handle() (Reply, error) {
	switch c.Route.Throttling {
	case Free, Limited:
		err := c.checkCeiling()
		if err == nil && c.Route.Throttling == Limited {
			err = c.TakeToken()
		}
		if err != nil {
			return Reply{}, err
		}
	}
	if c.Route.Body == nil {
		if err := JoinIssues(c.PathIssues, c.BodyErr); err != nil {
			return Reply{}, err
		}
	}
	return c.Route.Handle(c)
}

// onceFor runs do with a context that makes its changes part of the request.
func (c *Call) onceFor(part int, do func() ([]byte, error)) (stored []byte, replayed bool, err error) {
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
