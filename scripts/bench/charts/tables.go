package main

import (
	"fmt"
	"strconv"
	"strings"
)

// figures are the numbers in tables of Markdown: by the first column's head, then the row, then the column.
type figures map[string]map[string]map[string]float64

// read returns the numbers of a text's tables. Of a row in several tables under the same head the last one counts.
func read(markdown string) figures {
	found := figures{}
	var header []string
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") || len(line) < 2 {
			header = nil
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line[1:len(line)-1], "`", ""), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if header == nil {
			header = cells
			continue
		}
		for i := range min(len(header), len(cells)) {
			n, err := strconv.ParseFloat(cells[i], 64)
			if err != nil || i == 0 {
				continue
			}
			table := at(at(found, header[0]), cells[0])
			table[header[i]] = n
		}
	}
	return found
}

// at returns the map under a key, which it makes if it is missing.
func at[M ~map[string]map[string]V, V any](all M, key string) map[string]V {
	if all[key] == nil {
		all[key] = map[string]V{}
	}
	return all[key]
}

// number returns one, or an error that names where it should be.
func (f figures) number(head, row, column string) (float64, error) {
	n, is := f[head][row][column]
	if !is {
		return 0, fmt.Errorf("no table with the head %q has a number in row %q, column %q", head, row, column)
	}
	return n, nil
}
