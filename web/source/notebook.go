package source

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"drover/core/service/pattern"
)

// Bounds on a notebook.
const (
	maxCells   = 500
	maxOutputs = 50 // of a cell
)

// Book is a Jupyter notebook.
type Book struct {
	Language string
	Cells    []Cell
	More     int // cells that are not shown
}

// Cell is one cell of a notebook.
type Cell struct {
	Kind    string // markdown, code or raw
	Text    string
	Count   int // the number of its run; 0 if it was not run
	Outputs []Output
}

// Output is what a cell printed: a text, or a PNG.
type Output struct {
	Text  string
	Wrong bool // it is an error
	PNG   []byte
}

// rawBook is the file, of nbformat 4.
type rawBook struct {
	Format   int `json:"nbformat"`
	Metadata struct {
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
		Info struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
	Cells []struct {
		Kind    string      `json:"cell_type"`
		Source  text        `json:"source"`
		Count   int         `json:"execution_count"`
		Outputs []rawOutput `json:"outputs"`
	} `json:"cells"`
}

type rawOutput struct {
	Kind      string   `json:"output_type"`
	Name      string   `json:"name"`
	Text      text     `json:"text"`
	Traceback []string `json:"traceback"`
	Data      struct {
		Plain text `json:"text/plain"`
		PNG   text `json:"image/png"`
	} `json:"data"`
}

// text is a string, or its lines.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	var lines []string
	if json.Unmarshal(raw, &lines) == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(raw, (*string)(t))
}

// readBook returns a notebook; nil if the text is none of nbformat 4.
func readBook(content string) *Book {
	var raw rawBook
	if json.Unmarshal([]byte(content), &raw) != nil || raw.Format != 4 {
		return nil
	}
	b := &Book{Language: cmp.Or(raw.Metadata.Kernel.Language, raw.Metadata.Info.Name, "python")}
	for i, c := range raw.Cells {
		if i == maxCells {
			b.More = len(raw.Cells) - i
			break
		}
		cell := Cell{Kind: c.Kind, Text: string(c.Source), Count: c.Count}
		for _, o := range c.Outputs[:min(len(c.Outputs), maxOutputs)] {
			cell.Outputs = append(cell.Outputs, o.read())
		}
		b.Cells = append(b.Cells, cell)
	}
	return b
}

// colours are the control sequences by which terminals colour tracebacks.
var colours = pattern.New("\x1b\\[[0-9;]*m")

// read returns an output. HTML and scripts that it has besides are left out: its text says the same.
func (o *rawOutput) read() Output {
	out := Output{Wrong: o.Kind == "error" || o.Name == "stderr", Text: string(o.Text)}
	if o.Kind == "error" {
		out.Text = strings.Join(o.Traceback, "\n")
	}
	out.Text = colours().ReplaceAllString(cmp.Or(out.Text, string(o.Data.Plain)), "")
	if o.Data.PNG != "" {
		png, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(o.Data.PNG)), ""))
		if err == nil && MediaType(png) == "image/png" {
			out.PNG = png
		}
	}
	return out
}

// PNG returns the picture that an output of a cell has; nil if it has none.
func (b *Book) PNG(cell, output int) []byte {
	if b == nil || cell < 0 || cell >= len(b.Cells) || output < 0 || output >= len(b.Cells[cell].Outputs) {
		return nil
	}
	return b.Cells[cell].Outputs[output].PNG
}
