package portable_test

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/classes/portable"
)

// A workbook is read back with the names of its cells; what looks like a formula is text.
func TestWorkbook(t *testing.T) {
	t.Parallel()
	n := 2.5
	row := make([]any, 28)
	row[0], row[1], row[2], row[3], row[27] = "=1+1", n, &n, math.NaN(), "<ü&\x01>"
	var b bytes.Buffer
	require.NoError(t, portable.Workbook(&b, "cs101/[2026] and a name that is too long", [][]any{{"Name", (*float64)(nil), nil}, row}))
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	parts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		parts[f.Name], err = io.ReadAll(r)
		require.NoError(t, err)
		var any struct{}
		require.NoError(t, xml.Unmarshal(parts[f.Name], &any), f.Name)
	}
	require.Contains(t, string(parts["xl/workbook.xml"]), `name="cs101--2026- and a name that is"`)
	var sheet struct {
		Rows []struct {
			Cells []struct {
				At   string `xml:"r,attr"`
				Type string `xml:"t,attr"`
				V    string `xml:"v"`
				F    string `xml:"f"`
				Text string `xml:"is>t"`
			} `xml:"c"`
		} `xml:"sheetData>row"`
	}
	require.NoError(t, xml.Unmarshal(parts["xl/worksheets/sheet1.xml"], &sheet))
	got := map[string]string{}
	for _, row := range sheet.Rows {
		for _, c := range row.Cells {
			require.Empty(t, c.F)
			got[c.At] = c.Type + " " + c.V + c.Text
		}
	}
	require.Equal(t, map[string]string{"A1": "inlineStr Name", "A2": "inlineStr =1+1", "B2": " 2.5", "C2": " 2.5", "AB2": "inlineStr <ü&\uFFFD>"}, got)
}
