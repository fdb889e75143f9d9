package main

import (
	"fmt"
	"html"
	"strings"
)

// chart is a picture of bars in groups. What is drover's stands out by colour and by the weight of its name.
type chart struct {
	title  string // with the unit
	note   string
	groups []group
}

type group struct {
	name string
	bars []bar
}

type bar struct {
	name  string
	value float64
	own   bool // drover's
}

// The measures of a chart, in pixels.
const (
	width     = 720
	left      = 275 // of the names
	right     = 90  // of the numbers
	barHeight = 18
	step      = 24
	groupHead = 26
	top       = 44
)

// style has the colours, for a light and for a dark reader.
const style = `
    svg { --ground: #ffffff; --text: #1f2328; --muted: #59636e; --own: #0969da; --other: #8b95a1; color-scheme: light dark }
    @media (prefers-color-scheme: dark) { svg { --ground: #0d1117; --text: #e6edf3; --muted: #9198a1; --own: #58a6ff; --other: #6e7681 } }
    text { font: 13px system-ui, sans-serif; fill: var(--text) }
    .ground { fill: var(--ground) }
    .title { font-size: 15px; font-weight: 600 }
    .muted { fill: var(--muted) }
    .name, .group { font-weight: 400 }
    .group, .own { font-weight: 600 }
    rect.bar { fill: var(--other) }
    rect.bar.own { fill: var(--own) }
`

// svg draws the chart. Bars of all groups have the same scale.
func (c *chart) svg() string {
	most, height := 0.0, top
	for _, g := range c.groups {
		height += step * len(g.bars)
		if g.name != "" {
			height += groupHead
		}
		for _, b := range g.bars {
			most = max(most, b.value)
		}
	}
	var out strings.Builder
	line := func(indent, format string, args ...any) { fmt.Fprintf(&out, indent+format+"\n", args...) }
	height += 30
	line("", `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="title note">`, width, height, width, height)
	line("  ", `<title id="title">%s</title>`, html.EscapeString(c.title))
	line("  ", `<desc id="note">%s</desc>`, html.EscapeString(c.note))
	line("  ", `<style>%s  </style>`, style)
	line("  ", `<rect class="ground" width="%d" height="%d" rx="6"/>`, width, height)
	line("  ", `<text class="title" x="16" y="26">%s</text>`, html.EscapeString(c.title))
	y := top
	for _, g := range c.groups {
		if g.name != "" {
			line("  ", `<text class="group" x="16" y="%d">%s</text>`, y+17, html.EscapeString(g.name))
			y += groupHead
		}
		for _, b := range g.bars {
			own := ""
			if b.own {
				own = " own"
			}
			wide := max(1, (width-left-right)*b.value/most)
			line("  ", `<text class="name%s" x="%d" y="%d" text-anchor="end">%s</text>`, own, left-10, y+14, html.EscapeString(b.name))
			line("  ", `<rect class="bar%s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>`, own, left, y, wide, barHeight)
			line("  ", `<text class="name%s" x="%.1f" y="%d">%s</text>`, own, left+wide+7, y+14, figure(b.value))
			y += step
		}
	}
	line("  ", `<text class="muted" x="16" y="%d">%s</text>`, y+18, html.EscapeString(c.note))
	line("", "</svg>")
	return out.String()
}

// figure writes a number as the tables do, with commas between thousands.
func figure(n float64) string {
	if n < 100 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	text := fmt.Sprintf("%.0f", n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
