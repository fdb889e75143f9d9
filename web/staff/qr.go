package staff

import (
	"fmt"
	"strings"

	"rsc.io/qr"

	"drover/core"
)

// picture is a QR code as a path of SVG, in a square of Size with the quiet zone around it.
type picture struct {
	Size int
	Path string
}

// quiet is how many light modules the standard wants around a code.
const quiet = 4

// qrCode draws a text. The level corrects what a fold or a stain of the printed sheet hides.
func qrCode(text string) (picture, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return picture{}, core.Wrap(err, core.CodeInternal, "", "a link cannot be drawn as a QR code")
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			from := x
			for x < code.Size && code.Black(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from, x-from)
			}
		}
	}
	return picture{code.Size + 2*quiet, path.String()}, nil
}
