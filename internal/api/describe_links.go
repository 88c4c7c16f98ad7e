package api

import (
	"atlas/internal/api/openapi"
	"atlas/search/query"
	"atlas/workspace"
)

// linksOf says what can be done next with what an operation answers.
func linksOf(operation string) openapi.Map[openapi.Link] {
	var all openapi.Map[openapi.Link]
	byID := func(target, parameter, pointer string) {
		all = append(all, openapi.Member[openapi.Link]{Name: target, Value: openapi.Link{
			OperationID: target, Parameters: openapi.Map[string]{{Name: parameter, Value: "$response.body#" + pointer}}}})
	}
	byBody := func(target, member, pointer string) {
		all = append(all, openapi.Member[openapi.Link]{Name: target, Value: openapi.Link{
			OperationID: target, RequestBody: openapi.Map[string]{{Name: member, Value: "$response.body#" + pointer}}}})
	}
	for _, d := range catalogOrder {
		if operation == "search_"+string(d) {
			byID("get_"+d.Singular(), "id", "/data/0/id")
		}
	}
	for _, d := range query.Held {
		one := "workspace_" + d.Singular()
		switch operation {
		case "search_" + string(d):
			byBody("upsert_"+one, workspace.IDKey(d), "/data/0/id")
		case "search_workspace_" + string(d):
			byID("get_"+one, "id", "/data/0/id")
		case "upsert_" + one:
			byID("get_"+one, "id", "/data/id")
			byID("delete_"+one, "id", "/data/id")
		}
	}
	switch operation {
	case "upsert_view":
		for _, target := range []string{"get_view", "search_view_records", "delete_view"} {
			byID(target, "id", "/data/view/id")
		}
		byBody("upsert_favorite_view", viewIDKey, "/data/view/id")
	case "upsert_favorite_view":
		byID("delete_favorite_view", "viewId", "/data/view/id")
	case "create_invitation":
		byID("revoke_invitation", "id", "/data/invitation/id")
	case "upsert_signal_subscription":
		byID("delete_signal_subscription", "id", "/data/subscription/id")
	case "create_skill":
		byBody("get_skill", "locator", "/data/skill/locator")
	}
	return all
}
