//go:build attack

package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// rawRequest is a request in the form in which it is sent.
type rawRequest struct {
	operation operation
	method    string
	target    string // path and query, not decoded, without the version
	header    http.Header
	body      []byte
	chunked   bool
	// how describes the mutations.
	how string
}

// generator makes requests: the examples of the document, each mutated in one to three
// ways. The n-th request of a seed is always the same.
type generator struct {
	spec *spec
	seed uint64
	// ids are ids of existing records; random ones would all fail at the look-up.
	ids []string
	// fast leaves out bodies larger than a megabyte.
	fast bool
}

// sample is the id in the document's examples.
const sample = "0192f3a1-7c5e-7d42-9b1a-3f2e8c6d4b10"

func (g *generator) request(n int) rawRequest {
	r := rand.New(rand.NewPCG(g.seed, uint64(n)))
	o := g.spec.operations[r.IntN(len(g.spec.operations))]
	for strings.HasPrefix(o.path, "/health") {
		o = g.spec.operations[r.IntN(len(g.spec.operations))]
	}
	c := rawRequest{operation: o, method: o.method, header: http.Header{}}
	path, query := o.path, url.Values{}
	for _, p := range o.params {
		switch p.in {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.name+"}", g.text(r, p.schema))
		case "query":
			if p.name != "workspace_id" && r.IntN(2) == 0 {
				query.Set(p.name, g.text(r, p.schema))
			}
		}
	}
	c.target = path
	if len(query) > 0 {
		c.target += "?" + query.Encode()
	}
	if o.schema != nil {
		var body any = object{}
		if len(o.examples) > 0 {
			body = o.examples[r.IntN(len(o.examples))]
		}
		if leaves := g.spec.leaves(o); r.IntN(3) == 0 && len(leaves) > 0 {
			l := leaves[r.IntN(len(leaves))]
			body = put(body, l.path, g.ids[r.IntN(len(g.ids))])
		}
		text, err := json.Marshal(body)
		if err != nil {
			panic(err) // it was read from JSON
		}
		c.body = bytes.ReplaceAll(text, []byte(sample), []byte(g.ids[r.IntN(len(g.ids))]))
		c.header.Set("Content-Type", "application/json")
	}
	for range 1 + r.IntN(3) {
		g.mutate(r, &c)
	}
	return c
}

// text returns a text that the schema of a parameter allows.
func (g *generator) text(r *rand.Rand, schema object) string {
	values := asList(schema["enum"])
	switch {
	case len(values) > 0:
		return fmt.Sprint(values[r.IntN(len(values))])
	case schema["format"] == "uuid":
		return g.ids[r.IntN(len(g.ids))]
	case schema["type"] == "integer":
		return fmt.Sprint(r.IntN(100))
	case schema["type"] == "boolean":
		return "true"
	}
	return "name"
}

func (g *generator) mutate(r *rand.Rand, c *rawRequest) {
	kind := r.IntN(10)
	if len(c.body) == 0 {
		kind = 6 + r.IntN(4)
	}
	switch {
	case kind < 4:
		g.mutateValue(r, c)
	case kind < 6:
		g.mutateText(r, c)
	case kind < 8:
		mutateTarget(r, c)
	default:
		mutateHeader(r, c)
	}
}

