package formula

import (
	"html"
	"strings"
	"sync"
)

// kind says how a symbol behaves in a formula.
type kind int

const (
	identifier    kind = iota // a letter
	upright                   // a letter that is not slanted, or a name
	relation                  // between two things
	fence                     // a delimiter
	bigOperator               // a sum: its indices are below and above it
	integral                  // an integral: they are beside it
	limitOperator             // a name, such as max: they are below it in a block
)

type symbol struct {
	text string
	kind kind
}

func (s symbol) element() string {
	text := html.EscapeString(s.text)
	switch s.kind {
	case identifier:
		return element("mi", text)
	case upright, limitOperator:
		if len(s.text) > 1 && isLetter(s.text[0]) { // MathML slants single letters only
			return "<mi>" + text + `</mi>`
		}
		return `<mi mathvariant="normal">` + text + "</mi>"
	case bigOperator:
		return `<mo movablelimits="true" largeop="true">` + text + "</mo>"
	case integral:
		return `<mo largeop="true">` + text + "</mo>"
	case fence:
		if s.text == "|" || s.text == "‖" {
			return bar + text + "</mo>"
		}
		return `<mo stretchy="false">` + text + "</mo>"
	case relation:
	}
	return element("mo", text)
}

// symbols are the commands for one sign or one name; they are read from their table when a formula first needs them.
var symbols = sync.OnceValue(func() map[string]symbol {
	all := make(map[string]symbol, 400)
	for k, table := range tables {
		words := strings.Fields(table)
		for i := 0; i+1 < len(words); i += 2 {
			all[words[i]] = symbol{words[i+1], kind(k)}
		}
	}
	for name := range strings.FieldsSeq("log ln lg exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh dim deg ker hom arg lcm bmod mod") {
		all[name] = symbol{strings.TrimPrefix(name, "b"), upright}
		if name == "bmod" || name == "mod" {
			all[name] = symbol{"mod", relation}
		}
	}
	for name := range strings.FieldsSeq("max min sup inf lim gcd det Pr limsup liminf argmax argmin") {
		all[name] = symbol{name, limitOperator}
	}
	return all
})

// tables have a command and its sign by turns, for each kind.
var tables = [...]string{
	identifier: `alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ
		lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ
		chi χ psi ψ omega ω ell ℓ imath ı jmath ȷ`,
	upright: `Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω infty ∞ emptyset ∅
		varnothing ∅ nabla ∇ partial ∂ hbar ℏ Re ℜ Im ℑ aleph ℵ angle ∠ triangle △ square □ Box □ bot ⊥ top ⊤ degree °
		ldots … dots … cdots ⋯ dotsc … dotsb ⋯ dotso … vdots ⋮ ddots ⋱ % % $ $ # # & & _ _ checkmark ✓ N ℕ Z ℤ R ℝ Q ℚ
		spadesuit ♠ heartsuit ♡ diamondsuit ♢ clubsuit ♣ S § P ¶ textbackslash \ backslash \ textdollar $ textunderscore _
		blacksquare ■ bigstar ★ star ⋆ prime ′`,
	relation: `le ≤ leq ≤ leqslant ⩽ ge ≥ geq ≥ geqslant ⩾ lt < gt > ne ≠ neq ≠ ll ≪ gg ≫ approx ≈ equiv ≡ sim ∼ simeq ≃
		cong ≅ propto ∝ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ subsetneq ⊊ supset ⊃ supseteq ⊇ nsubseteq ⊈ mid ∣ nmid ∤
		parallel ∥ perp ⟂ prec ≺ succ ≻ preceq ⪯ succeq ⪰ vdash ⊢ models ⊨ times × cdot ⋅ div ÷ pm ± mp ∓ ast ∗ circ ∘
		bullet ∙ oplus ⊕ ominus ⊖ otimes ⊗ odot ⊙ cup ∪ cap ∩ sqcup ⊔ sqcap ⊓ setminus ∖ smallsetminus ∖ wedge ∧ land ∧
		vee ∨ lor ∨ neg ¬ lnot ¬ forall ∀ exists ∃ nexists ∄ to → rightarrow → leftarrow ← gets ← leftrightarrow ↔
		Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⟹ impliedby ⟸ iff ⟺ mapsto ↦ longrightarrow ⟶ longleftarrow ⟵
		longmapsto ⟼ Longrightarrow ⟹ hookrightarrow ↪ uparrow ↑ downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗
		searrow ↘ swarrow ↙ nwarrow ↖ coloneqq ≔ colon : triangleq ≜ doteq ≐ asymp ≍ therefore ∴ because ∵ dagger †
		ddagger ‡ amalg ⨿ bowtie ⋈ wr ≀ diamond ⋄ Vert ‖`,
	fence: `{ { } } lbrace { rbrace } lbrack [ rbrack ] langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ vert | lvert |
		rvert | lVert ‖ rVert ‖ | ‖`,
	bigOperator: `sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigsqcup ⨆ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀`,
	integral:    `int ∫ iint ∬ iiint ∭ oint ∮`,
}

