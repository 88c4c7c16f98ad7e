package api

import (
	"atlas/internal/api/openapi"
	"atlas/internal/fault"
	"atlas/search/query"
)

// viewAnswer is the data about one View.
func viewAnswer() *openapi.Schema {
	return openapi.Object(openapi.Required("view", openapi.Ref("View")))
}

func aboutListViews() about {
	return about{
		tag: tagViews, summary: "List Views, by name",
		params: append([]openapi.Parameter{
			{Name: "id", In: "query", Schema: idIn(), Description: "Only this one; an unknown id lists nothing."},
			{Name: "query", In: "query", Schema: &openapi.Schema{Type: "string", Pattern: anyText, MinLength: 1, MaxLength: maxNamePart}, Description: "A part of the name, case and accents apart.", Example: "tower"},
			{Name: "dataset", In: "query", Schema: openapi.Ref("ViewDataset")},
			{Name: "view_type", In: "query", Schema: openapi.Ref("ViewType")},
			{Name: "favorite_only", In: "query", Schema: openapi.Boolean(), Description: "Only the caller's Favorites."},
		}, pageParams(defaultViews)...),
		data: listOf("views", openapi.Ref("View")), metadata: openapi.Ref("ListMetadata"),
	}
}

func aboutGetView() about {
	return about{
		tag: tagViews, summary: "Get one View",
		data: viewAnswer(), metadata: openapi.Ref("FreeMetadata"), codes: []fault.Code{fault.ViewNotFound},
	}
}

// viewUpsertCodes are what an upsert of a View can fail with beside its shape.
var viewUpsertCodes = []fault.Code{
	fault.ViewNotFound, fault.ViewImmutableField, fault.InvalidViewDefinition, fault.RevisionConflict, fault.ViewNameConflict,
}

func aboutUpsertView() about {
	return about{
		tag: tagViews, summary: "Create or change a View",
		text: "Without `id` it creates; with `id` it changes what is given.",
		body: openapi.Ref("ViewUpsert"),
		examples: []example{
			{"dynamic", "A Dynamic View", []byte(`{"dataset":"project","view_type":"dynamic","name":"Towers in Calgary","definition":{"version":1,"q":"tower","fields":{"city":["Calgary"],"stories":{"min":"10"},"detected":{"after":"2026-01-31"}}}}`)},
			{"static", "A Static View", []byte(`{"dataset":"account","view_type":"static","name":"To visit"}`)},
			{"rename", "Another name, if nobody changed it meanwhile", []byte(`{"id":"` + sampleID + `","name":"To visit in spring","revision":1}`)},
		},
		data: viewAnswer(), metadata: openapi.Ref("FreeMetadata"), codes: viewUpsertCodes,
	}
}

func aboutUpsertViews() about {
	return about{
		tag: tagViews, summary: "Create or change several Views",
		data: resultsData(batchResults(viewIDKey, viewAnswer(), batchCodes(viewUpsertCodes...)...)),
	}.inBatch("inputs", openapi.Ref("ViewUpsert"))
}

func aboutDeleteView() about {
	return about{
		tag: tagViews, summary: "Delete a View, for everybody",
		text: "Its memberships and Favorites go with it.",
		data: deletedData(), metadata: openapi.Ref("FreeMetadata"), codes: []fault.Code{fault.ViewNotFound},
	}
}

func aboutDeleteViews() about {
	return about{
		tag: tagViews, summary: "Delete several Views",
		data: resultsData(batchResults(viewIDKey, nil, batchCodes(fault.ViewNotFound)...)),
	}.inBatch("ids", idIn())
}

// visibleText says which records a View can show.
const visibleText = "Visible are all accounts and projects, and those contacts that a project names, that are in the book, or that are in a Static View of the workspace."

// membersAnswer is the data of a change of a View's records.
func membersAnswer(codes ...fault.Code) *openapi.Schema {
	return openapi.Object(openapi.Required("view_id", idOut()), openapi.Required("results", batchResults(recordIDKey, nil, codes...)))
}

// ofStatic are the errors of changing a View's records.
var ofStatic = []fault.Code{fault.ViewNotFound, fault.ViewTypeMismatch}