// mutateValue changes one value in the body's tree.
func (g *generator) mutateValue(r *rand.Rand, c *rawRequest) {
	var body any
	decoder := json.NewDecoder(bytes.NewReader(c.body))
	decoder.UseNumber()
	if decoder.Decode(&body) != nil {
		g.mutateText(r, c)
		return
	}
	names := []string{
		"null", "a boolean", "a number", "a text", "an array", "an object", "repeated", "an unknown key",
		"a key removed", "wrapped",
	}
	kind := r.IntN(len(names))
	c.how += names[kind] + "; "
	changed := changeOne(r, body, func(v any) any {
		switch kind {
		case 0:
			return nil
		case 1:
			return r.IntN(2) == 0
		case 2:
			return json.Number(numbers[r.IntN(len(numbers))])
		case 3:
			return trickyText(r)
		case 4:
			return slices.Repeat([]any{v}, []int{0, 1, 2, 101, 1001}[r.IntN(5)])
		case 5:
			return object{trickyText(r): v, "value": v}
		case 6:
			return []any{v, v, []any{v}}
		case 7:
			if o := maps.Clone(asObject(v)); o != nil {
				o[trickyText(r)] = v
				return o
			}
			return object{"value": v, "x": v}
		case 8:
			if o := maps.Clone(asObject(v)); len(o) > 0 {
				delete(o, slices.Sorted(maps.Keys(o))[r.IntN(len(o))])
				return o
			}
			return nil
		default:
			for range 1 + r.IntN(40) {
				v = []any{v}
			}
			return v
		}
	})
	text, err := json.Marshal(changed)
	if err != nil {
		return // an invalid number: encoding/json refuses to write it
	}
	c.body = text
}

// changeOne applies change to a random value in a tree.
func changeOne(r *rand.Rand, v any, change func(any) any) any {
	switch v := v.(type) {
	case object:
		if len(v) > 0 && r.IntN(6) > 0 {
			name := slices.Sorted(maps.Keys(v))[r.IntN(len(v))]
			o := maps.Clone(v)
			o[name] = changeOne(r, v[name], change)
			return o
		}
	case []any:
		if len(v) > 0 && r.IntN(6) > 0 {
			list := slices.Clone(v)
			i := r.IntN(len(list))
			list[i] = changeOne(r, list[i], change)
			return list
		}
	}
	return change(v)
}

var numbers = []string{
	"0", "-0", "-1", "1.5", "1e400", "-1e400", "1e-400", "9007199254740993", "9223372036854775807",
	"9223372036854775808", "-9223372036854775809",
	"18446744073709551616", "1E308", "2147483648", "1e2", "100.0", "101", "10001", strings.Repeat("9", 400),
	"0." + strings.Repeat("0", 400) + "1",
}

// trickyText returns a text that is likely to break a parser.
func trickyText(r *rand.Rand) string {
	texts := []string{
		"", " ", "\x00", "a\x00b", "\u2028", "\u202e", "\ufeff", "\U0010ffff", "e\u0301\u0301\u0301", "İ", "ß", "ﬁ",
		"\t\n\r", "\x7f", "\x1b[31m", "%00", "%ff", "%", "null", "true", "0", "-1",
		"' OR 1=1 --", `"; DROP TABLE views; --`, `\`, `"`, "{{7*7}}", "${jndi:ldap://127.0.0.1/x}", "../../etc/passwd",
		"*", "*:*", "a* OR b~", "_all", "held.workspace_id", "ix.query", "__proto__",
		"<script>", "0000-00-00", "9999-12-31", "2024-02-30", "2024-01-01T24:00:00Z", "99999-01-01",
		"00000000-0000-0000-0000-000000000000", "{" + sample + "}", strings.ToUpper(sample), sample + " ",
	}
	switch r.IntN(8) {
	case 0:
		return strings.Repeat(texts[r.IntN(len(texts))]+"é", []int{100, 500, 501, 10_001}[r.IntN(4)])
	case 1:
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteRune(rune(r.IntN(0x3000)))
		}
		return b.String()
	}
	return texts[r.IntN(len(texts))]
}

