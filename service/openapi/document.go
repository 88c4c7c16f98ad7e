package openapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/schema"
)

// Document is a whole document.
type Document struct {
	OpenAPI    string               `json:"openapi"`
	Info       Info                 `json:"info"`
	Servers    []Server             `json:"servers,omitzero"`
	Tags       []Tag                `json:"tags,omitzero"`
	Paths      schema.Map[PathItem] `json:"paths"`
	Components Components           `json:"components"`
}

// Version is the version of OpenAPI that documents are written in.
const Version = "3.1.0"

// Info says what is described.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description,omitzero"`
}

// Server is where paths begin.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitzero"`
}

// Tag is a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
}

// PathItem is the operations of a path by method, in lower case.
type PathItem struct {
	Servers    []Server               `json:"servers,omitzero"`
	Operations schema.Map[*Operation] `json:",inline"`
}

// MarshalJSONTo writes the operations beside the other members.
func (p PathItem) MarshalJSONTo(e *jsontext.Encoder) error {
	var all schema.Map[any]
	if p.Servers != nil {
		all = append(all, schema.Member[any]{Name: "servers", Value: p.Servers})
	}
	for _, o := range p.Operations {
		all = append(all, schema.Member[any]{Name: o.Name, Value: o.Value})
	}
	return all.MarshalJSONTo(e)
}

// Operation is one method of one path.
type Operation struct {
	ID          string                `json:"operationId"`
	Tags        []string              `json:"tags,omitzero"`
	Summary     string                `json:"summary,omitzero"`
	Description string                `json:"description,omitzero"`
	Parameters  []Parameter           `json:"parameters,omitzero"`
	RequestBody *RequestBody          `json:"requestBody,omitzero"`
	Responses   schema.Map[Response]  `json:"responses"`
	Security    []map[string][]string `json:"security"`
	// The extensions of docs/api.md, "The OpenAPI document".
	Scope     string   `json:"x-scope,omitzero"`
	Caller    string   `json:"x-caller,omitzero"`
	Credits   *Credits `json:"x-credits,omitzero"`
	Throttled *bool    `json:"x-throttled,omitzero"`
	Batch     *Batch   `json:"x-batch,omitzero"`
	// Depends names the stored object that decides which of the body's shapes applies.
	Depends string `json:"x-body-depends-on,omitzero"`
}

// Credits is what an operation costs.
type Credits struct {
	Amount int    `json:"amount"`
	Per    string `json:"per"`
}

// Batch is the member of the body with the items, and the schema of an item. Items of
// another shape fail alone.
type Batch struct {
	Member string         `json:"member"`
	Item   *schema.Schema `json:"item"`
}

// Parameter is a path, query or header parameter, or a reference to one.
type Parameter struct {
	Ref         string         `json:"$ref,omitzero"`
	Name        string         `json:"name,omitzero"`
	In          string         `json:"in,omitzero"`
	Description string         `json:"description,omitzero"`
	Required    bool           `json:"required,omitzero"`
	Style       string         `json:"style,omitzero"`
	Explode     *bool          `json:"explode,omitzero"`
	Schema      *schema.Schema `json:"schema,omitzero"`
	Example     any            `json:"example,omitzero"`
}

// ParameterRef refers to a parameter of the components.
func ParameterRef(name string) Parameter { return Parameter{Ref: "#/components/parameters/" + name} }

// RequestBody is what an operation takes.
type RequestBody struct {
	Description string                `json:"description,omitzero"`
	Required    bool                  `json:"required,omitzero"`
	Content     schema.Map[MediaType] `json:"content"`
}

// Response is one answer of an operation, or a reference to one.
type Response struct {
	// Name is the name of the component if several operations have the response. Those
	// without a name are not shared.
	Name        string                `json:"-"`
	Ref         string                `json:"$ref,omitzero"`
	Description string                `json:"description,omitzero"`
	Headers     schema.Map[Header]    `json:"headers,omitempty"`
	Content     schema.Map[MediaType] `json:"content,omitempty"`
	Links       schema.Map[Link]      `json:"links,omitempty"`
}

// Link is a follow-up operation of an answer, and where its parameters or the members of its
// body come from. The latter are an extension: requestBody of the standard allows an
// expression only for a whole body, and generators refuse an object there.
type Link struct {
	OperationID string             `json:"operationId"`
	Description string             `json:"description,omitzero"`
	Parameters  schema.Map[string] `json:"parameters,omitempty"`
	Body        schema.Map[string] `json:"x-request-body,omitempty"`
}

// ResponseRef refers to a response of the components.
func ResponseRef(name string) Response { return Response{Ref: "#/components/responses/" + name} }

// Header is a header of a response, or a reference to one.
type Header struct {
	Ref         string         `json:"$ref,omitzero"`
	Description string         `json:"description,omitzero"`
	Required    bool           `json:"required,omitzero"`
	Schema      *schema.Schema `json:"schema,omitzero"`
}

// HeaderRef refers to a header of the components.
func HeaderRef(name string) Header { return Header{Ref: "#/components/headers/" + name} }

// MediaType is a body of one content type.
type MediaType struct {
	Schema   *schema.Schema      `json:"schema,omitzero"`
	Example  any                 `json:"example,omitzero"`
	Examples schema.Map[Example] `json:"examples,omitempty"`
}

// Example is a named example.
type Example struct {
	Summary string `json:"summary,omitzero"`
	Value   any    `json:"value"`
}

// JSON is a body of JSON.
func JSON(m MediaType) schema.Map[MediaType] {
	return schema.Map[MediaType]{{Name: "application/json", Value: m}}
}

// Components are what the document refers to.
type Components struct {
	Schemas         schema.Map[*schema.Schema] `json:"schemas,omitempty"`
	Responses       schema.Map[Response]       `json:"responses,omitempty"`
	Parameters      schema.Map[Parameter]      `json:"parameters,omitempty"`
	Headers         schema.Map[Header]         `json:"headers,omitempty"`
	SecuritySchemes schema.Map[SecurityScheme] `json:"securitySchemes,omitempty"`
}

// SecurityScheme is a way of authenticating the caller.
type SecurityScheme struct {
	Type         string `json:"type"`
	Scheme       string `json:"scheme,omitzero"`
	BearerFormat string `json:"bearerFormat,omitzero"`
	Description  string `json:"description,omitzero"`
}
