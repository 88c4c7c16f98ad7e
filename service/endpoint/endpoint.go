package endpoint

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"atlas/internal/fault"
	"atlas/internal/input"
	"atlas/internal/rule"
	"atlas/internal/schema"
	"atlas/service/openapi"
)

// Replaying is the endpoint with another handler for repetitions.
func (e Endpoint) Replaying(replay func(c *Call, stored []byte) (Reply, error)) Endpoint {
	e.replay = replay
	return e
}

// NoBody is the endpoint of a route that takes no body.
func NoBody(handle Handler) Endpoint { return Endpoint{Handle: handle} }

// Lists is the endpoint of a route that answers a page of elements under a name, of limit
// elements by default.
func Lists[T any](name string, limit int, elements func(c *Call, m ListMetadata) ([]T, error)) Endpoint {
	return NoBody(func(c *Call) (Reply, error) {
		m, err := c.Page(limit)
		if err != nil {
			return Reply{}, err
		}
		page, err := elements(c, m)
		return List(name, page, m), err
	})
}

// Takes is the endpoint of a route whose body the rule reads.
func Takes[T any](body rule.Rule[T], handle func(c *Call, in T) (Reply, error)) Endpoint {
	return Endpoint{Body: body.Schema, BodyOptional: body.Schema.TakesEmpty(), Handle: func(c *Call) (Reply, error) {
		v, err := c.Body()
		if err != nil {
			return Reply{}, JoinIssues(c.PathIssues, err)
		}
		issues := slices.Clip(c.PathIssues)
		in := body.Read(&issues, v)
		if err := issues.Err(); err != nil {
			return Reply{}, err
		}
		return handle(c, in)
	}}
}

// Stored is an endpoint that stores its body.
func Stored(e Endpoint) Endpoint {
	e.asSent = true
	return e
}

// TakesBatch is the endpoint of a route whose body is { member: [ 1..100 items ] }.
// The rule reads each item.
func TakesBatch[T any](member string, item rule.Rule[T], handle func(c *Call, items []BatchItem[T]) (Reply, error)) Endpoint {
	return TakesBatchWith(member, item, BatchOptions[struct{}]{}, func(c *Call, items []BatchItem[T], _ struct{}) (Reply, error) {
		return handle(c, items)
	})
}

// BatchOptions are members of the body of a batch that apply to all items. The zero
// value has none.
type BatchOptions[O any] struct {
	Properties []schema.Property
	Read       func(issues *input.Issues, r *input.Reader, into *O)
}

// TakesBatchWith is TakesBatch with options.
func TakesBatchWith[T, O any](
	member string, item rule.Rule[T], options BatchOptions[O],
	handle func(c *Call, items []BatchItem[T], o O) (Reply, error),
) Endpoint {
	return Endpoint{
		Body: BatchBody(member, item.Schema, options.Properties...), Item: item.Schema, Items: member,
		Handle: func(c *Call) (Reply, error) {
			var o O
			sent, err := c.BatchItems(member, MaxBatch, func(issues *input.Issues, r *input.Reader) {
				if options.Read != nil {
					options.Read(issues, r, &o)
				}
			})
			if err != nil {
				return Reply{}, JoinIssues(c.PathIssues, err)
			}
			items := make([]BatchItem[T], len(sent))
			for i, each := range sent {
				issues := each.Issues
				items[i] = BatchItem[T]{In: item.Read(&issues, WithoutNulls(each.Value, item.Schema))}
				items[i].Err = issues.Err()
			}
			if len(c.PathIssues) > 0 {
				return Reply{}, JoinIssues(c.PathIssues, itemIssues(member, items))
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
		if isParameter && !slices.ContainsFunc(r.Doc.Params, func(p openapi.Parameter) bool { return p.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// PathID returns a path parameter that is an id. Handlers run only if it is valid.
func (c *Call) PathID(name string) uuid.UUID {
	id, _ := input.ReadUUID(c.Gin.Param(name))
	return id
}

// mistakenHeaders are headers of other services, and their equivalent here. A client that
// sends one expects it to have an effect.
var mistakenHeaders = map[string]string{
	"X-Idempotency-Key": "send " + HeaderIdempotencyKey, "Idempotent-Key": "send " + HeaderIdempotencyKey,
	"Idempotency-Token": "send " + HeaderIdempotencyKey,
	"Workspace-Id":      chosenWorkspace, "X-Workspace-Id": chosenWorkspace, "X-Workspace": chosenWorkspace, "X-Atlas-Workspace": chosenWorkspace,
}

var namesOfMistaken = slices.Sorted(maps.Keys(mistakenHeaders))

const chosenWorkspace = "the workspace is chosen by ?workspace_id="

// CheckPath adds an issue for each path parameter that must be an id and is not, and for
// unknown headers and query parameters.
func (c *Call) CheckPath() {
	for _, name := range namesOfMistaken {
		if header := c.Gin.Request.Header; header[name] != nil &&
			(mistakenHeaders[name] == chosenWorkspace || header[HeaderIdempotencyKey] == nil) {
			c.PathIssues.Add(fault.Custom, []string{name}, "this header means nothing here: %s", mistakenHeaders[name])
		}
	}
	for _, name := range c.Route.pathIDs() {
		if _, ok := input.ReadUUID(c.Gin.Param(name)); !ok {
			c.PathIssues.Add(
				fault.InvalidFormat, []string{name}, "%s",
				c.server.paths.notIDText(c.Gin.Request.Method, c.Gin.Request.URL.Path, c.Gin.Param(name)),
			)
		}
	}
	if len(c.Params) == 0 {
		return
	}
	known := c.Route.queryParams()
	var unknown []string
	for name := range c.Params {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		c.PathIssues.UnrecognizedParams(unknown, known, func(name string) string {
			switch body := c.Route.Body; {
			case body != nil && body.Has(name):
				return "it belongs in the JSON body"
			case slices.Contains(namesOfTokens, strings.ToLower(name)):
				return "a token is sent in the header Authorization: Bearer <token>, never in an address, which logs keep"
			}
			return ""
		})
	}
}

// namesOfTokens are parameters in which other services accept a token.
var namesOfTokens = []string{"api_key", "apikey", "api-key", "key", "token", "access_token", "auth"}
