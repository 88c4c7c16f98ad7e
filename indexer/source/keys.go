package source

import (
	"fmt"
	"reflect"
	"strings"
)

// Keys is the reference of the language, as tables of Markdown.
func Keys() string {
	var b strings.Builder
	section := func(title string, t reflect.Type) {
		if title != "" {
			fmt.Fprintf(&b, "**%s**\n\n", title)
		}
		b.WriteString("| Key | Meaning |\n|---|---|\n")
		for i := range t.NumField() {
			tag := t.Field(i).Tag
			if tag.Get("key") == "" {
				continue
			}
			doc := tag.Get("doc")
			if enum := tag.Get("enum"); enum != "" {
				doc += " One of `" + strings.ReplaceAll(enum, ",", "`, `") + "`."
			}
			if tag.Get("required") != "" {
				doc = "**required.** " + doc
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", tag.Get("key"), strings.ReplaceAll(doc, "|", "\\|"))
		}
		b.WriteString("\n")
	}
	section("", reflect.TypeFor[Description]())
	section("A value", reflect.TypeFor[Value]())
	section("`read`", reflect.TypeFor[Reading]())
	section("`values`", reflect.TypeFor[Values]())
	section("A rule of `skip`", reflect.TypeFor[Rule]())
	section("`project`", reflect.TypeFor[Project]())
	section("`project.location`", reflect.TypeFor[Location]())
	section("An entry of `firms`", reflect.TypeFor[Firm]())
	section("`changes`", reflect.TypeFor[Changes]())
	section("`pull`", reflect.TypeFor[Pull]())
	return strings.TrimRight(b.String(), "\n") + "\n"
}
