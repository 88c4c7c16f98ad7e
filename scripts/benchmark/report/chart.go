package report

import (
	"math"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a picture of lines over logarithmic axes.
type Chart struct {
	Title string
	X, Y  string // labels of the axes, with units
	Lines []Line
}

// Line is a series of medians; the range over the rounds is drawn as a bar.
// Lines of one kind share a colour and a mark.
type Line struct {
	Name   string
	Kind   int
	Dotted bool
	X      []float64
	Y      []Spread
}

// points returns the points that have a place on logarithmic axes.
func (l Line) points() (all medians) {
	for i, x := range l.X {
		if x > 0 && l.Y[i].Median > 0 {
			all.x, all.y = append(all.x, x), append(all.y, l.Y[i])
		}
	}
	return all
}

// medians implements plotter.XYer and plotter.YErrorer.
type medians struct {
	x []float64
	y []Spread
}

func (m medians) Len() int                { return len(m.x) }
func (m medians) XY(i int) (x, y float64) { return m.x[i], m.y[i].Median }
func (m medians) YError(i int) (low, high float64) {
	if m.y[i].Min <= 0 {
		return 0, m.y[i].Max - m.y[i].Median
	}
	return m.y[i].Median - m.y[i].Min, m.y[i].Max - m.y[i].Median
}

// Sizes of a picture in points. The legend stands to the right of the axes.
const (
	width, height vg.Length = 615, 315
	legendWidth   vg.Length = 190
)

// WriteSVG draws the chart into a file. A line without a point is left out.
func (c Chart) WriteSVG(path string) error {
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Add(plotter.NewGrid())
	var xs []plot.Tick
	for _, l := range c.Lines {
		points := l.points()
		if points.Len() == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return err
		}
		colour := plotutil.DarkColors[l.Kind%len(plotutil.DarkColors)]
		line.Color, marks.Color, bars.Color = colour, colour, colour
		marks.Shape = plotutil.Shape(l.Kind)
		if l.Dotted || l.Kind >= len(plotutil.DarkColors) {
			line.Dashes = plotutil.Dashes(1)
		}
		p.Add(line, marks, bars)
		legend.Add(l.Name, line, marks)
		for _, x := range points.x {
			if tick := (plot.Tick{Value: x, Label: figure(x)}); !slices.Contains(xs, tick) {
				xs = append(xs, tick)
			}
		}
	}
	if len(xs) == 0 {
		p.X.Scale, p.Y.Scale = plot.LinearScale{}, plot.LinearScale{} // an empty picture
	} else {
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(xs), logTicks{}
	}
	picture := vgsvg.New(width, height)
	whole := draw.New(picture)
	p.Draw(draw.Crop(whole, 0, -legendWidth, 0, 0))
	legend.Top, legend.Left = true, true
	legend.Draw(draw.Crop(whole, width-legendWidth+10, 0, 0, -30))
	f, err := os.Create(path) // #nosec G304 -- a file that the developer names
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = picture.WriteTo(f)
	return err
}

// logTicks are 1, 2 and 5 of each power of ten.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(least, most float64) (ticks []plot.Tick) {
	for power := math.Pow10(int(math.Floor(math.Log10(least)))); power <= most; power *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if v := step * power; v >= least && v <= most {
				ticks = append(ticks, plot.Tick{Value: v, Label: figure(v)})
			}
		}
	}
	return ticks
}

// figure formats a tick: whole numbers with thousands separators.
func figure(v float64) string {
	if v >= 1000 {
		return Number(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
