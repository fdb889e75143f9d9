// Package school has the words of what is taught: users and how they sign in, classes,
// assignments, submissions, grades and experiments, with the interfaces by which they are kept.
//
// The cluster does not import it. It imports core, whose requests grade submissions; what may be
// done with these things is in core/classes and core/account.
package school
