package api

import (
	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/service/endpoint"
	"atlas/service/openapi"
	"atlas/workspace"
	"atlas/workspace/boards"
)

const tagBoards = "Boards"

var boardSchema = schema.Named("Board", schema.Object(
	schema.Required("id", schema.UUID()),
	schema.Required("workspace_id", schema.UUID()),
	schema.Required("name", schema.String("Calgary this quarter")),
	schema.Required("tiles", schema.Array(boards.TileSchema, 0, boards.MaxTiles).Described("In their order on the page.")),
	schema.Required("revision", schema.Count().Example(1)),
	schema.Required("created_by", schema.Nullable(schema.UUID()).Described("Null for an API key and for a deleted user.")),
	schema.Required("updated_by", schema.Nullable(schema.UUID())),
	schema.Required("created_at", schema.Time()),
	schema.Required("updated_at", schema.Time()),
))

var boardDataSchema = schema.Named("BoardData", schema.Object(schema.Required("board", boardSchema)))

type boardHandlers struct{ Boards *boards.Boards }

func (s boardHandlers) routes() []endpoint.Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []endpoint.Route{
		{Method: "GET", Path: "/workspace/boards", Operation: "list_boards",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 256},
			Endpoint: endpoint.Lists("boards", defaultViews, s.listBoards),
			Doc: endpoint.Doc{
				Tag: tagBoards, Summary: "List boards, by name",
				Params: endpoint.PageParams(
					defaultViews,
				), Data: endpoint.ListOf("boards", boardSchema), Metadata: endpoint.ListMetadataSchema,
			}},
		{Method: "GET", Path: "/workspace/boards/:id", Operation: "get_board",
			Scope: read, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.NoBody(s.getBoard),
			Doc: endpoint.Doc{
				Tag: tagBoards, Summary: "Get one board",
				Text: "It has the requests of its tiles, and none of what they find.",
				Data: boardDataSchema, Codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/boards/upsert", Operation: "upsert_board",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 64},
			Endpoint: endpoint.Stored(endpoint.Takes(boards.ChangeRule, s.upsertBoard)),
			Doc: endpoint.Doc{
				Tag: tagBoards, Summary: "Create or change a board",
				Text: "Without `id` it creates, and needs a `name`; with `id` it changes what is given. A board as read can be written. Requests of tiles may have relative dates: a board shows what they mean when it is looked at.",
				Examples: []endpoint.Example{
					{
						Name:    "board",
						Summary: "A board of two tiles",
						Body: []byte(
							`{"name":"Calgary this quarter","tiles":[{"kind":"chart","title":"Cost by stage","dataset":"projects","of":"data","request":{"filters":{"city":{"value":"calgary"}},"facets":[{"field":"stage","measure":{"field":"cost","of":"sum"}}]}},{"kind":"pivot","title":"Use by year","dataset":"projects","of":"data","request":{"rows":{"field":"primary_use"},"columns":{"field":"permitted_at","interval":"year"}}}]}`,
						),
					},
					{
						Name:    "rename",
						Summary: "Another name, if nobody changed it meanwhile",
						Body:    []byte(`{"id":"` + schema.SampleID + `","name":"Calgary","revision":1}`),
					},
				},
				Data: boardDataSchema, Codes: []fault.Code{fault.NotFound, fault.RevisionConflict, fault.LimitReached},
				Links: schema.Map[openapi.Link]{
					endpoint.LinkByID("get_board", "id", "/data/board/id"), endpoint.LinkByID("delete_board", "id", "/data/board/id"),
				},
			}},
		{Method: "DELETE", Path: "/workspace/boards/:id", Operation: "delete_board",
			Scope: write, Budget: endpoint.Budget{Places: endpoint.PlacesRecords, Rows: 0, Heap: 32},
			Endpoint: endpoint.NoBody(s.deleteBoard),
			Doc: endpoint.Doc{
				Tag: tagBoards, Summary: "Delete a board, for everybody",
				Data: deletedSchema, Codes: []fault.Code{fault.NotFound},
			}},
	}
}

type boardData struct {
	Board boards.Board `json:"board"`
}

func (s boardHandlers) listBoards(c *endpoint.Call, m endpoint.ListMetadata) ([]boards.Board, error) {
	return s.Boards.List(c.Context(), c.Workspace(), m.Limit, m.Offset)
}

func (s boardHandlers) getBoard(c *endpoint.Call) (endpoint.Reply, error) {
	b, err := s.Boards.Get(c.Context(), c.Workspace(), boards.ID(c.PathID("id")))
	return endpoint.FreeReply(boardData{b}), err
}

func (s boardHandlers) upsertBoard(c *endpoint.Call, change boards.Change) (endpoint.Reply, error) {
	b, err := s.Boards.Upsert(c.Context(), c.Workspace(), c.Principal.User, change)
	return endpoint.FreeReply(boardData{b}), err
}

func (s boardHandlers) deleteBoard(c *endpoint.Call) (endpoint.Reply, error) {
	return endpoint.FreeReply(deleted{true}), s.Boards.Delete(c.Context(), c.Workspace(), boards.ID(c.PathID("id")))
}
