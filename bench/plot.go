package main

import (
	"fmt"
	"math"
	"strings"
)

// plot draws the growth, both axes logarithmic.
func plot(g []grown) []byte {
	const width, height, left, right, top, bottom = 720, 400, 80, 130, 20, 50
	low, high := math.Inf(1), 0.0
	series := []struct {
		name, colour string
		of           func(grown) float64
	}{
		{"initialize", "#2a7f62", func(g grown) float64 { return g.initialize }},
		{"first tools/list", "#1f4e9c", func(g grown) float64 { return g.list }},
		{"skillmd floor", "#999999", func(g grown) float64 { return g.floor }},
	}
	for _, s := range series {
		for _, p := range g {
			low, high = min(low, s.of(p)), max(high, s.of(p))
		}
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	first, last := float64(g[0].n), float64(g[len(g)-1].n)
	x := func(n float64) float64 {
		return left + (width-left-right)*(math.Log(n/first)/math.Log(last/first))
	}
	y := func(v float64) float64 {
		return height - bottom - (height-top-bottom)*(math.Log(v/low)/math.Log(high/low))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n", width, height)
	b.WriteString("<title>From the start of the process to its answers, by the number of skills</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n")
	for v := low; v <= high*1.01; v *= 10 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, width-right, y(v), y(v), left-8, y(v)+4, span(v))
	}
	for _, p := range g {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#eeeeee"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(float64(p.n)), x(float64(p.n)), top, height-bottom, x(float64(p.n)), height-bottom+18, count(p.n))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">skills</text>`+"\n", (left+width-right)/2, height-12)
	at := make([]float64, 0, len(series))
	for _, s := range series {
		var points []string
		for _, p := range g {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(float64(p.n)), y(s.of(p))))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(float64(p.n)), y(s.of(p)), s.colour)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), s.colour)
		label := y(s.of(g[len(g)-1])) + 4
		for _, other := range at { // names that would lie on each other are moved apart
			if math.Abs(other-label) < 14 {
				label = other + 14
			}
		}
		at = append(at, label)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", width-right+8, label, s.colour, s.name)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// span is a time of so many milliseconds, in the unit that suits it.
func span(ms float64) string {
	if ms >= 1000 {
		return fmt.Sprintf("%g s", ms/1000)
	}
	return fmt.Sprintf("%g ms", ms)
}
