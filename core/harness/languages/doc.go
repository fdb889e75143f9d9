// Package languages is the table of programming languages: how programs in each are built and run, which packages of
// Debian have what that needs, which version a system has, and how much more time than C a program needs in it. Problem
// packages, the compatible API of Judge0, images and pages all read this table. A language is an entry in table.go.
package languages

// File is where an image says which languages it has: a line for each, with code and version. Report writes such lines.
const File = "usr/share/drover/languages"
