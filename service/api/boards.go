package api

import (
	"atlas/internal/fault"
	"atlas/internal/schema"
	"atlas/service/api/openapi"
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

func (s *Server) boardRoutes() []Route {
	const read, write = workspace.WorkspaceRead, workspace.WorkspaceWrite
	return []Route{
		{Method: "GET", Path: "/workspace/boards", Operation: "list_boards",
			Scope: read, Budget: Budget{placesRecords, 0, 256},
			endpoint: lists("boards", defaultViews, s.listBoards),
			doc: operationDoc{
				tag: tagBoards, summary: "List boards, by name",
				params: pageParams(defaultViews), data: listOf("boards", boardSchema), metadata: listMetadataSchema,
			}},
		{Method: "GET", Path: "/workspace/boards/:id", Operation: "get_board",
			Scope: read, Budget: Budget{placesRecords, 0, 64},
			endpoint: noBody(s.getBoard),
			doc: operationDoc{
				tag: tagBoards, summary: "Get one board",
				text: "It has the requests of its tiles, and none of what they find.",
				data: boardDataSchema, codes: []fault.Code{fault.NotFound},
			}},
		{Method: "POST", Path: "/workspace/boards/upsert", Operation: "upsert_board",
			Scope: write, Budget: Budget{placesRecords, 0, 64},
			endpoint: stored(takes(boards.ChangeRule, s.upsertBoard)),
			doc: operationDoc{
				tag: tagBoards, summary: "Create or change a board",
				text: "Without `id` it creates, and needs a `name`; with `id` it changes what is given. A board as read can be written. Requests of tiles may have relative dates: a board shows what they mean when it is looked at.",
				examples: []example{
					{"board", "A board of two tiles", []byte(`{"name":"Calgary this quarter","tiles":[{"kind":"chart","title":"Cost by stage","dataset":"projects","of":"data","request":{"filters":{"city":{"value":"calgary"}},"facets":[{"field":"stage","measure":{"field":"cost","of":"sum"}}]}},{"kind":"pivot","title":"Use by year","dataset":"projects","of":"data","request":{"rows":{"field":"primary_use"},"columns":{"field":"permitted_at","interval":"year"}}}]}`)},
					{"rename", "Another name, if nobody changed it meanwhile", []byte(`{"id":"` + schema.SampleID + `","name":"Calgary","revision":1}`)},
				},
				data: boardDataSchema, codes: []fault.Code{fault.NotFound, fault.RevisionConflict, fault.LimitReached},
				links: schema.Map[openapi.Link]{
					linkByID("get_board", "id", "/data/board/id"), linkByID("delete_board", "id", "/data/board/id"),
				},
			}},
		{Method: "DELETE", Path: "/workspace/boards/:id", Operation: "delete_board",
			Scope: write, Budget: Budget{placesRecords, 0, 32},
			endpoint: noBody(s.deleteBoard),
			doc: operationDoc{
				tag: tagBoards, summary: "Delete a board, for everybody",
				data: deletedSchema, codes: []fault.Code{fault.NotFound},
			}},
	}
}

type boardData struct {
	Board boards.Board `json:"board"`
}

func (s *Server) listBoards(c *call, m listMetadata) ([]boards.Board, error) {
	return s.Boards.List(c.Context(), c.workspace(), m.Limit, m.Offset)
}

func (s *Server) getBoard(c *call) (reply, error) {
	b, err := s.Boards.Get(c.Context(), c.workspace(), boards.ID(c.pathID("id")))
	return free(boardData{b}), err
}

func (s *Server) upsertBoard(c *call, change boards.Change) (reply, error) {
	b, err := s.Boards.Upsert(c.Context(), c.workspace(), c.principal.User, change)
	return free(boardData{b}), err
}

func (s *Server) deleteBoard(c *call) (reply, error) {
	return free(deleted{true}), s.Boards.Delete(c.Context(), c.workspace(), boards.ID(c.pathID("id")))
}
