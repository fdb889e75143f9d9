package page

import (
	"fmt"
	"html/template"

	"drover/core"
)

// functions are what templates may call besides the methods of a request, for one language.
func (s *Site) functions(speech Speech) template.FuncMap {
	return template.FuncMap{
		"t":        speech.T,
		"n":        speech.N,
		"number":   speech.number,
		"outcome":  speech.Outcome,
		"pieces":   pieces,
		"asset":    s.static.url,
		"when":     func(ms int64) template.HTML { return speech.When(ms, s.cfg.Now()) },
		"date":     speech.Date,
		"span":     speech.Span,
		"size":     speech.Size,
		"markdown": Markdown,
		"task":     Task,
		"verdict":  speech.Verdict,
		"ended":    speech.TestVerdict,
		"pairs":    pairs,
		"crumbs":   crumbs,
		"percent":  percent,
		"share":    func(part, whole int) int { return percent(float64(part), float64(whole)) },
		"allow":    allow,
		"section":  func(name string) bool { return s.names[name] },
	}
}

// pairs makes a map of names and values, for parts with several arguments.
func pairs(all ...any) (map[string]any, error) {
	if len(all)%2 != 0 {
		return nil, core.Errorf(core.CodeInternal, "", "a part of a page is given a name without a value")
	}
	m := make(map[string]any, len(all)/2)
	for i := 0; i < len(all); i += 2 {
		m[fmt.Sprint(all[i])] = all[i+1]
	}
	return m, nil
}

// crumb is one step of the way to a page.
type crumb struct{ Text, URL string }

// crumbs makes breadcrumbs of texts and paths; the last text, of the page itself, has no path.
func crumbs(pairs ...string) []crumb {
	var way []crumb
	for i := 0; i < len(pairs); i += 2 {
		c := crumb{Text: pairs[i]}
		if i+1 < len(pairs) {
			c.URL = pairs[i+1]
		}
		way = append(way, c)
	}
	return way
}

// percent returns a part of a whole in percent, 0 to 100.
func percent(of, in any) int {
	part, whole := float(of), float(in)
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int(min(1, part/whole) * 100)
}

// allow reports whether a caller may do something in a class ("" is the cluster), so that a page does not offer what
// the service would refuse.
func allow(v view, action core.Action, class string) bool {
	return v.Caller != nil && core.Allow(v.Caller.Actor, action, core.Object{Class: class}) == nil
}

// float returns a number that a template has as a value or a pointer; nil is 0.
func float(x any) float64 {
	switch x := x.(type) {
	case float64:
		return x
	case *float64:
		if x != nil {
			return *x
		}
	}
	return 0
}
