// Package client calls the Atlas API from Go: typed requests and records,
// iterators over the pages of a search, retries that wait as long as the service
// asks for, and errors that can be distinguished. docs/clients.md has examples,
// docs/api.md is the contract.
//
//	c, err := client.New("https://atlas.example/api/v1", client.WithAPIKey(key))
//	…
//	for project, err := range c.Projects.All(ctx, client.Search{Query: "garage"}) {
//
// It imports only the standard library and shares no code with the service, so it
// sees what any other client sees. It keeps nothing between calls and hides no
// cost. It does not validate requests: the service decides whether a field can be
// filtered by, and names it in an issue.
package client
