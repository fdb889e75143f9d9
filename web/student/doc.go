// Package student is the pages of those who learn: their classes and assignments,
// handing in, what became of it, and what drover does for them meanwhile. Who
// teaches reads some of them too and sees more there.
package student
