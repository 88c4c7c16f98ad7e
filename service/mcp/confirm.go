package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// confirmedFor is how long a confirmation can be given.
const confirmedFor = 10 * time.Minute

// asked is the name of the question in a result, and of the member of the answer.
const asked = "confirm"

// formsSince is the first version of the protocol in which a result can ask a question: a
// server without sessions cannot send requests of its own.
const formsSince = "2026-07-28"

// agreement is a user's consent to one call, with all its arguments, up to a number of
// credits. It passes through the client, signed, so any server can check it.
type agreement struct {
	Caller    string `json:"c"`
	Workspace string `json:"w"`
	Tool      string `json:"t"`
	// Arguments is the SHA-256 of the arguments.
	Arguments []byte `json:"a"`
	Credits   int    `json:"n,omitempty"`
	// Expires is in seconds since 1970.
	Expires int64 `json:"e"`
	// Key is the Idempotency-Key of the request: it is done and charged once.
	Key string `json:"k"`
}

// sign returns the agreement as a text that open reads.
func (s *Server) sign(a agreement) string {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts and numbers can be marshalled
	}
	return base64.RawURLEncoding.EncodeToString(append(s.signature(b), b...))
}

func (s *Server) signature(b []byte) []byte {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte("\x00mcp agreement\x00"))
	mac.Write(b)
	return mac.Sum(nil)
}

var (
	errForged  = errors.New("the confirmation is not one of this service, or not for this caller, tool and arguments")
	errExpired = fmt.Errorf("the confirmation is older than %v", confirmedFor)
)

// open reads an agreement that was signed for the call.
func (c *call) open(text string) (a agreement, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < sha256.Size || strings.ContainsAny(text, "\r\n") ||
		!hmac.Equal(b[:sha256.Size], c.server.signature(b[sha256.Size:])) {
		return agreement{}, errForged
	}
	if json.Unmarshal(b[sha256.Size:], &a) != nil || a.Caller != c.caller.ID || a.Workspace != c.caller.Workspace ||
		a.Tool != c.tool.name || !hmac.Equal(a.Arguments, c.digest) {
		return agreement{}, errForged
	}
	if c.server.now().Unix() >= a.Expires {
		return agreement{}, errExpired
	}
	return a, nil
}

// digest is the SHA-256 of normalized arguments without the confirmation.
func digest(arguments map[string]json.RawMessage) ([]byte, error) {
	rest := map[string]json.RawMessage{}
	for name, value := range arguments {
		if name != asked {
			rest[name] = value
		}
	}
	b, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(v)
	return sum[:], nil
}

// agreed returns the user's consent, nil if they have not been asked yet. If they declined or
// the consent is for another call, it returns a result that says so.
func (c *call) agreed() (*agreement, *sdk.CallToolResult) {
	text := c.confirmation
	if p := c.request.Params; p.RequestState != "" || p.InputResponses != nil {
		text = p.RequestState
		said, _ := p.InputResponses[asked].(*sdk.ElicitResult)
		if said == nil || said.Action != "accept" || said.Content[asked] != true {
			return nil, failed("The user did not agree. Nothing was charged or changed. Do not call again unless they ask for it.")
		}
	}
	if text == "" {
		return nil, nil
	}
	a, err := c.open(text)
	if err != nil {
		return nil, failed(fmt.Sprintf("Refused: %v. Nothing was charged or changed. Call without it to be asked again.", err))
	}
	return &a, nil
}

// ask is a result that asks the user whether to go on. what is a sentence of the server that
// quotes no record. For a client that cannot ask, the result says what to do.
func (c *call) ask(what string, credits int, otherwise string) *sdk.CallToolResult {
	state := c.server.sign(agreement{
		Caller: c.caller.ID, Workspace: c.caller.Workspace, Tool: c.tool.name, Arguments: c.digest,
		Credits: credits, Expires: c.server.now().Add(confirmedFor).Unix(), Key: rand.Text(),
	})
	if !c.canAsk() {
		return failed(fmt.Sprintf(
			"Not done yet: %s Nothing was charged or changed.\nWhat to do: ask the user. If they agree, call again within %d minutes with the same arguments and %q: %q. %s",
			what, int(confirmedFor.Minutes()), asked, state, otherwise,
		))
	}
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{asked: &sdk.ElicitParams{
			Mode: "form", Message: what + " Go on?",
			RequestedSchema: object{"type": "object", "required": []string{asked}, "properties": object{
				asked: object{"type": "boolean", "title": "Go on", "description": what},
			}},
		}},
		RequestState: state,
	}
}

// canAsk reports whether the client can ask its user.
func (c *call) canAsk() bool {
	capabilities := c.request.ClientCapabilities()
	if capabilities == nil || capabilities.Elicitation == nil || c.request.ProtocolVersion() < formsSince {
		return false
	}
	return capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil
}
