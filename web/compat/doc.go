// Package compat is what the compatible APIs for programs of other systems share: who calls, by the
// key that the program has where it used to have another, and how much a user may ask and
// bring. Compatible APIs know keys alone: a browser's session opens none of them.
package compat
