// Package school is the domain of the school: users and how they authenticate, classes, assignments, submissions,
// grades and experiments, with the interfaces of their stores.
//
// The cluster does not import it. It imports core, whose requests grade submissions. The operations on these types
// are in core/classes and core/account.
package school
