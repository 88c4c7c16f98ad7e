// Command generated makes the calls of TestGeneratedClients with the client that
// oapi-codegen generates.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/google/uuid"

	"generated/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	c, err := client.NewClientWithResponses(
		os.Getenv("ATLAS_BASE"), client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+os.Getenv("ATLAS_TOKEN"))
			return nil
		}),
	)
	if err != nil {
		return err
	}
	filters, err := filters()
	if err != nil {
		return err
	}
	found, err := c.SearchProjectsWithResponse(ctx, nil, client.ProjectSearchRequest{
		Filters: filters,
		Sort:    &client.ProjectSort{Field: client.ProjectSortFieldCost, Order: client.ProjectSortOrderDesc},
	})
	if err != nil {
		return err
	}
	page, err := found.JSON200.AsSearchProjectsResponseBody()
	if err != nil {
		return err
	}
	ids := []string{}
	for _, p := range page.Data {
		ids = append(ids, p.Id.String())
	}
	missing, err := c.GetProjectWithResponse(ctx, uuid.Nil, nil)
	if err != nil {
		return err
	}
	tier := client.Tier1
	var upsert client.WorkspaceAccountUpsert
	if err := upsert.FromWorkspaceAccountUpsertByMatch(client.WorkspaceAccountUpsertByMatch{
		Match: client.AccountMatch{Domain: "one.example"}, IcpTier: &tier,
	}); err != nil {
		return err
	}
	account, err := c.UpsertWorkspaceAccountWithResponse(ctx, nil, upsert)
	if err != nil {
		return err
	}
	var create client.ViewUpsert
	if err := create.FromCreateDynamicProjectView(client.CreateDynamicProjectView{
		Dataset: "project", ViewType: "dynamic", Name: "Go",
		Definition: client.ProjectViewDefinition{
			Version: 1, Fields: client.ProjectViewDefinitionFields{Stage: &[]client.Stage{client.Permitted}},
		},
	}); err != nil {
		return err
	}
	view, err := c.UpsertViewWithResponse(ctx, nil, create)
	if err != nil {
		return err
	}
	rows, err := c.SearchViewRecordsWithResponse(ctx, view.JSON200.Data.View.Id, nil, client.ViewRecordsSearchRequest{})
	if err != nil {
		return err
	}
	answer, err := rows.JSON200.AsSearchViewRecordsResponseBody()
	if err != nil {
		return err
	}
	records, err := answer.Data.AsViewProjectRecords()
	if err != nil {
		return err
	}
	listed := []string{}
	for _, r := range records.Records {
		listed = append(listed, r.Id.String())
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"search_projects": ids, "get_project": missing.JSON404.Error.Code, "upsert_workspace_account": account.JSON200.Data.IcpTier,
		"upsert_view": view.JSON200.Data.View.Definition.Fields.Stage, "search_view_records": listed,
	})
}

// filters are a cost of 10,000 and more, and two stages.
func filters() (*client.ProjectFilters, error) {
	lowest := 10_000.0
	var from client.NumberFilterByValue_Value
	if err := from.FromNumberRange(client.NumberRange{&lowest, nil}); err != nil {
		return nil, err
	}
	var cost client.NumberFilter
	if err := cost.FromNumberFilterByValue(client.NumberFilterByValue{Value: from}); err != nil {
		return nil, err
	}
	var stages client.StageFilterByValue_Value
	if err := stages.FromStageFilterValueMany([]client.Stage{client.Permitted, client.UnderConstruction}); err != nil {
		return nil, err
	}
	var stage client.StageFilter
	if err := stage.FromStageFilterByValue(client.StageFilterByValue{Value: stages}); err != nil {
		return nil, err
	}
	return &client.ProjectFilters{Cost: &cost, Stage: &stage}, nil
}
