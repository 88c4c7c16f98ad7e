package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// resource is a kind of resource: those at addresses with a prefix.
type resource struct {
	template sdk.ResourceTemplate
	prefix   string
	scope    string
	// request is the request of the API for an address without the prefix.
	request func(rest string) (request, bool)
}

var resources = []resource{
	{
		sdk.ResourceTemplate{
			Name: "fields", Title: "Fields", URITemplate: "atlas://fields/{dataset}",
			Description: "What the records of a dataset can be filtered by, as describe_fields has it without keys: that goes on at metadata.next_offset. Free.",
		},
		"atlas://fields/", dataRead, func(rest string) (request, bool) {
			return request{method: "POST", path: "/data/fields/search", body: object{"dataset": rest}}, slices.Contains(datasets, rest)
		},
	},
	{
		sdk.ResourceTemplate{
			Name: "record", Title: "Record", URITemplate: "atlas://records/{dataset}/{id}",
			Description: "A record of accounts, contacts, projects or signals. Reading it costs 1 credit.",
		},
		"atlas://records/", dataRead, func(rest string) (request, bool) {
			dataset, id, _ := strings.Cut(rest, "/")
			return request{method: "GET", path: "/data/" + dataset + "/" + id}, slices.Contains(datasets, dataset) && isID(id)
		},
	},
	{
		sdk.ResourceTemplate{
			Name: "view", Title: "View", URITemplate: "atlas://views/{id}",
			Description: "A View of the workspace: its definition. Free.",
		},
		"atlas://views/", workspaceRead, func(rest string) (request, bool) {
			return request{method: "GET", path: "/workspace/views/" + rest}, isID(rest)
		},
	},
	{
		sdk.ResourceTemplate{
			Name: "skill", Title: "Skill", URITemplate: "atlas://skills/{+locator}",
			Description: "A Skill of the workspace, by its locator, with its content. Free.",
		},
		"atlas://skills/", workspaceRead, func(rest string) (request, bool) {
			return request{method: "POST", path: "/workspace/skills/get", body: object{"locator": rest}}, true
		},
	},
}

const jsonType = "application/json"

// addResources adds the resources that a caller may read.
func (s *Server) addResources(server *sdk.Server, caller Caller) {
	for _, kind := range resources {
		if !caller.has(kind.scope) {
			continue
		}
		read := func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return s.read(ctx, kind, r)
		}
		template := kind.template
		template.MIMEType = jsonType
		server.AddResourceTemplate(&template, read)
		if kind.template.Name != "fields" {
			continue
		}
		for _, d := range datasets {
			server.AddResource(
				&sdk.Resource{
					Name: "fields-" + d, Title: "Fields of " + d, URI: kind.prefix + d, MIMEType: jsonType,
					Description: kind.template.Description,
				},
				read,
			)
		}
	}
}

func (s *Server) read(ctx context.Context, kind resource, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	rest, err := url.PathUnescape(strings.TrimPrefix(uri, kind.prefix))
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	to, known := kind.request(rest)
	if !known {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	caller, err := callerOf(r.Extra).keyed(r.Params.Meta)
	if err != nil {
		return nil, err
	}
	if !caller.has(kind.scope) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	to.key = caller.Key
	a, err := s.send(ctx, caller, to)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound:
		return nil, sdk.ResourceNotFoundError(uri)
	case a.status != http.StatusOK:
		return nil, errors.New(s.problem(a))
	}
	if kind.template.Name == "fields" {
		short, err := s.described(a.body, false, 0)
		if err != nil {
			return nil, err
		}
		if a.body, err = encode(short); err != nil {
			return nil, err
		}
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(noticed(a.body))}}}, nil
}

// promptPage is how many prompts a page lists.
const promptPage = 100

// prompts answers requests about prompts, which are the published Skills and the caller's
// personal ones.
func (s *Server) prompts(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		switch r := r.(type) {
		case *sdk.ListPromptsRequest:
			return s.listPrompts(ctx, r)
		case *sdk.GetPromptRequest:
			return s.getPrompt(ctx, r)
		}
		return next(ctx, method, r)
	}
}

func (s *Server) listPrompts(ctx context.Context, r *sdk.ListPromptsRequest) (*sdk.ListPromptsResult, error) {
	offset := 0
	if r.Params != nil && r.Params.Cursor != "" {
		var err error
		if offset, err = strconv.Atoi(r.Params.Cursor); err != nil || offset < 0 {
			return nil, errors.New("the cursor is not one of this list")
		}
	}
	a, err := s.send(ctx, callerOf(r.Extra), request{
		method: "POST", path: "/workspace/skills/find", body: object{"limit": promptPage, "offset": offset},
	})
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, errors.New(s.problem(a))
	}
	var got struct {
		Data struct {
			Skills []struct{ Locator, Name, Description string }
		}
	}
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	list := &sdk.ListPromptsResult{Prompts: []*sdk.Prompt{}}
	list.CacheScope = "private"
	for _, k := range got.Data.Skills {
		list.Prompts = append(list.Prompts, &sdk.Prompt{Name: k.Locator, Title: oneLine(k.Name), Description: oneLine(k.Description)})
	}
	if len(list.Prompts) == promptPage {
		list.NextCursor = strconv.Itoa(offset + promptPage)
	}
	return list, nil
}

func (s *Server) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	a, err := s.send(ctx, callerOf(r.Extra), request{method: "POST", path: "/workspace/skills/get", body: object{"locator": r.Params.Name}})
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, errors.New(s.problem(a))
	}
	var got skill
	if err := json.Unmarshal(a.body, &got); err != nil {
		return nil, err
	}
	content, description := fmt.Sprint(got.Data.Skill["content"]), fmt.Sprint(got.Data.Skill["description"])
	return &sdk.GetPromptResult{Description: oneLine(description), Messages: []*sdk.PromptMessage{{
		Role: "user", Content: &sdk.TextContent{Text: content},
	}}}, nil
}
