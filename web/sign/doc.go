// Package sign is the pages by which users come in and go, those of their own accounts,
// and those on which admins keep users.
package sign
