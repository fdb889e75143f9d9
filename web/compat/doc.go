// Package compat is what the doors for programs of other systems share: who calls, by the
// key that the program has where it used to have another, and how much a user may ask and
// bring. Doors know keys alone: a browser's session opens none of them.
package compat
