// Package account is how users prove who they are: by a password, a one-time link, a
// token of a program, or the word of a provider of OpenID Connect.
//
// What can be guessed is bounded twice, by user and by address, and costs the same
// whether there is such a user or not. Nothing of a secret is kept but a hash, and
// nothing of it is in the audit log or an error.
package account
