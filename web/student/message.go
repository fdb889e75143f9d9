package student

import "strings"

// message is what a test says, in its parts: text first, then blocks in fences, each below its title.
type message struct {
	lead   string // Markdown
	blocks []block
}

// block is a fenced block; a title of "" is one that stands alone.
type block struct {
	title string
	lines []string
}

// of returns the lines of the first block with a title; nil if there is none.
func (m message) of(title string) []string {
	for _, b := range m.blocks {
		if b.title == title {
			return b.lines
		}
	}
	return nil
}

// has reports whether there is a block with a title; it may be empty.
func (m message) has(title string) bool {
	for _, b := range m.blocks {
		if b.title == title {
			return true
		}
	}
	return false
}

// Titles of the blocks that the stock harness writes.
const (
	titleGiven    = "Given:"
	titleExpected = "Expected:"
	titlePrinted  = "Printed:"
	titleErrors   = "On standard error:"
)

// readMessage takes a message apart. What is in a fence is never taken for a title or for another fence.
func readMessage(text string) (m message) {
	lines := strings.Split(text, "\n")
	var lead []string
	for i := 0; i < len(lines); i++ {
		title, at := "", i
		switch lines[i] {
		case titleGiven, titleExpected, titlePrinted, titleErrors:
			title, at = lines[i], i+1
		}
		end := fenceEnd(lines, at)
		if end < 0 {
			lead = append(lead, lines[i])
			continue
		}
		m.blocks = append(m.blocks, block{title, lines[at+1 : end]})
		i = end
	}
	m.lead = strings.TrimSpace(strings.Join(lead, "\n"))
	return m
}

// fenceEnd returns the line that ends the fence that begins at a line; -1 if none begins there, or it has no end.
func fenceEnd(lines []string, at int) int {
	const least = 3
	if at >= len(lines) || len(lines[at]) < least || strings.Trim(lines[at], "`") != "" {
		return -1
	}
	for end := at + 1; end < len(lines); end++ {
		if lines[end] == lines[at] {
			return end
		}
	}
	return -1
}
