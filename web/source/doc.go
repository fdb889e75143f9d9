// Package source makes pages of files of users: source text as lines of HTML with syntax colours, notebooks as
// Markdown, code and pictures. A file is data: nothing of it reaches a browser as markup, script or style.
//
// A grammar is a few rules for chroma's lexer, which compiles them when the first file of the language is shown.
// Chroma's own package of lexers is not used: it reads 270 grammars before main begins.
package source
