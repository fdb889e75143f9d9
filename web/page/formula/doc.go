// Package formula writes formulas in TeX as MathML, which browsers show without a script.
//
// It knows what statements of problems are made of: letters of several alphabets, indices and powers, fractions, roots,
// sums, functions, relations, arrows, delimiters of any height, text, and the environments for cases, matrices and
// equations in lines. What it does not know, it refuses: the page then shows the formula as it was typed.
//
// A formula comes from outside. It has no macros, so that what is written is in proportion to what was read; its length
// and its depth are bounded; and every text in it is escaped.
package formula
