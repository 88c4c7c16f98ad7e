package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// chart is a picture of lines over logarithmic axes, as SVG that reads on a
// light and on a dark page and says in words what it shows.
type chart struct {
	title string
	x, y  string // what the axes are, with units
	lines []line
}

// line is a series. Lines of one kind have one colour and mark.
type line struct {
	name   string
	kind   int
	dotted bool
	points []point
}

// point is a figure: its median, and the lowest and the highest round.
type point struct{ x, y, low, high float64 }

// pointOf is that of a spread.
func pointOf(x float64, s spread) point { return point{x, s.Median, s.Min, s.Max} }

// Sizes of a picture, in its own units.
const (
	chartWidth, chartHeight               = 820.0, 420.0
	plotLeft, plotRight, plotTop, plotEnd = 70.0, 560.0, 50.0, 360.0
)

// theme is a background, text, grid, and the colours of the kinds: told apart by
// people who see few colours too, and each with a contrast of 3 at least.
type theme struct {
	back, text, grid string
	kinds            [9]string
}

var (
	light = theme{"#ffffff", "#1f2328", "#d1d9e0", [9]string{"#0072b2", "#c04a00", "#00785a", "#a3478a", "#8a6d00", "#1f2328", "#2f86c1", "#8250df", "#6e7781"}}
	dark  = theme{"#0d1117", "#e6edf3", "#30363d", [9]string{"#56b4e9", "#ff9a57", "#2fd0a5", "#e59ac8", "#e6c229", "#e6edf3", "#7a9cf5", "#b392f0", "#8b949e"}}
)

func (t theme) css() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".back{fill:%s}text{fill:%s}.grid{stroke:%s}.axis{stroke:%s}", t.back, t.text, t.grid, t.text)
	for i, c := range t.kinds {
		fmt.Fprintf(&b, ".k%d{stroke:%s}.m%d{fill:%s}", i, c, i, c)
	}
	return b.String()
}

