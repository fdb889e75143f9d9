package student_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
	"drover/web/browsertest"
)

const lookedAt = `Given $n$ numbers $a_1, a_2, \ldots, a_n$ with $1 \le n \le 2 \cdot 10^5$ and $|a_i| \leq 10^{9}$, find the largest sum of neighbours.

$$
S = \max_{1 \le i \le j \le n} \sum_{k=i}^{j} a_k = \begin{cases} a_1 & \text{if } n = 1 \\ \frac{x + \sqrt{y}}{2} & \text{otherwise} \end{cases}
$$

A long one: $f(x) = a_0 + a_1 x + a_2 x^2 + a_3 x^3 + a_4 x^4 + a_5 x^5 + a_6 x^6 + a_7 x^7 + a_8 x^8 + a_9 x^9 + a_{10} x^{10}$ in its line.

$$a_0 + a_1 x + a_2 x^2 + a_3 x^3 + a_4 x^4 + a_5 x^5 + a_6 x^6 + a_7 x^7 + a_8 x^8 + a_9 x^9 + a_{10} x^{10} + a_{11} x^{11} + a_{12} x^{12} + a_{13} x^{13} = 0$$

## Input

| name | bound |
|------|-------|
| $n$  | $\lfloor \log_2 n \rfloor + 1 \in \mathbb{N}$ |
`

// A statement in a browser: formulas are as wide as the screen at most, and a click copies a sample.
func TestStatementInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.explain("hw1", "statement/problem.en.md", lookedAt, "samples/1.in", "3\n1 2 -4\n", "samples/1.ans", "3\n", "samples/2.in", "1\n-7\n", "samples/2.ans", "-7\n", "samples/2.desc", "One number $n = 1$ is the sum.",
		"samples/3.interaction", "<5\n>guess 3\n<lower\n>guess 2\n<yes\n", "attachments/starter.py", "pass\n", "attachments/lib/tool.py", "pass\n")
	tab := browsertest.Start(t).Tab(t)
	at := w.serve("ann") + explained
	for name, screen := range map[string]struct {
		width int64
		dark  bool
	}{"desktop": {1280, false}, "phone": {360, false}, "dark": {360, true}} {
		tab.Screen(screen.width, 800, screen.dark)
		tab.Goto(at)
		if dir := os.Getenv("DROVER_LOOK"); dir != "" {
			tab.Screenshot(filepath.Join(dir, "statement-"+name+".png"))
		}
		require.Empty(t, tab.Axe(), name)
		require.LessOrEqual(t, tab.Overflow(), 0, name)
	}
	require.Positive(t, tab.Number(`Math.min(...[...document.querySelectorAll("math")].map(m => m.getBoundingClientRect().height))`), "each formula is drawn")
	require.Greater(t, tab.Number(`document.querySelector("math msup").getBoundingClientRect().height`), 0.0)
	tab.Click(`button[data-copy="sample1-1"]`)
	tab.Await("Copied: 1, Input")
	require.True(t, strings.HasSuffix(tab.Text(`button[data-copy="sample1-1"].copied`), "1, Input"), "it says so where it was clicked, too")
}