// spaces are the commands for room, in widths of the letter m.
var spaces = map[string]string{
	",": "0.17em", "thinspace": "0.17em", ":": "0.22em", ">": "0.22em", "medspace": "0.22em", ";": "0.28em",
	"thickspace": "0.28em", "!": "-0.17em", " ": "0.33em", "\n": "0.33em", "quad": "1em", "qquad": "2em", "enspace": "0.5em",
}

// ignored are commands that change nothing here.
var ignored = map[string]bool{
	"displaystyle": true, "textstyle": true, "scriptstyle": true, "nonumber": true, "notag": true, "limits": true,
	"nolimits": true, "allowbreak": true, "hline": true, "/": true, "-": true, "rm": true, "normalsize": true,
}

type accentSign struct {
	text        string
	wide, below bool
}

var accents = map[string]accentSign{
	"hat": {text: "^"}, "bar": {text: "¯"}, "vec": {text: "→"}, "tilde": {text: "~"}, "dot": {text: "˙"}, "ddot": {text: "¨"},
	"widehat": {text: "^", wide: true}, "widetilde": {text: "~", wide: true}, "overline": {text: "¯", wide: true},
	"overrightarrow": {text: "→", wide: true}, "overbrace": {text: "⏞", wide: true},
	"underline": {text: "_", wide: true, below: true}, "underbrace": {text: "⏟", wide: true, below: true},
}

// alphabet is a kind of letters.
type alphabet struct {
	class   string // of the sheet
	text    bool   // its words keep their blanks
	letters func(string) string
}

// attribute returns what an element of these letters has; single letters of a name are not slanted.
func (a alphabet) attribute() string {
	switch {
	case a.class != "":
		return ` class="` + a.class + `"` + ` mathvariant="normal"`
	case a.letters != nil:
		return ""
	}
	return ` mathvariant="normal"`
}

var alphabets = map[string]alphabet{
	"text": {text: true}, "textrm": {text: true}, "textup": {text: true}, "textnormal": {text: true}, "mbox": {text: true},
	"hbox": {text: true}, "textsf": {text: true}, "textsc": {text: true},
	"textit": {text: true, class: "it"}, "emph": {text: true, class: "it"}, "textbf": {text: true, class: "bf"},
	"texttt": {text: true, class: "tt"},
	"mathrm": {}, "mathsf": {}, "mathit": {class: "it"}, "mathbf": {class: "bf"}, "bm": {class: "bf"}, "boldsymbol": {class: "bf"},
	"mathtt": {class: "tt"},
	"mathbb": {letters: doubled}, "mathcal": {letters: script}, "mathscr": {letters: script}, "mathfrak": {letters: fraktur},
}

// doubled, script and fraktur write letters in alphabets of Unicode, of which some have their place elsewhere.
func doubled(s string) string { return inAlphabet(s, '𝔸', '𝕒', "CℂHℍNℕPℙQℚRℝZℤ") }

func script(s string) string {
	return inAlphabet(s, '𝒜', '𝒶', "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ")
}

func fraktur(s string) string { return inAlphabet(s, '𝔄', '𝔞', "CℭHℌIℑRℜZℨ") }

func inAlphabet(s string, upper, lower rune, elsewhere string) string {
	others := []rune(elsewhere)
	return strings.Map(func(c rune) rune {
		for i := 0; i < len(others); i += 2 {
			if others[i] == c {
				return others[i+1]
			}
		}
		switch {
		case 'A' <= c && c <= 'Z':
			return upper + c - 'A'
		case 'a' <= c && c <= 'z':
			return lower + c - 'a'
		}
		return c
	}, s)
}
