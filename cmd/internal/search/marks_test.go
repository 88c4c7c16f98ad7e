package search

import (
	"strings"
	"testing"

	"atlas/client"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	cell := func(text string, fragments ...client.Fragment) marked { return marked{text, fragments} }
	rows := [][]marked{
		{
			cell("1"), cell("Private Garage", client.Fragment{Text: "Private Garage", Marks: [][2]int{{8, 14}}}),
			cell("Café Garage", client.Fragment{Text: "Café Garage", Marks: [][2]int{{0, 4}, {5, 11}}}),
		},
		{
			cell("2"), cell("-"),
			cell(
				"Garage", client.Fragment{Text: "x of a longer text", From: 0, Marks: [][2]int{{0, 1}}},
				client.Fragment{Text: "beyond", From: 90, Marks: [][2]int{{0, 6}}},
			),
		},
	}
	var b strings.Builder
	if err := printMarked(&b, "ID NAME DESCRIPTION", rows); err != nil {
		t.Fatal(err)
	}
	want := "ID  NAME            DESCRIPTION\n1   Private [Garage]  [Café] [Garage]\n2   -               Garage\n"
	if got := strings.NewReplacer(bold, "[", normal, "]").Replace(b.String()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
