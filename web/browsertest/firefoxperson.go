package browsertest

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Goto opens a page and waits until it has loaded.
func (tab *FirefoxTab) Goto(url string) {
	tab.t.Helper()
	tab.call("browsingContext.navigate", map[string]any{"url": url, "wait": "complete"}, nil)
}

// Fill types into what a selector names, instead of what is there.
func (tab *FirefoxTab) Fill(selector, text string) {
	tab.t.Helper()
	tab.Click(selector)
	var done bool
	require.NoError(tab.t, tab.run(`(document.querySelector(`+quote(selector)+`).value = "", true)`, &done))
	keys := make([]any, 0, 2*utf8.RuneCountInString(text))
	for _, key := range text {
		if key == '\n' {
			key = '\uE006' // Return
		}
		keys = append(keys, map[string]any{"type": "keyDown", "value": string(key)}, map[string]any{"type": "keyUp", "value": string(key)})
	}
	tab.call("input.performActions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keyboard", "actions": keys}}}, nil)
}

// Click clicks on what a selector names, once it can be seen.
func (tab *FirefoxTab) Click(selector string) {
	tab.t.Helper()
	tab.click(map[string]any{"type": "css", "value": selector}, `document.querySelector(`+quote(selector)+`)`)
}

// Press presses the button or follows the link with this text.
func (tab *FirefoxTab) Press(text string) {
	tab.t.Helper()
	way := `//*[(self::button or self::a or self::summary) and contains(normalize-space(.), "` + strings.ReplaceAll(text, `"`, ``) + `")]`
	tab.click(map[string]any{"type": "xpath", "value": way},
		`document.evaluate(`+quote(way)+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE, null).singleNodeValue`)
}

// click waits until an element can be seen, and clicks on its middle.
func (tab *FirefoxTab) click(locator map[string]any, element string) {
	tab.t.Helper()
	tab.until(`(e => !!e && e.checkVisibility() && (e.scrollIntoView({block: "center", behavior: "instant"}), true))(` + element + `)`)
	mouse := map[string]any{"type": "pointer", "id": "mouse", "actions": []any{
		map[string]any{"type": "pointerMove", "x": 0, "y": 0, "origin": map[string]any{"type": "element", "element": tab.node(locator)}},
		map[string]any{"type": "pointerDown", "button": 0},
		map[string]any{"type": "pointerUp", "button": 0},
	}}
	tab.call("input.performActions", map[string]any{"actions": []any{mouse}}, nil)
}

// node is a reference to the first element that a locator finds.
func (tab *FirefoxTab) node(locator map[string]any) map[string]any {
	tab.t.Helper()
	var found struct{ Nodes []struct{ SharedID string } }
	tab.call("browsingContext.locateNodes", map[string]any{"locator": locator, "maxNodeCount": 1}, &found)
	require.NotEmpty(tab.t, found.Nodes, "%v", locator)
	return map[string]any{"sharedId": found.Nodes[0].SharedID}
}

// Choose puts files into a file input.
func (tab *FirefoxTab) Choose(selector string, files ...string) {
	tab.t.Helper()
	tab.call("input.setFiles", map[string]any{"element": tab.node(map[string]any{"type": "css", "value": selector}), "files": files}, nil)
}

// Await waits until the page shows the text.
func (tab *FirefoxTab) Await(text string) {
	tab.t.Helper()
	tab.until(`document.body.innerText.includes(` + quote(text) + `)`)
}

// Absent waits until the page does not show the text.
func (tab *FirefoxTab) Absent(text string) {
	tab.t.Helper()
	tab.until(`!document.body.innerText.includes(` + quote(text) + `)`)
}

// until waits until an expression is true, in this page or in one that comes after it. A page of which a
// part has yet to come is not looked at.
func (tab *FirefoxTab) until(expression string) {
	tab.t.Helper()
	// The page looks again and again, and is asked anew now and then: it may have been replaced without a word.
	look := `new Promise(done => { let left = 100; const look = () => document.readyState !== "loading" && (` + expression + `) ? done(true) : left-- ? setTimeout(look, 20) : done(false); look() })`
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for {
		var is bool
		err := tab.run(look, &is)
		if err == nil && is {
			return
		}
		if ctx.Err() != nil || errors.Is(err, errThrown) {
			var text string
			_ = tab.run(`location.href + "\n" + document.body.innerText`, &text) // it is only for the message
			require.Failf(tab.t, "waited in vain", "for %s: %v; the page then: %s", expression, err, text)
		}
	}
}

// Path returns where the page is.
func (tab *FirefoxTab) Path() string {
	tab.t.Helper()
	var path string
	require.NoError(tab.t, tab.run(`location.pathname`, &path))
	return path
}

// Text returns what a person reads in what a selector names.
func (tab *FirefoxTab) Text(selector string) string {
	tab.t.Helper()
	var text string
	tab.until(`document.querySelector(` + quote(selector) + `) !== null`)
	require.NoError(tab.t, tab.run(`document.querySelector(`+quote(selector)+`).innerText`, &text))
	return text
}

// Width sets how wide the screen is, in CSS pixels.
func (tab *FirefoxTab) Width(pixels int64) {
	tab.t.Helper()
	const height = 800
	tab.call("browsingContext.setViewport", map[string]any{"viewport": map[string]any{"width": pixels, "height": height}}, nil)
}

// Overflow says by how many pixels the page is wider than the screen.
func (tab *FirefoxTab) Overflow() int {
	tab.t.Helper()
	var n int
	require.NoError(tab.t, tab.run(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &n))
	return n
}