func aboutAddViewRecord() about {
	return about{
		tag: tagViews, summary: "Put a record into a Static View",
		text: "Answers 200 with its one result, also when the record is refused. " + visibleText + " Asking to add a contact does not make it visible.",
		body: recordInput(), data: membersAnswer(memberCodes...), metadata: openapi.Ref("BatchMetadata"), codes: ofStatic,
	}
}

func aboutAddViewRecords() about {
	return about{
		tag: tagViews, summary: "Put several records into a Static View", text: visibleText,
		data: membersAnswer(batchCodes(memberCodes...)...), codes: ofStatic,
	}.inBatch("inputs", recordInput())
}

func aboutRemoveViewRecord() about {
	return about{
		tag: tagViews, summary: "Take a record out of a Static View",
		text: "One that is not in it is fine.",
		data: membersAnswer(), metadata: openapi.Ref("BatchMetadata"), codes: ofStatic,
	}
}

func aboutRemoveViewRecords() about {
	return about{
		tag: tagViews, summary: "Take several records out of a Static View",
		data: membersAnswer(batchCodes()...), codes: ofStatic,
	}.inBatch("ids", idIn())
}

func aboutSearchViewRecords() about {
	var bodies, answers []*openapi.Schema
	for _, d := range query.Held {
		bodies = append(bodies, openapi.Ref(requestName(d, query.View)))
		answers = append(answers, openapi.Object(
			openapi.Required("dataset", openapi.Const(d.Singular())),
			openapi.Required("records", openapi.Array(openapi.Ref("View"+titles[d]+"Row"), 0, query.MaxLimit)),
		))
	}
	return about{
		tag: tagViews, summary: "Search the records of a View",
		text:         "The request is one of the View's dataset; its conditions narrow the View for this call. One on a value of the book restricts the result to the book. The presentation's sorting is not used. " + visibleText,
		body:         &openapi.Schema{AnyOf: bodies},
		depends:      "the View's dataset",
		bodyOptional: true,
		examples: []example{
			{"all", "All records", []byte(`{}`)},
			{"accounts", "Of a View of accounts, those of a tier", []byte(`{"filters":{"icp_tier":{"value":"tier_1"}},"sort":{"field":"created_at","order":"desc"}}`)},
			{"projects", "Of a View of projects, the large ones", []byte(`{"filters":{"sqft":{"value":[10000,null]}},"limit":100}`)},
		},
		data: &openapi.Schema{OneOf: answers}, metadata: openapi.Ref("PageMetadata"), codes: []fault.Code{fault.ViewNotFound},
	}
}

func aboutListFavorites() about {
	return about{
		tag: tagFavorites, summary: "List one's Favorites, in their order", params: pageParams(defaultViews),
		data: listOf("views", openapi.Ref("View")), metadata: openapi.Ref("ListMetadata"),
	}
}

func aboutUpsertFavorite() about {
	return about{
		tag: tagFavorites, summary: "Make a View a Favorite, or move it",
		body: favoriteInput(), examples: []example{
			{"first", "At the first place", []byte(`{"view_id":"` + sampleID + `","position":0}`)},
			{"append", "Where it is, or at the end", []byte(`{"view_id":"` + sampleID + `"}`)},
		},
		data: viewAnswer(), metadata: openapi.Ref("FreeMetadata"), codes: []fault.Code{fault.ViewNotFound},
	}
}

func aboutUpsertFavorites() about {
	return about{
		tag: tagFavorites, summary: "Reorder Favorites",
		text: "Of several inputs for one View the last valid one counts; those with positions are placed together, lowest first.",
		data: resultsData(batchResults(viewIDKey, viewAnswer(), batchCodes(fault.ViewNotFound)...)),
	}.inBatch("inputs", favoriteInput())
}

func aboutDeleteFavorite() about {
	return about{
		tag: tagFavorites, summary: "Make a View no Favorite",
		text: "Also fine when it was none. The View itself stays.",
		data: deletedData(), metadata: openapi.Ref("FreeMetadata"),
	}
}

func aboutDeleteFavorites() about {
	return about{
		tag: tagFavorites, summary: "Make several Views no Favorites",
		data: resultsData(batchResults(viewIDKey, nil, batchCodes()...)),
	}.inBatch("ids", idIn())
}
