package formula_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/web/page/formula"
)

func TestFormulasAreWrittenAsMathML(t *testing.T) {
	t.Parallel()
	for tex, want := range map[string]string{
		`n`:                                 `<mi>n</mi>`,
		`1 \le a_i`:                         `<mrow><mn>1</mn><mo>≤</mo><msub><mi>a</mi><mi>i</mi></msub></mrow>`,
		`10^5`:                              `<msup><mn>10</mn><mn>5</mn></msup>`,
		`10^{18}-1`:                         `<mrow><msup><mn>10</mn><mn>18</mn></msup><mo>−</mo><mn>1</mn></mrow>`,
		`x^23`:                              `<mrow><msup><mi>x</mi><mn>2</mn></msup><mn>3</mn></mrow>`,
		`x_i^2`:                             `<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>`,
		`f'`:                                `<msup><mi>f</mi><mrow><mo>′</mo></mrow></msup>`,
		`100\,000`:                          "<mn>100\u2009000</mn>",
		`2{,}5`:                             `<mn>2,5</mn>`,
		`3.25`:                              `<mn>3.25</mn>`,
		`a, b`:                              `<mrow><mi>a</mi><mo>,</mo><mi>b</mi></mrow>`,
		`\frac12`:                           `<mfrac><mn>1</mn><mn>2</mn></mfrac>`,
		`\sqrt[3]x`:                         `<mroot><mi>x</mi><mn>3</mn></mroot>`,
		`\sqrt{x}`:                          `<msqrt><mi>x</mi></msqrt>`,
		`\max_i`:                            `<msub><mi>max</mi><mi>i</mi></msub>`,
		`\mathbb{R}`:                        `<mi>ℝ</mi>`,
		`\mathcal O`:                        `<mi>𝒪</mi>`,
		`\mathrm{ab}`:                       `<mi mathvariant="normal">ab</mi>`,
		`\text{if } x<1`:                    "<mrow><mtext>if\u00a0</mtext><mi>x</mi><mo>&lt;</mo><mn>1</mn></mrow>",
		`\texttt{a\_<b>}`:                   `<mtext class="tt">a_&lt;b&gt;</mtext>`,
		`\left\lfloor\frac ab\right\rfloor`: `<mrow><mo stretchy="true">⌊</mo><mfrac><mi>a</mi><mi>b</mi></mfrac><mo stretchy="true">⌋</mo></mrow>`,
		`\sum_{i=1}^n`:                      `<munderover><mo movablelimits="true" largeop="true">∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>`,
		`a \bmod m`:                         `<mrow><mi>a</mi><mo>mod</mo><mi>m</mi></mrow>`,
		`\{1,\ldots\}`:                      `<mrow><mo stretchy="false">{</mo><mn>1</mn><mo>,</mo><mi mathvariant="normal">…</mi><mo stretchy="false">}</mo></mrow>`,
		`|x|`:                               `<mrow><mo stretchy="false" lspace="0em" rspace="0em">|</mo><mi>x</mi><mo stretchy="false" lspace="0em" rspace="0em">|</mo></mrow>`,
		`\not\in`:                           "<mo>∈\u0338</mo>",
		`\begin{cases}1&x\\2\end{cases}`: `<mrow><mo stretchy="true">{</mo><mtable><mtr><mtd class="start"><mn>1</mn></mtd><mtd class="start"><mi>x</mi></mtd></mtr>` +
			`<mtr><mtd class="start"><mn>2</mn></mtd></mtr></mtable></mrow>`,
		`\begin{pmatrix}1\\\end{pmatrix}`: `<mrow><mo stretchy="true">(</mo><mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable><mo stretchy="true">)</mo></mrow>`,
	} {
		is, ok := formula.MathML(tex, false)
		require.True(t, ok, tex)
		assert.Equal(t, want, strings.TrimSuffix(strings.TrimPrefix(is, `<span class="formula"><math>`), "</math></span>"), tex)
	}
	block, ok := formula.MathML(`a &= b \\ &= c`, true)
	require.True(t, ok)
	require.Contains(t, block, `<math display="block"><mtable displaystyle="true"><mtr><mtd class="end"><mi>a</mi></mtd><mtd class="start">`)
	long, ok := formula.MathML(strings.Repeat("a+", 40)+"a", false)
	require.True(t, ok)
	require.Contains(t, long, `class="formula long"`)
}

func TestWhatIsNoFormulaIsRefused(t *testing.T) {
	t.Parallel()
	for _, tex := range []string{
		"", " ", `\foo`, `\newcommand{\a}{b}`, `\def\a{b}`, `\href{javascript:x}{y}`, `\color{red}x`, `{`, `}`, `a}`, `\frac1`, `x^`, `x^^2`, `x_1_2`, `\left(x`, `\right)`,
		`\begin{foo}\end{foo}`, `\begin{cases}1`, `\begin{matrix}1\end{cases}`, `\text{$x$}`, `\text{`, `\sqrt[`, `a & b}`, `\`, "\xff", "\x00", `\left x\right)`, `\\[`, `\end{a}`,
		strings.Repeat("x", formula.MaxLength+1), strings.Repeat("{", 100) + strings.Repeat("}", 100),
	} {
		for _, block := range []bool{false, true} {
			is, ok := formula.MathML(tex, block)
			assert.False(t, ok, "%s: %s", tex, is)
		}
	}
}

// elements are the elements of MathML that a formula may have, and what they may say: none of it acts or loads anything.
var elements = map[string]string{
	"span": "class tabindex", "math": "display", "mrow": "", "mi": "mathvariant class", "mn": "", "mo": "stretchy movablelimits largeop lspace rspace",
	"mtext": "class", "mspace": "width", "msub": "", "msup": "", "msubsup": "", "munder": "", "mover": "accent", "munderover": "",
	"mfrac": "linethickness", "msqrt": "", "mroot": "", "mtable": "displaystyle", "mtr": "", "mtd": "class",
}

func FuzzFormulasAreBoundedAndInert(f *testing.F) {
	for _, tex := range []string{
		`\frac{a}{b}`, `\begin{array}{l|r}a&b\\c\end{array}`, `\left\{x\middle|y\right.`, `\text{<script>}`, `x_{i'}^{2}''`, `\sqrt[3]{\mathbb N}`, `\operatorname*{arg\,max}_x`,
		strings.Repeat(`\frac`, 800), strings.Repeat(`\left(`, 400), strings.Repeat("^", 4000), strings.Repeat(`\hat`, 900), strings.Repeat(`\begin{matrix}`, 200),
		strings.Repeat("x_", 2000), strings.Repeat(`\sqrt[`, 600), strings.Repeat("(", 4096), strings.Repeat(`\\`, 2048), strings.Repeat("&", 4096), strings.Repeat("'", 4096),
	} {
		f.Add(tex, true)
	}
	f.Fuzz(func(t *testing.T, tex string, block bool) {
		is, ok := formula.MathML(tex, block)
		if !ok {
			require.Empty(t, is)
			return
		}
		require.Less(t, len(is), 200+64*len(tex), "in proportion to what was read")
		d := xml.NewDecoder(strings.NewReader(is))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			require.NoError(t, err, "%s", is)
			if start, is := token.(xml.StartElement); is {
				may, known := elements[start.Name.Local]
				require.True(t, known, start.Name.Local)
				for _, a := range start.Attr {
					require.Contains(t, strings.Fields(may), a.Name.Local)
				}
			}
		}
	})
}
