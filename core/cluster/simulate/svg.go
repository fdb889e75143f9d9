package simulate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Named is a report with what it is called beside others.
type Named struct {
	Name string `json:"name"`
	Report
}

// Size of a chart and what is around it, in units of the picture.
const (
	plotWidth, plotHeight   = 520, 120
	besidePlot, abovePlot   = 70, 64
	chartWidth, chartHeight = plotWidth + besidePlot + 24, plotHeight + abovePlot + 44
	headHeight              = 64
)

// chart is what is drawn of each report.
type chart struct {
	title, axis string
	lines       []series
}

// series is a line of a chart: below 0 is nothing.
type series struct {
	title, class string
	value        func(Point) float64
}

func charts() []chart {
	inSeconds := func(ms int64) float64 { return float64(ms) / 1000 }
	return []chart{
		{"Waiting requests", "requests", []series{{"most in the step", "a", func(p Point) float64 { return float64(p.Waiting) }}}},
		{"Waiting time", "seconds", []series{
			{"95% within", "b", func(p Point) float64 { return inSeconds(p.P95) }},
			{"half within", "a", func(p Point) float64 { return inSeconds(p.P50) }},
		}},
		{"VMs", "VMs", []series{
			{"clean", "c", func(p Point) float64 { return p.Clean }},
			{"busy", "a", func(p Point) float64 { return p.Busy }},
			{"being created", "b", func(p Point) float64 { return p.Creating }},
		}},
		{"Cold starts", "requests in the step", []series{{"found no clean VM", "b", func(p Point) float64 { return float64(p.Cold) }}}},
	}
}

// style has colours for light and dark surroundings.
const style = `
svg { background: #ffffff; font: 13px system-ui, sans-serif }
text { fill: #1f2933 } .small { font-size: 11px; fill: #52606d } .head { font-size: 18px; font-weight: 600 } .title { font-weight: 600 }
.axis { stroke: #9aa5b1 } .grid { stroke: #e4e7eb } .line { fill: none; stroke-width: 1.5 }
.a { stroke: #1d64b4 } .b { stroke: #b45309 } .c { stroke: #15803d }
@media (prefers-color-scheme: dark) {
svg { background: #12181f } text { fill: #e4e7eb } .small { fill: #9aa5b1 } .axis { stroke: #7b8794 } .grid { stroke: #323f4b }
.a { stroke: #7ab8ff } .b { stroke: #f5b041 } .c { stroke: #6fd08c }
}
`

// SVG draws the charts of reports side by side, each row with the same scale.
func SVG(to io.Writer, title string, all []Named) error {
	var b strings.Builder
	rows := charts()
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`,
		len(all)*chartWidth, headHeight+len(rows)*chartHeight)
	fmt.Fprintf(&b, "\n<title id=\"title\">%s</title>\n<style>%s</style>\n", escaped(title), style)
	fmt.Fprintf(&b, `<text class="head" x="%d" y="28">%s</text>`+"\n", besidePlot, escaped(title))
	for i := range all {
		fmt.Fprintf(&b, `<text class="title" x="%d" y="52">%s</text>`+"\n", i*chartWidth+besidePlot, escaped(all[i].Name))
	}
	for row, c := range rows {
		most, lasts := extent(c, all)
		for i := range all {
			fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i*chartWidth, headHeight+row*chartHeight)
			c.draw(&b, &all[i].Report, most, lasts)
			b.WriteString("</g>\n")
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(to, b.String())
	return err
}

// extent returns the largest value that a chart shows, and the longest time.
func extent(c chart, all []Named) (most float64, lasts int64) {
	most, lasts = 1, 1
	for i := range all {
		lasts = max(lasts, all[i].Lasts)
		for _, p := range all[i].Points {
			for _, l := range c.lines {
				most = max(most, l.value(p))
			}
		}
	}
	return most, lasts
}

// draw draws one chart.
func (c chart) draw(b *strings.Builder, r *Report, most float64, lasts int64) {
	fmt.Fprintf(b, `<text class="title" x="%d" y="20">%s</text>`+"\n", besidePlot, escaped(c.title))
	at := besidePlot
	for _, l := range c.lines {
		fmt.Fprintf(b, `<line class="line %s" x1="%d" x2="%d" y1="38" y2="38"/><text class="small" x="%d" y="42">%s</text>`+"\n", l.class, at, at+16, at+22, escaped(l.title))
		at += 130
	}
	const half, middle = 2, abovePlot + plotHeight/2
	for i := range half + 1 {
		y := abovePlot + plotHeight*i/half
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%d" y2="%d"/><text class="small" text-anchor="end" x="%d" y="%d">%s</text>`+"\n",
			besidePlot, besidePlot+plotWidth, y, y, besidePlot-6, y+4, number(most*float64(half-i)/half))
		fmt.Fprintf(b, `<text class="small" text-anchor="middle" x="%d" y="%d">%s</text>`+"\n",
			besidePlot+plotWidth*i/half, abovePlot+plotHeight+16, moment(lasts*int64(i)/half))
	}
	fmt.Fprintf(b, `<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>`+"\n", besidePlot, besidePlot+plotWidth, abovePlot+plotHeight, abovePlot+plotHeight)
	fmt.Fprintf(b, `<text class="small" text-anchor="middle" x="%d" y="%d">time since the first request</text>`+"\n", besidePlot+plotWidth/2, abovePlot+plotHeight+32)
	fmt.Fprintf(b, `<text class="small" text-anchor="middle" transform="translate(14 %d) rotate(-90)">%s</text>`+"\n", middle, escaped(c.axis))
	for _, l := range c.lines {
		for _, path := range l.paths(r, most, lasts) {
			fmt.Fprintf(b, `<polyline class="line %s" points="%s"/>`+"\n", l.class, path)
		}
	}
}

// paths returns the points of the line, parted where there is nothing.
func (l series) paths(r *Report, most float64, lasts int64) (all []string) {
	var points []string
	end := func() {
		if len(points) > 0 {
			all = append(all, strings.Join(points, " "))
		}
		points = nil
	}
	for _, p := range r.Points {
		v := l.value(p)
		if v < 0 {
			end()
			continue
		}
		y := abovePlot + plotHeight*(1-v/most)
		from, to := min(p.At, lasts), min(p.At+r.Step, lasts)
		for _, at := range []int64{from, to} {
			points = append(points, fmt.Sprintf("%.1f,%.1f", besidePlot+plotWidth*float64(at)/float64(lasts), y))
		}
	}
	end()
	return all
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// moment is a time since the trace began.
func moment(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d > 48*time.Hour:
		return number(d.Hours()/24) + " days"
	case d > 2*time.Hour:
		return number(d.Hours()) + " h"
	case d > 2*time.Minute:
		return number(d.Minutes()) + " min"
	}
	return number(d.Seconds()) + " s"
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder fails never
	return b.String()
}
