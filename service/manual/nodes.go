package manual

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// wide is a block around a table that is scrollable where it is too wide.
type wide struct{ ast.BaseBlock }

var kindWide = ast.NewNodeKind("Wide")

// Kind implements ast.Node.
func (*wide) Kind() ast.NodeKind { return kindWide }

// Dump implements ast.Node.
func (n *wide) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// repositoryFile is the attribute of links to files that the manual does not have.
const repositoryFile = "file"

// nodes renders the nodes that differ from goldmark's HTML.
type nodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(kindWide, tag(`<div class="wide" tabindex="0" role="group" aria-label="Table">`, "</div>\n"))
	r.Register(east.KindTableCell, renderCell)
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindLink, renderLink)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(ast.KindCodeBlock, renderCode)
}

func tag(begin, end string) renderer.NodeRendererFunc {
	return func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		text := end
		if entering {
			text = begin
		}
		_, err := w.WriteString(text)
		return ast.WalkContinue, err
	}
}

// renderCell leaves alignment to the style sheet. An empty cell is not a header.
func renderCell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	name := "td"
	if n.Parent().Kind() == east.KindTableHeader && n.HasChildren() {
		name = "th"
	}
	text := "</" + name + ">\n"
	if entering {
		text = "<" + name + ">"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

func escaped(text string) string { return string(util.EscapeHTML([]byte(text))) }

func renderHeading(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Heading)
	id, named := n.AttributeString("id")
	var err error
	switch {
	case entering && named:
		_, err = fmt.Fprintf(w, `<h%d id="%s">`, n.Level, id)
	case entering:
		_, err = fmt.Fprintf(w, `<h%d>`, n.Level)
	case named && n.Level > 1:
		title := (&markdownSource{text: source}).plain(n)
		_, err = fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to “%s”">#</a></h%d>`+"\n", id, escaped(title), n.Level)
	default:
		_, err = fmt.Fprintf(w, "</h%d>\n", n.Level)
	}
	return ast.WalkContinue, err
}

func renderLink(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Link)
	file, outside := n.AttributeString(repositoryFile)
	var err error
	switch {
	case entering && outside:
		_, err = fmt.Fprintf(w, `<span class="file" title="In the repository: %s">`, escaped(string(file.([]byte))))
	case outside:
		_, err = w.WriteString("</span>")
	case entering:
		_, err = fmt.Fprintf(w, `<a href="%s">`, util.EscapeHTML(util.URLEscape(n.Destination, true)))
	default:
		_, err = w.WriteString("</a>")
	}
	return ast.WalkContinue, err
}

func renderCode(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if n, fenced := node.(*ast.FencedCodeBlock); fenced {
		language = string(n.Language(source))
	}
	text := lines(node, source)
	html := code(language, text)
	if language == "mermaid" {
		html = arrows(text)
	}
	_, err := w.WriteString(html)
	return ast.WalkSkipChildren, err
}

// code is a block of code as HTML, in colours if the language is known.
func code(language, text string) string {
	return `<pre tabindex="0"><code>` + coloured(language, text) + "</code></pre>\n"
}

// classes of tokens, by chroma's categories. Others have the colour of text.
var classes = map[chroma.TokenType]string{
	chroma.Keyword: "k", chroma.NameTag: "t", chroma.NameAttribute: "t", chroma.NameBuiltin: "f",
	chroma.NameFunction: "f", chroma.NameVariable: "v",
	chroma.LiteralString: "s", chroma.LiteralNumber: "n", chroma.Comment: "c",
}

// known caches lexers by language: a look-up tries some 300 names.
var known sync.Map

func coloured(language, text string) string {
	if language == "" || language == "text" {
		return escaped(text)
	}
	lexer, found := known.Load(language)
	if !found {
		lexer = languages().Get(language)
		known.Store(language, lexer)
	}
	if lexer == nil {
		return escaped(text)
	}
	tokens, err := chroma.Coalesce(lexer.(chroma.Lexer)).Tokenise(nil, text)
	if err != nil {
		return escaped(text)
	}
	var b strings.Builder
	for token := tokens(); token != chroma.EOF; token = tokens() {
		class := classes[token.Type]
		for _, kind := range []chroma.TokenType{token.Type.SubCategory(), token.Type.Category()} {
			if class == "" {
				class = classes[kind]
			}
		}
		if class == "" {
			b.WriteString(escaped(token.Value))
		} else {
			fmt.Fprintf(&b, `<span class="%s">%s</span>`, class, escaped(token.Value))
		}
	}
	return b.String()
}

var arrow = regexp.MustCompile(`^\s*(\w+)(?:\["([^"]*)"\])? --> (\w+)(?:\["([^"]*)"\])?\s*$`)

// arrows renders a flowchart of Mermaid as a list: what each box leads to.
func arrows(chart string) string {
	names, leads := map[string]string{}, map[string][]string{}
	var order []string
	for line := range strings.Lines(chart) {
		m := arrow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for i := 1; i < len(m); i += 2 {
			if m[i+1] != "" || names[m[i]] == "" {
				names[m[i]] = m[i+1]
			}
			if names[m[i]] == "" {
				names[m[i]] = m[i]
			}
		}
		if leads[m[1]] == nil {
			order = append(order, m[1])
		}
		leads[m[1]] = append(leads[m[1]], m[3])
	}
	var b strings.Builder
	b.WriteString(`<dl class="arrows">`)
	for _, from := range order {
		fmt.Fprintf(&b, "<dt>%s</dt>", escaped(names[from]))
		for _, to := range leads[from] {
			fmt.Fprintf(&b, "<dd>%s</dd>", escaped(names[to]))
		}
	}
	b.WriteString("</dl>\n")
	return b.String()
}