// svg draws it. Points that are not above 0 have no place on these axes and are
// left out.
func (c chart) svg() string {
	lines, xs, ys := c.drawable()
	if len(lines) == 0 {
		xs, ys = []float64{1}, []float64{1} // an empty picture
	}
	x := scale{slices.Min(xs), slices.Max(xs), plotLeft + 20, plotRight - 20}
	yTicks := ticks(slices.Min(ys), slices.Max(ys))
	y := scale{yTicks[0], yTicks[len(yTicks)-1], plotEnd, plotTop}

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-labelledby="title desc" font-family="system-ui,sans-serif" font-size="12">`+"\n",
		chartWidth, chartHeight, chartWidth, chartHeight)
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escaped(c.title), escaped(c.words(lines)))
	fmt.Fprintf(&b, "<style>%s.line{fill:none;stroke-width:2}.dotted{stroke-dasharray:2 4}.range{stroke-width:1.5;opacity:.7}@media (prefers-color-scheme:dark){%s}</style>\n", light.css(), dark.css())
	fmt.Fprintf(&b, `<rect class="back" width="%.0f" height="%.0f"/>`+"\n", chartWidth, chartHeight)
	text := func(x, y float64, anchor, more, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, more, escaped(s))
	}
	text(16, 26, "start", ` font-size="15" font-weight="600"`, c.title)
	for _, t := range yTicks {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fH%.1f"/>`+"\n", plotLeft, y.at(t), plotRight)
		text(plotLeft-8, y.at(t)+4, "end", "", figure(t))
	}
	for _, t := range xs {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fV%.1f"/>`+"\n", x.at(t), plotTop, plotEnd)
		text(x.at(t), plotEnd+18, "middle", "", figure(t))
	}
	fmt.Fprintf(&b, `<path class="axis" fill="none" d="M%.1f %.1fV%.1fH%.1f"/>`+"\n", plotLeft, plotTop, plotEnd, plotRight)
	text((plotLeft+plotRight)/2, plotEnd+42, "middle", "", c.x)
	middle := (plotTop + plotEnd) / 2
	text(18, middle, "middle", fmt.Sprintf(` transform="rotate(-90 18 %.1f)"`, middle), c.y)
	for i, l := range lines {
		l.draw(&b, x, y)
		at := plotTop + 10 + 22*float64(i)
		fmt.Fprintf(&b, `<path class="line %s" d="M%.1f %.1fh30"/>`+"\n", l.class(), plotRight+20, at)
		l.mark(&b, plotRight+35, at)
		text(plotRight+58, at+4, "start", "", l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (l line) class() string {
	if l.dotted {
		return fmt.Sprintf("k%d dotted", l.kind)
	}
	return fmt.Sprintf("k%d", l.kind)
}

func (l line) draw(b *strings.Builder, x, y scale) {
	var path strings.Builder
	for i, p := range l.points {
		fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x.at(p.x), y.at(p.y))
	}
	fmt.Fprintf(b, `<path class="line %s" d="%s"/>`+"\n", l.class(), path.String())
	for _, p := range l.points {
		if p.low > 0 && p.high > p.low {
			fmt.Fprintf(b, `<path class="range k%d" d="M%.1f %.1fV%.1f"/>`+"\n", l.kind, x.at(p.x), y.at(p.low), y.at(p.high))
		}
		l.mark(b, x.at(p.x), y.at(p.y))
	}
}

// marks are drawn around 0,0; kinds have them in turn.
var marks = []string{
	"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", // circle
	"M-3.5 -3.5h7v7h-7z",                  // square
	"M0 -5l4.5 8h-9z",                     // triangle
	"M0 -5l4.5 5l-4.5 5l-4.5 -5z",         // diamond
	"M0 5l4.5 -8h-9z",                     // triangle on its point
}

func (l line) mark(b *strings.Builder, x, y float64) {
	fmt.Fprintf(b, `<path class="m%d" transform="translate(%.1f %.1f)" d="%s"/>`+"\n", l.kind, x, y, marks[l.kind%len(marks)])
}

// drawable are the lines without the points that have no place, all x that are
// left, ascending, and all y that are to be seen.
func (c chart) drawable() (lines []line, xs, ys []float64) {
	for _, l := range c.lines {
		var kept []point
		for _, p := range l.points {
			if !(p.x > 0 && p.y > 0) || math.IsInf(p.x*p.y, 0) { // also what is not a number
				continue
			}
			kept, xs, ys = append(kept, p), append(xs, p.x), append(ys, p.y)
			for _, end := range []float64{p.low, p.high} {
				if end > 0 {
					ys = append(ys, end)
				}
			}
		}
		if len(kept) > 0 {
			l.points = kept
			lines = append(lines, l)
		}
	}
	slices.Sort(xs)
	return lines, slices.Compact(xs), ys
}

// words tell what there is to see.
func (c chart) words(lines []line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Lines over logarithmic axes: %s, by %s.", c.y, c.x)
	for _, l := range lines {
		fmt.Fprintf(&b, " %s: ", l.name)
		for i, p := range l.points {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s at %s", figure(p.y), figure(p.x))
		}
		b.WriteString(".")
	}
	return b.String()
}

// scale is a logarithmic axis: values from least to most, places from begin to
// end.
type scale struct{ least, most, begin, end float64 }

func (s scale) at(v float64) float64 {
	if s.least == s.most {
		return (s.begin + s.end) / 2
	}
	return s.begin + (s.end-s.begin)*math.Log(v/s.least)/math.Log(s.most/s.least)
}

// mostTicks is how many an axis has room for.
const mostTicks = 10

// ticks are round values around these: 1, 2 and 5 of each power of ten, or where
// that is too many the powers alone. There are always two at least.
func ticks(least, most float64) []float64 {
	if list := ticksOf([]float64{1, 2, 5}, least, most); len(list) <= mostTicks {
		return list
	}
	return ticksOf([]float64{1}, least, most)
}

// ticksOf are these steps of each power of ten, from the last one that is not
// above least to the first after it that is not below most.
func ticksOf(steps []float64, least, most float64) (list []float64) {
	for power := math.Floor(math.Log10(least)); ; power++ {
		for _, step := range steps {
			t := roundTo(step*math.Pow(10, power), 6) // without the noise of the product
			if t <= least {
				list = nil
			}
			if list = append(list, t); t >= most && len(list) > 1 {
				return list
			}
		}
	}
}

// figure writes a value with three digits that count, thousands apart.
func figure(v float64) string {
	if v < 1000 {
		return strconv.FormatFloat(roundTo(v, 3), 'f', -1, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// roundTo keeps so many digits.
func roundTo(v float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		panic(err) // it was just written
	}
	return r
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}