// mutateText changes bytes of the body.
func (g *generator) mutateText(r *rand.Rand, c *rawRequest) {
	b := slices.Clone(c.body)
	at := r.IntN(len(b) + 1)
	insert := func(what string, text ...byte) {
		c.how += what + "; "
		c.body = slices.Concat(b[:at], text, b[at:])
	}
	nested := []int{31, 32, 33, 1_000, 100_000}[r.IntN(5)]
	choice := r.IntN(16)
	switch choice {
	case 0:
		if len(b) > 0 {
			b[at%len(b)] ^= 1 << r.IntN(8)
		}
		c.how, c.body = c.how+"a flipped bit; ", b
	case 1:
		c.how, c.body = c.how+"cut; ", b[:at]
	case 2:
		insert("broken UTF-8", [][]byte{{0xff}, {0xc0, 0x80}, {0xed, 0xa0, 0x80}, {0xf4, 0x90, 0x80, 0x80}, {0x80}, {0xe2, 0x82}}[r.IntN(6)]...)
	case 3:
		insert("a byte", byte(r.IntN(256)))
	case 4:
		insert("an escape", []byte([]string{`\u0000`, `\ud800`, `\udc00\ud800`, `\x41`, `\u12`, `\uFFFF`}[r.IntN(6)])...)
	case 5:
		c.how, c.body = c.how+"more after it; ", append(b, []string{"{}", "null", "]", "}", "\x00", ",", "\n{}"}[r.IntN(7)]...)
	case 6:
		c.how, c.body = c.how+"a byte order mark; ", append([]byte("\xef\xbb\xbf"), b...)
	case 7:
		c.how, c.body = c.how+"nested; ", []byte(strings.Repeat(`{"filters":`, nested)+"1"+strings.Repeat("}", nested))
	case 8:
		c.how, c.body = c.how+"nested arrays; ", []byte(`{"ids":`+strings.Repeat("[", nested)+strings.Repeat("]", r.IntN(nested))+"}")
	case 9:
		if inner := bytes.TrimSpace(b); len(inner) > 2 && inner[0] == '{' && inner[len(inner)-1] == '}' {
			c.how, c.body = c.how+"every key twice; ", slices.Concat(inner[:len(inner)-1], []byte(","), inner[1:])
		}
	case 10:
		c.how, c.body = c.how+"no object; ", []byte(
			[]string{"[]", "null", "1", `"x"`, "true", "", " ", "{", "nul", "'{}'", "{a:1}", "// x\n{}", "NaN", "{,}", "[1,]", "\x00"}[r.IntN(16)],
		)
	case 11:
		many := []int{51, 1_000, 20_000}[r.IntN(3)]
		var keys []string
		for i := range many {
			keys = append(keys, fmt.Sprintf(`"%s%d":%d`, []string{"x", "é", `\u0001`}[r.IntN(3)], i, i))
		}
		c.how, c.body = c.how+"many unknown keys; ", []byte("{"+strings.Join(keys, ",")+"}")
	case 12:
		c.how, c.body = c.how+"a huge array; ", []byte(`{"ids":[`+strings.TrimSuffix(strings.Repeat(`"x",`, 50_000), ",")+`],"inputs":[]}`)
	case 13:
		c.how, c.body = c.how+"a long number; ", []byte(`{"limit":`+strings.Repeat("1", 100_000)+`}`)
	case 14:
		size := []int{1<<20 - 20, 1<<20 + 1, 10 << 20}[r.IntN(3)]
		if g.fast || r.IntN(20) > 0 {
			size = 1 << 16
		}
		c.how, c.body = c.how+"large; ", []byte(`{"query":"`+strings.Repeat("é ", size/3)+`"}`)
	default:
		c.how, c.body = c.how+"padded; ", slices.Concat(bytes.Repeat([]byte(" "), 1+r.IntN(5_000)), b)
	}
}

