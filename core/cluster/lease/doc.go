// Package lease decides on leases: which hosts can hold what is reserved, and which hold it instead when one fails. What
// it decides is written against the calendar's revision, so two that decide at the same time cannot sell room twice.
package lease
