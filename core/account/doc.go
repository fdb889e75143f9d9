// Package account authenticates users: by a password, a one-time link, a program's token, or a provider of OpenID
// Connect.
//
// Guessing is limited twice, by user and by address, and takes as long whether there is such a user or not. Of a
// secret only a hash is stored, and nothing of it is in the audit log or an error.
package account
