// Package student has the pages of students: their classes and assignments, submitting, results, and their tasks.
// Staff also use some of them and see more there.
package student
