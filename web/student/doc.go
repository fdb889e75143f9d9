// Package student is the pages of those who learn: their classes and assignments,
// submitting, what became of it, and what drover does for them meanwhile. Who
// teaches reads some of them too and sees more there.
package student
