package problem

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"

	"drover/core"
)

// element is one of a file in XML; nil is one that is not there, and has nothing.
type element struct {
	name     string
	line     int
	attrs    map[string]string
	text     string
	children []*element
}

// readXML reads a whole file. The element that it returns has the file's.
func readXML(file string, raw []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(raw))
	open := []*element{{name: file}}
	for {
		line, _ := d.InputPos()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return open[0], nil
		}
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, file, "%s is not XML: %s", file, err)
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{name: t.Name.Local, line: line, attrs: map[string]string{}}
			for _, a := range t.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			top.children = append(top.children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.text += string(t)
		}
	}
}

// all are the children of a name.
func (e *element) all(name string) []*element {
	if e == nil {
		return nil
	}
	var all []*element
	for _, c := range e.children {
		if c.name == name {
			all = append(all, c)
		}
	}
	return all
}

// child is the first child of a name; nil if there is none.
func (e *element) child(name string) *element {
	if all := e.all(name); len(all) > 0 {
		return all[0]
	}
	return nil
}
