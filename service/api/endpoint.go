package api

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/api/openapi"
)

// handler binds, validates, calls one method and returns what to render.
type handler func(c *call) (reply, error)

// endpoint is the body that a route takes, and the handler.
type endpoint struct {
	// body is nil for a route without one.
	body *schema.Schema
	// bodyOptional means that an absent body is valid. It reads as {}.
	bodyOptional bool
	// asSent means that the body is stored: its relative dates stay what they are.
	asSent bool
	// item is the schema of a valid item of a batch, nil if the body is not a
	// batch. items is the member of the body that holds the items.
	item   *schema.Schema
	items  string
	handle handler
	// again answers a repetition from what the call kept; nil: that is the answer.
	again func(c *call, kept []byte) (reply, error)
}

// answering is the endpoint with another answer to repetitions.
func (e endpoint) answering(again func(c *call, kept []byte) (reply, error)) endpoint {
	e.again = again
	return e
}

// noBody is the endpoint of a route that takes no body.
func noBody(handle handler) endpoint { return endpoint{handle: handle} }

// lists is the endpoint of a route that answers a page of elements under a name. The
// page has limit elements by default.
func lists[T any](name string, limit int, elements func(c *call, m listMetadata) ([]T, error)) endpoint {
	return noBody(func(c *call) (reply, error) {
		m, err := c.page(limit)
		if err != nil {
			return reply{}, err
		}
		page, err := elements(c, m)
		return list(name, page, m), err
	})
}

// takes is the endpoint of a route whose body the rule reads.
func takes[T any](body rule.Rule[T], handle func(c *call, in T) (reply, error)) endpoint {
	return endpoint{body: body.Schema, bodyOptional: body.Schema.TakesEmpty(), handle: func(c *call) (reply, error) {
		v, err := c.body()
		if err != nil {
			return reply{}, joinIssues(c.pathIssues, err)
		}
		issues := slices.Clip(c.pathIssues)
		in := body.Read(&issues, v)
		if err := issues.Err(); err != nil {
			return reply{}, err
		}
		return handle(c, in)
	}}
}

// stored is an endpoint that stores its body.
func stored(e endpoint) endpoint {
	e.asSent = true
	return e
}

// takesBatch is the endpoint of a route whose body is { member: [ 1..100 items ] }.
// The rule reads each item.
func takesBatch[T any](member string, item rule.Rule[T], handle func(c *call, items []batchItem[T]) (reply, error)) endpoint {
	return takesBatchWith(member, item, batchOptions[struct{}]{}, func(c *call, items []batchItem[T], _ struct{}) (reply, error) {
		return handle(c, items)
	})
}

// batchOptions are members of the body of a batch that apply to all items. The zero
// value has none.
type batchOptions[O any] struct {
	properties []schema.Property
	read       func(issues *input.Issues, r *input.Reader, into *O)
}

// takesBatchWith is takesBatch with options.
func takesBatchWith[T, O any](
	member string, item rule.Rule[T], options batchOptions[O],
	handle func(c *call, items []batchItem[T], o O) (reply, error),
) endpoint {
	return endpoint{
		body: batchBody(member, item.Schema, options.properties...), item: item.Schema, items: member,
		handle: func(c *call) (reply, error) {
			var o O
			sent, err := c.batchItems(member, maxBatch, func(issues *input.Issues, r *input.Reader) {
				if options.read != nil {
					options.read(issues, r, &o)
				}
			})
			if err != nil {
				return reply{}, joinIssues(c.pathIssues, err)
			}
			items := make([]batchItem[T], len(sent))
			for i, each := range sent {
				issues := each.issues
				items[i] = batchItem[T]{in: item.Read(&issues, withoutNulls(each.value, item.Schema))}
				items[i].err = issues.Err()
			}
			if len(c.pathIssues) > 0 {
				return reply{}, joinIssues(c.pathIssues, itemIssues(member, items))
			}
			return handle(c, items, o)
		},
	}
}

// pathIDs are the path parameters of the route that are ids: those that its
// documentation does not describe itself.
func (r Route) pathIDs() []string {
	var names []string
	for segment := range strings.SplitSeq(r.Path, "/") {
		name, isParameter := strings.CutPrefix(segment, ":")
		if isParameter && !slices.ContainsFunc(r.doc.params, func(p openapi.Parameter) bool { return p.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// pathID returns a path parameter that is an id. Handlers run only if it is valid.
func (c *call) pathID(name string) uuid.UUID {
	id, _ := input.ReadUUID(c.gin.Param(name))
	return id
}

// mistakenHeaders are headers that other services take in place of what is known here, and
// what that is. Who sends one relies on it.
var mistakenHeaders = map[string]string{
	"X-Idempotency-Key": "send " + headerIdempotencyKey, "Idempotent-Key": "send " + headerIdempotencyKey,
	"Idempotency-Token": "send " + headerIdempotencyKey,
	"Workspace-Id":      chosenWorkspace, "X-Workspace-Id": chosenWorkspace, "X-Workspace": chosenWorkspace, "X-Atlas-Workspace": chosenWorkspace,
}

var namesOfMistaken = slices.Sorted(maps.Keys(mistakenHeaders))

const chosenWorkspace = "the workspace is chosen by ?workspace_id="

// checkPath adds an issue for each path parameter that must be an id and is not, and for
// names of headers and query parameters that mean nothing.
func (c *call) checkPath() {
	for _, name := range namesOfMistaken {
		if header := c.gin.Request.Header; header[name] != nil &&
			(mistakenHeaders[name] == chosenWorkspace || header[headerIdempotencyKey] == nil) {
			c.pathIssues.Add(fault.Custom, []string{name}, "this header means nothing here: %s", mistakenHeaders[name])
		}
	}
	for _, name := range c.route.pathIDs() {
		if _, ok := input.ReadUUID(c.gin.Param(name)); !ok {
			c.pathIssues.Add(
				fault.InvalidFormat, []string{name}, "%s",
				c.server.paths.notIDText(c.gin.Request.Method, c.gin.Request.URL.Path, c.gin.Param(name)),
			)
		}
	}
	if len(c.params) == 0 {
		return
	}
	known := c.route.queryParams()
	var unknown []string
	for name := range c.params {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		c.pathIssues.UnrecognizedParams(unknown, known, func(name string) string {
			switch body := c.route.body; {
			case body != nil && body.Has(name):
				return "it belongs in the JSON body"
			case slices.Contains(namesOfTokens, strings.ToLower(name)):
				return "a token is sent in the header Authorization: Bearer <token>, never in an address, which logs keep"
			}
			return ""
		})
	}
}

// namesOfTokens are parameters that other services take a token by.
var namesOfTokens = []string{"api_key", "apikey", "api-key", "key", "token", "access_token", "auth"}

// queryParams are the query parameters of the route.
func (r Route) queryParams() []string {
	known := []string{"workspace_id"}
	for _, p := range r.doc.params {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	return known
}

// joinIssues adds issues before those of err. An error of another kind replaces
// them.
func joinIssues(issues input.Issues, err error) error {
	if err == nil {
		return issues.Err()
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.InvalidInput {
		return err
	}
	return fault.Validation(slices.Concat(issues, e.Issues)...)
}
