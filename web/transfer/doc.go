// Package transfer moves files between users and the site: what is submitted comes
// in file by file, archives unpacked on the way, and what is stored goes out as
// downloads that no browser shows.
//
// Nothing is ever whole in memory, all is bounded, and a connection lasts as long as
// something moves on it.
package transfer
