package browsertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Goto opens a page and waits until it has loaded.
func (tab *Tab) Goto(url string) {
	tab.t.Helper()
	tab.do(chromedp.Navigate(url))
}

// Fill types into what a selector names, instead of what is there.
func (tab *Tab) Fill(selector, text string) {
	tab.t.Helper()
	get(tab, chromedp.WaitVisible(chromedp.CSS(selector)))
	get(tab, chromedp.Evaluate[string](`document.querySelector(`+quote(selector)+`).value = ""`))
	get(tab, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Click clicks on what a selector names, once it can be seen.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Press presses the button or follows the link with this text.
func (tab *Tab) Press(text string) {
	tab.t.Helper()
	quoted := `"` + strings.ReplaceAll(text, `"`, ``) + `"`
	tab.do(chromedp.Click(chromedp.Search(`//*[(self::button or self::a or self::summary) and contains(normalize-space(.), `+quoted+`)]`), chromedp.NodeVisible))
}

// Choose puts files into a file input.
func (tab *Tab) Choose(selector string, files ...string) {
	tab.t.Helper()
	tab.do(chromedp.SetUploadFiles(chromedp.CSS(selector), files))
}

// Drop drags files and folders from outside over the middle of what a selector names,
// and lets go.
func (tab *Tab) Drop(selector string, paths ...string) {
	tab.t.Helper()
	box := `document.querySelector(` + quote(selector) + `).getBoundingClientRect()`
	tab.do(chromedp.ScrollIntoView(chromedp.CSS(selector)))
	x, y := tab.Number(box+`.x`)+tab.Number(box+`.width`)/2, tab.Number(box+`.y`)+tab.Number(box+`.height`)/2
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		tab.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.DispatchDragEvent, input.DispatchDragEventParams{
				Type: kind, X: x, Y: y, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1},
			})
			return err
		}))
	}
}

// Drag presses the mouse within what a selector names, at a part of its width, and lets go at another one.
func (tab *Tab) Drag(selector string, from, to float64) {
	tab.t.Helper()
	box := `document.querySelector(` + quote(selector) + `).getBoundingClientRect()`
	tab.do(chromedp.ScrollIntoView(chromedp.CSS(selector)))
	x, width, y := tab.Number(box+`.x`), tab.Number(box+`.width`), tab.Number(box+`.y`)+tab.Number(box+`.height`)/2
	for _, one := range []struct {
		kind input.DispatchMouseEventType
		at   float64
	}{{input.DispatchMouseEventTypeMousePressed, from}, {input.DispatchMouseEventTypeMouseMoved, to}, {input.DispatchMouseEventTypeMouseReleased, to}} {
		tab.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: one.kind, X: x + one.at*width, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1,
			})
			return err
		}))
	}
}

// Await waits until the page shows the text.
func (tab *Tab) Await(text string) {
	tab.t.Helper()
	tab.until(`document.body.innerText.includes(` + quote(text) + `)`)
}

// Absent waits until the page does not show the text.
func (tab *Tab) Absent(text string) {
	tab.t.Helper()
	tab.until(`!document.body.innerText.includes(` + quote(text) + `)`)
}

// AwaitPath waits until the page is at the path.
func (tab *Tab) AwaitPath(path string) {
	tab.t.Helper()
	tab.until(`location.pathname === ` + quote(path) + ` && document.readyState === "complete"`)
}

// until waits until an expression is true, in this page or in one that comes after it. A page of which a part has yet
// to come is not looked at.
func (tab *Tab) until(expression string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, timeout)
	defer cancel()
	whole := `document.readyState !== "loading" && (` + expression + `)`
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](whole, chromedp.WithPollingTimeout(timeout)))
		if err == nil {
			return
		}
		if ctx.Err() != nil || errors.Is(err, chromedp.ErrPollingTimeout) {
			require.NoError(tab.t, err, "waiting for %s; the page then: %s", expression, tab.see())
		} // else the page went away under the poll
	}
}

// Path returns where the page is.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[string](`location.pathname`))
}

// Text returns what a person reads in what a selector names.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return get(tab, chromedp.Text(chromedp.CSS(selector)))
}

// Links are the paths of this site that the page's links lead to.
func (tab *Tab) Links() []string {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[[]string](
		`[...new Set([...document.links].filter(a => a.origin === location.origin && !a.hasAttribute("download")).map(a => a.pathname + a.search))]`))
}

// Status is with what status the page was answered.
func (tab *Tab) Status() int {
	tab.t.Helper()
	return int(tab.Number(`performance.getEntriesByType("navigation")[0].responseStatus`))
}

// Bytes are how much was sent for the page, with its styles and scripts, headers quarantined.
func (tab *Tab) Bytes() int {
	tab.t.Helper()
	return int(tab.Number(
		`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((n, e) => n + e.encodedBodySize, 0)`))
}

// Number runs an expression in the page, as its console would, that gives a number.
func (tab *Tab) Number(expression string) float64 {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[float64](expression, chromedp.EvalAwaitPromise))
}

// Screen sets the size and the colours of the screen, in CSS pixels.
func (tab *Tab) Screen(width, height int64, dark bool) {
	tab.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	tab.do(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// Width sets how wide the screen is, in CSS pixels.
func (tab *Tab) Width(pixels int64) {
	tab.t.Helper()
	const height = 800
	tab.do(chromedp.EmulateViewport(pixels, height))
}

// Script switches the page's own scripts off or on, for the pages after this one.
func (tab *Tab) Script(on bool) {
	tab.t.Helper()
	tab.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// Overflow says by how many pixels the page is wider than the screen.
func (tab *Tab) Overflow() int {
	tab.t.Helper()
	return int(tab.Number(`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
}

// Screenshot writes the whole page, as the kind of picture that the file's name says: .png or .webp.
func (tab *Tab) Screenshot(file string) {
	tab.t.Helper()
	const (
		quality = 60   // of WebP: text stays sharp, and a page takes some 20 kB
		tallest = 4000 // pixels
	)
	whole, sharp := true, int64(quality)
	how := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &whole}
	if filepath.Ext(file) == ".webp" {
		how.Format, how.Quality = page.CaptureScreenshotFormatWebp, &sharp
	}
	how.Clip = &page.Viewport{Width: tab.Number(`innerWidth`), Height: min(tab.Number(`document.documentElement.scrollHeight`), tallest), Scale: 1}
	var picture []byte
	tab.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		got, err := chromedp.Call(ctx, page.CaptureScreenshot, how)
		if err == nil {
			picture = got.Data
		}
		return err
	}))
	require.NoError(tab.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(tab.t, os.WriteFile(file, picture, 0o600))
}

func quote(text string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$").Replace(text) + "`"
}
