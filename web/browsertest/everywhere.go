package browsertest

import "testing"

// Person does what a person does in any browser, by mouse and keyboard. What cannot be done fails the test.
type Person interface {
	// Goto opens a page and waits until it has loaded.
	Goto(url string)
	// Fill types into what a selector names, instead of what is there.
	Fill(selector, text string)
	// Click clicks on what a selector names, once it can be seen.
	Click(selector string)
	// Press presses the button or follows the link with this text.
	Press(text string)
	// Choose puts files into a file input.
	Choose(selector string, files ...string)
	// Await waits until the page shows the text.
	Await(text string)
	// Absent waits until the page does not show the text.
	Absent(text string)
	// Path returns where the page is.
	Path() string
	// Text returns what a person reads in what a selector names.
	Text(selector string) string
	// Width sets how wide the screen is, in CSS pixels.
	Width(pixels int64)
	// Overflow says by how many pixels the page is wider than the screen.
	Overflow() int
}

// Everywhere walks the same way in each browser.
func Everywhere(t *testing.T, walk func(t *testing.T, p Person)) {
	t.Helper()
	t.Run("chromium", func(t *testing.T) { walk(t, Start(t).Tab(t)) })
	t.Run("firefox", func(t *testing.T) { walk(t, StartFirefox(t).Tab(t)) })
}