// mutateTarget changes the encoded path or query string.
func mutateTarget(r *rand.Rand, c *rawRequest) {
	path, query, _ := strings.Cut(c.target, "?")
	parts := []string{
		"%00", "%2f", "%2F..%2f", "%ff", "%", "%zz", "%u0041", "..", ".", "", "%20", "é", "{id}", "%7Bid%7D",
		strings.Repeat("a", 4_000), sample, strings.ToUpper(sample), "urn:uuid:" + sample, "0", "-1", "%25", ";",
		"a;b=c", "*",
	}
	pairs := []string{
		"limit=0", "limit=-1", "limit=101", "limit=1e2", "limit=NaN", "limit=", "limit", "limit=%00", "limit=1&limit=1",
		"limit=99999999999999999999", "limit=+5", "limit=0x10", "limit[]=1", "offset=2147483648",
		"offset=-0", "offset=9223372036854775807", "id=x", "id=" + sample + "&id=" + sample, "workspace_id=",
		"workspace_id=x", "workspace_id=00000000-0000-0000-0000-000000000000", "workspace_id=" + sample, "query=%ff",
		"query=", "query=%00", "query=" + strings.Repeat("x", 501), "dataset=accounts", "favorite_only=1",
		"favorite_only=true", "view_type=", "include=", "include=,", "include=projects,projects", "include=%2A",
		"include=" + strings.Repeat("x,", 2_000), "%zz=1", "a%00b=1", "a=%", ";", "&&&", "=",
		"x=" + strings.Repeat("y", 20_000), strings.Repeat("a=b&", 3_000),
	}
	switch r.IntN(4) {
	case 0:
		segments := strings.Split(path, "/")
		segments[1+r.IntN(len(segments)-1)] = parts[r.IntN(len(parts))]
		path = strings.Join(segments, "/")
		c.how += "a segment; "
	case 1:
		path += []string{"/", "//", "/x", "/..", "%2f", "%00", "?"}[r.IntN(7)]
		c.how += "a longer path; "
	default:
		if query != "" {
			query += "&"
		}
		query += pairs[r.IntN(len(pairs))]
		c.how += "a parameter; "
	}
	c.target = path
	if query != "" {
		c.target += "?" + query
	}
}

// mutateHeader changes or adds a header, or the method.
func mutateHeader(r *rand.Rand, c *rawRequest) {
	pairs := [][2]string{
		{"Content-Type", ""}, {"Content-Type", "text/plain"}, {"Content-Type", "application/json; charset=utf-16"},
		{"Content-Type", "application/json;"}, {"Content-Type", "APPLICATION/JSON; Charset=\"UTF-8\""},
		{"Content-Type", "application/x-www-form-urlencoded"}, {"Content-Type", "multipart/form-data; boundary=x"},
		{"Content-Type", ";;;"}, {"Content-Encoding", "gzip"}, {"Content-Encoding", "identity"},
		{"Accept", "text/html"}, {"Accept", "*/*;q=x"}, {"Accept-Encoding", "gzip;q=0, br"},
		{"Accept-Language", strings.Repeat("x-", 500)}, {"Authorization", "Basic eDp5"}, {"Authorization", "Bearer "},
		{"Authorization", "Bearer a, b"},
		{"X-Request-Id", strings.Repeat("r", 129)}, {"X-Request-Id", "é"}, {"X-Request-Id", "a b"},
		{"Cookie", strings.Repeat("c", 5_000)}, {"Range", "bytes=0-0"}, {"If-None-Match", "*"},
		{"If-Modified-Since", "x"},
		{"X-Http-Method-Override", "DELETE"}, {"Expect", "100-continue"}, {"Expect", "x"},
		{"Traceparent", "00-zz-zz-01"},
		{"Traceparent", "00-" + strings.Repeat("1", 32) + "-" + strings.Repeat("1", 16) + "-ff"},
		{"Baggage", strings.Repeat("a=b,", 500)}, {"Forwarded", "for=127.0.0.1"}, {"X-Forwarded-For", "' OR 1=1"},
		{"Origin", "null"}, {"Upgrade", "h2c"}, {"Te", "trailers"},
	}
	switch r.IntN(6) {
	case 0:
		c.method = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "post", "QUERY", "X"}[r.IntN(11)]
		c.how += "another method; "
	case 1:
		c.chunked = true
		c.how += "chunked; "
	default:
		pair := pairs[r.IntN(len(pairs))]
		c.header.Set(pair[0], pair[1])
		c.how += "the header " + pair[0] + "; "
	}
}
