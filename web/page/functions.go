package page

import (
	"fmt"
	"html/template"

	"drover/core"
)

// functions are what templates may call beside the methods of a request. In one
// language's templates they speak that language.
func (s *Site) functions(speech Speech) template.FuncMap {
	return template.FuncMap{
		"t":        speech.T,
		"n":        speech.N,
		"number":   speech.Number,
		"asset":    s.static.url,
		"when":     func(ms int64) template.HTML { return speech.When(ms, s.cfg.Now()) },
		"span":     speech.Span,
		"size":     speech.Size,
		"markdown": Markdown,
		"with":     with,
		"percent":  percent,
		"allow":    allow,
	}
}

// with makes a map of names and values, for parts that take more than one.
func with(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, core.Errorf(core.CodeInternal, "", "a part of a page is given a name without a value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// percent returns how much of the whole a part is, 0 to 100.
func percent(part, whole float64) int {
	if whole <= 0 || part <= 0 {
		return 0
	}
	return int(min(1, part/whole) * 100)
}

// allow reports whether a caller may do something in a class ("" is the herd), so that a
// page does not offer what the registrar would refuse.
func allow(v view, action core.Action, class string) bool {
	return v.Caller != nil && core.Allow(v.Caller.Actor, action, core.Object{Class: class}) == nil
}
