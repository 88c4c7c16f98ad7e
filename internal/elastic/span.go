package elastic

import (
	"context"
	"net/http"

	"github.com/elastic/go-elasticsearch/v8/esapi"
)

// span starts the span of a call, named by its operation; end ends it. It contains
// neither the query nor documents.
func (c *Client) span(ctx context.Context, r esapi.Request) (_ context.Context, end func(*http.Request, error)) {
	if c.spans == nil {
		return ctx, func(*http.Request, error) {}
	}
	name := operation(r)
	ctx = c.spans.Start(ctx, "elasticsearch "+name)
	return ctx, func(sent *http.Request, err error) {
		if sent != nil {
			c.spans.AfterRequest(sent, "elasticsearch", name)
		}
		if err != nil {
			c.spans.RecordError(ctx, err)
		}
		c.spans.Close(ctx)
	}
}
