package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// bug is a mistake that somebody could make in a file of the source.
type bug struct {
	name, room, file string
	harm             string // what goes wrong for whom
	old, seed        string // the text, and what takes its place
	known            bool   // no test notices it, as yet
	by               notice
}

//go:embed bugs.txt
var records string

// read reads the bugs from a text, which says itself how.
func read(text string) (all []*bug, err error) {
	room, b := "", &bug{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "# "):
			room = line[2:]
		case len(words) > 2 && words[0] == "##":
			b = &bug{name: words[1], room: room, file: words[2], known: len(words) == 4 && words[3] == "unnoticed"}
			all = append(all, b)
		case strings.HasPrefix(line, "-"):
			b.old += line[1:] + "\n"
		case strings.HasPrefix(line, "+"):
			b.seed += line[1:] + "\n"
		case line != "":
			b.harm = line
		}
	}
	for _, b := range all {
		if b.old == "" || b.harm == "" {
			return nil, fmt.Errorf("bug %s has no old text, or does not say what goes wrong", b.name)
		}
		b.old, b.seed = strings.TrimSuffix(b.old, "\n"), strings.TrimSuffix(b.seed, "\n")
	}
	return all, nil
}

// seeded returns the content of its file with the bug. Where the code has moved, the bug is to move with it.
func (b *bug) seeded(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return "", fmt.Errorf("bug %s: %w", b.name, err)
	}
	if n := strings.Count(string(text), b.old); n != 1 {
		return "", fmt.Errorf("bug %s: its old text is %d times in %s, and must be there once: change scripts/mutants/bugs.txt", b.name, n, b.file)
	}
	return strings.Replace(string(text), b.old, b.seed, 1), nil
}
