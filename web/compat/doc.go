// Package compat has what the compatible APIs for programs of other systems share: authentication by a token in the
// place of the other system's key, and limits on a user's calls and bytes. Compatible APIs accept only tokens, never
// a browser's session.
package compat
