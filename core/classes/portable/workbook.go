package portable

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Workbook writes a table as a workbook of Office Open XML with one sheet, whose first row and column stay in sight.
// A cell is a string, a float64, a *float64 or nil, which is empty. Strings are stored as text, and never as formulas.
func Workbook(w io.Writer, title string, rows [][]any) error {
	z := zip.NewWriter(w)
	for _, part := range []struct{ name, text string }{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="` + escaped(sheetName(title)) + `" sheetId="1" r:id="r1"/></sheets></workbook>`},
		{"xl/worksheets/sheet1.xml", sheet(rows)},
	} {
		f, err := z.Create(part.name)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(f, xml.Header+part.text); err != nil {
			return err
		}
	}
	return z.Close()
}

// sheet returns the XML of a sheet.
func sheet(rows [][]any) string {
	var b bytes.Buffer
	b.WriteString(`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane xSplit="1" ySplit="1" topLeftCell="B2" activePane="bottomRight" state="frozen"/></sheetView></sheetViews><sheetData>`)
	for i, row := range rows {
		fmt.Fprintf(&b, `<row r="%d">`, i+1)
		for j, cell := range row {
			at := column(j) + strconv.Itoa(i+1)
			switch v := cell.(type) {
			case string:
				if v != "" {
					fmt.Fprintf(&b, `<c r="%s" t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>`, at, escaped(v))
				}
			case *float64:
				if v != nil {
					numeric(&b, at, *v)
				}
			case float64:
				numeric(&b, at, v)
			}
		}
		b.WriteString(`</row>`)
	}
	b.WriteString(`</sheetData></worksheet>`)
	return b.String()
}

func numeric(b *bytes.Buffer, at string, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		fmt.Fprintf(b, `<c r="%s"><v>%s</v></c>`, at, strconv.FormatFloat(v, 'g', -1, 64))
	}
}

// column returns the name of a column of a sheet: A, B, …, Z, AA.
func column(n int) string {
	name := ""
	for n++; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

// escaped returns text for XML; characters that XML does not have are replaced.
func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// sheetName returns a name that a sheet may have: at most 31 characters, none of []:*?/\.
func sheetName(s string) string {
	var name []rune
	for _, r := range s {
		switch r {
		case '[', ']', ':', '*', '?', '/', '\\', '\'':
			r = '-'
		}
		if len(name) < 31 {
			name = append(name, r)
		}
	}
	if len(name) == 0 {
		return "Sheet"
	}
	return string(name)
}
