package mcp

import (
	"context"
	"net/url"
	"strconv"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBoards is how many boards a call lists.
const maxBoards = 50

func readBoards(ctx context.Context, c *call, in arguments) (*sdk.CallToolResult, error) {
	if _, one := c.given["board_id"]; !one {
		return c.shrunk(ctx, maxBoards, "Boards of the workspace. Nothing charged.", func(limit int) request {
			params := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(in.Offset)}}
			return request{method: "GET", path: "/workspace/boards", params: params}
		})
	}
	if !isID(in.BoardID) {
		return wrong("board_id is the id of a board: read_boards without it lists them")
	}
	return c.free(ctx, "The board. Nothing charged.", request{method: "GET", path: "/workspace/boards/" + in.BoardID})
}
