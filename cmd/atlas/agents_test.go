package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"atlas/workspace"
	"atlas/workspace/people"
)

// keyed sends requests with a key.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// most is the maximum price of the conversation of docs/agents.md, in credits.
const most = 40

// talk makes the calls of a page in their order, as an agent that cannot ask a user. Blocks
// of the language "tool" are calls, and the blocks after them the results.
func (s *docsService) talk(t *testing.T, page string) (calls, credits int, said string) {
	t.Helper()
	key := s.newKey(people.NewKey{Name: "agent", Workspaces: []workspace.ID{s.pro.ID}, Scopes: workspace.AllScopes()})
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	session := must(client.Connect(
		t.Context(),
		&sdk.StreamableClientTransport{Endpoint: s.root + "/mcp", HTTPClient: &http.Client{Transport: keyed(key)}, DisableStandaloneSSE: true},
		nil,
	))(t)
	defer session.Close() //nolint:errcheck // the test is over
	for _, b := range blocksOf(contents(t, page)) {
		if b.lang != "tool" {
			continue
		}
		calls++
		got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: b.info, Arguments: json.RawMessage(b.text)})
		if err != nil {
			t.Fatalf("%s:%d: %v", page, b.line, err)
		}
		text := got.Content[0].(*sdk.TextContent).Text
		if b.shown != nil && b.shown.lang == "text" { // the result of the tool
			if err := b.compare(text); err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
			}
			continue
		}
		if got.IsError {
			t.Errorf("%s:%d: %s", page, b.line, text)
			continue
		}
		delete(got.StructuredContent.(map[string]any), "notice")
		structured := string(must(json.Marshal(got.StructuredContent))(t))
		said += structured
		if err := b.compare(structured); err != nil {
			t.Errorf("%s:%d: %v", page, b.line, err)
		}
		var cost struct{ Metadata struct{ Credits int } }
		if err := json.Unmarshal([]byte(structured), &cost); err != nil {
			t.Fatal(err)
		}
		credits += cost.Metadata.Credits
	}
	return calls, credits, said
}

// conversation checks the conversation of docs/agents.md: the question of the page must be
// answered by its calls alone.
func (s *docsService) conversation(t *testing.T) {
	const page = "../../docs/agents.md"
	calls, credits, said := s.talk(t, page)
	text := contents(t, page)
	if want := fmt.Sprintf("%d credits together", credits); credits > most || calls < 4 || !strings.Contains(text, want) {
		t.Errorf("%d calls cost %d credits, which %s does not say", calls, credits, page)
	}
	// Each name in the answer is in the results of tools.
	answer := regexp.MustCompile(`(?m)^> (.*)$`).FindAllString(text, -1)
	for _, name := range regexp.MustCompile(`\*\*([^*]+)\*\*`).FindAllStringSubmatch(strings.Join(answer, "\n"), -1) {
		if !strings.Contains(said, name[1]) {
			t.Errorf("no tool said %q", name[1])
		}
	}
}

// An agent with the TypeScript SDK can use /mcp, and `atlas mcp`, with which the service can
// ask clients of an older protocol too. The SDK checks results by their schemas. ATLAS_AGENT
// is set if scripts/clients has installed it.
func TestAgentInTypeScript(t *testing.T) {
	t.Parallel()
	if os.Getenv("ATLAS_AGENT") == "" {
		return // scripts/test reports that it is not checked
	}
	s := start(t, 0)
	const dear = `{"tool":"search_records","arguments":{"dataset":"projects","limit":20}}`
	confirmation := regexp.MustCompile(`"confirm": "([^"]+)"`)
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		a := startAgent(t, "ATLAS_AGENT_URL="+s.root+"/mcp", "ATLAS_API_KEY="+s.key, "ATLAS_AGENT_ASKED=1")
		for _, call := range []string{
			`{"tool":"describe_fields","arguments":{"dataset":"projects"}}`,
			`{"tool":"count_and_facets","arguments":{"dataset":"projects","facets":[{"field":"stage"}]}}`,
			`{"tool":"pivot","arguments":{"dataset":"projects","rows":{"field":"stage"}}}`,
			`{"tool":"read_boards","arguments":{}}`,
			`{"tool":"search_records","arguments":{"dataset":"accounts","limit":2}}`,
			`{"tool":"search_records","arguments":{"dataset":"signals","limit":2}}`,
			`{"tool":"search_book","arguments":{"dataset":"contacts"}}`,
			`{"tool":"changes_since","arguments":{"dataset":"projects"}}`,
			`{"tool":"manage_view","arguments":{"action":"list"}}`,
			`{"tool":"find_skills","arguments":{}}`,
			`{"tool":"match_records","arguments":{"dataset":"accounts","inputs":[{"ref":"1","name":"nobody"}]}}`,
			`{"tool":"credits","arguments":{}}`,
		} {
			if r := a.call(t, call); r.Failed || r.Structured == nil {
				t.Errorf("%s: %s", call, r.Text)
			}
		}
		// A server without sessions cannot ask a client of this protocol.
		r := a.call(t, dear)
		m := confirmation.FindStringSubmatch(r.Text)
		if !r.Failed || m == nil || r.Questions != 0 {
			t.Fatalf("%+v", r)
		}
		if r := a.call(t, strings.Replace(dear, `"limit"`, `"confirm":"`+m[1]+`","limit"`, 1)); r.Failed {
			t.Error(r.Text)
		}
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		env := []string{"ATLAS_AGENT_COMMAND=" + os.Args[0], runAsAtlas + "=1", "ATLAS_URL=" + s.base, "ATLAS_API_KEY=" + s.key}
		if r := startAgent(t, append(env, "ATLAS_AGENT_ASKED=1")...).call(t, dear); r.Failed || r.Questions != 1 {
			t.Errorf("%+v", r)
		}
		if r := startAgent(t, env...).call(t, dear); !r.Failed || !confirmation.MatchString(r.Text) {
			t.Errorf("%+v", r)
		}
	})
}

// scriptedAgent is clients/agent/agent.mjs.
type scriptedAgent struct {
	to   io.Writer
	from *bufio.Reader
}

func startAgent(t *testing.T, env ...string) scriptedAgent {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", "../../clients/agent/agent.mjs")
	command.Env, command.Stderr = append(os.Environ(), env...), os.Stderr
	to := must(command.StdinPipe())(t)
	from := must(command.StdoutPipe())(t)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = to.Close()
		_ = command.Wait()
	})
	a := scriptedAgent{to, bufio.NewReader(from)}
	var first struct{ Tools []string }
	a.read(t, &first)
	if len(first.Tools) != 17 {
		t.Errorf("the tools are %v", first.Tools)
	}
	return a
}

func (a scriptedAgent) read(t *testing.T, into any) {
	t.Helper()
	line := must(a.from.ReadBytes('\n'))(t)
	if err := json.Unmarshal(line, into); err != nil {
		t.Fatal(err)
	}
}

type agentAnswer struct {
	Failed     bool
	Text       string
	Structured json.RawMessage
	Questions  int
}

func (a scriptedAgent) call(t *testing.T, line string) (r agentAnswer) {
	t.Helper()
	if _, err := io.WriteString(a.to, line+"\n"); err != nil {
		t.Fatal(err)
	}
	a.read(t, &r)
	return r
}
