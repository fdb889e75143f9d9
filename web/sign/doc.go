// Package sign has the pages for signing in and out, those of users' own accounts, and those on which admins manage
// users.
package sign
