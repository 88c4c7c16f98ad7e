package endpoint

import (
	"github.com/go-json-experiment/json/jsontext"

	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/service/openapi"
)

// Doc is what the OpenAPI document says about a route in addition to the route table and its
// endpoint.
type Doc struct {
	Tag, Summary string
	// Text follows the summary, in Markdown.
	Text   string
	Params []openapi.Parameter
	// Depends names the stored object that decides which of the body's schemas applies.
	Depends  string
	Examples []Example
	// Data is the schema of the data in a successful answer.
	Data *schema.Schema
	// Metadata is the schema of the metadata. nil means freeMetadata, or
	// BatchMetadataSchema for a batch.
	Metadata *schema.Schema
	// DryRun is the schema of the answer to a dry run; nil if there are none.
	DryRun *schema.Schema
	// Free says which calls of a metered route are free; "" for only dry runs.
	Free string
	// Codes are the route's errors in addition to those that follow from its
	// columns.
	Codes []fault.Code
	// Links are the operations that can use values of the answer.
	Links schema.Map[openapi.Link]
}

// LinkByID is a link to an operation. Its path parameter is at a JSON pointer in
// the answer.
func LinkByID(target, parameter, pointer string) schema.Member[openapi.Link] {
	return schema.Member[openapi.Link]{Name: target, Value: openapi.Link{
		OperationID: target, Parameters: schema.Map[string]{{Name: parameter, Value: "$response.body#" + pointer}}}}
}

// LinkByBody is a link to an operation. A member of its body is at a JSON pointer
// in the answer.
func LinkByBody(target, member, pointer string) schema.Member[openapi.Link] {
	return schema.Member[openapi.Link]{Name: target, Value: openapi.Link{
		OperationID: target, Description: "`" + member + "` of the body is `" + pointer + "` of this answer.",
		Body: schema.Map[string]{{Name: member, Value: "$response.body#" + pointer}}}}
}

// Example is a request body that the document shows.
type Example struct {
	Name, Summary string
	Body          jsontext.Value
}
