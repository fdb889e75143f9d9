// Package portable makes names of files that are safe to unpack on any system, and cells of tables that are safe to open
// in a spreadsheet.
package portable

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxPart bounds a part of a path in an archive, in bytes, by the limit of most file systems.
const maxPart = 255

// Names gives the files of one folder names that are safe to unpack on any system: relative, without "..", without
// special characters, and different even if upper and lower case are not distinguished.
type Names struct {
	files, folders map[string]bool // folded
}

// NewNames returns the Names of an empty folder.
func NewNames() *Names { return &Names{files: map[string]bool{}, folders: map[string]bool{}} }

// fold makes names equal that a file system may treat as equal.
func fold(s string) string { return cases.Fold().String(s) }

// Safe returns the name of the next file, from any path.
func (n *Names) Safe(p string) string {
	parts := strings.Split(p, "/")
	folder := ""
	for i, part := range parts[:len(parts)-1] {
		parts[i] = n.free(folder, Part(part), n.files)
		folder = path.Join(folder, parts[i])
		n.folders[fold(folder)] = true
	}
	last := n.free(folder, Part(parts[len(parts)-1]), n.files, n.folders)
	p = path.Join(folder, last)
	n.files[fold(p)] = true
	return p
}

// free returns part or, if that is taken in the folder, part with a number.
func (n *Names) free(folder, part string, taken ...map[string]bool) string {
	ext := path.Ext(part)
	stem, try := strings.TrimSuffix(part, ext), part
	for i := 2; ; i++ {
		free, at := true, fold(path.Join(folder, try))
		for _, t := range taken {
			free = free && !t[at]
		}
		if free {
			return try
		}
		try = fmt.Sprintf("%s-%d%s", short(stem, maxPart-len(ext)-10), i, ext)
	}
}

// Part makes a part of a path safe as a name.
func Part(part string) string {
	part = norm.NFC.String(strings.ToValidUTF8(part, "_"))
	part = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`<>:"\|?*`, r) || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			return '_'
		}
		return r
	}, part)
	// Windows drops these at the end; this also removes "..".
	if kept := strings.TrimRight(part, ". "); kept != part || part == "" {
		part = kept + "_"
	}
	if device(part) {
		part = "_" + part
	}
	return short(part, maxPart)
}

// device reports whether Windows takes a name for a device, whatever follows the first dot.
func device(part string) bool {
	stem, _, _ := strings.Cut(part, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(stem, port); ok && len([]rune(n)) == 1 && strings.Contains("0123456789¹²³", n) {
			return true
		}
	}
	return false
}

// short cuts a name to so many bytes, between characters.
func short(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:max(most, 0)], "")
	}
	return s
}
