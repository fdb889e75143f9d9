// Package transfer moves files between users and the site: submitted files are received one by one, with archives
// unpacked on the way, and stored files are sent as downloads that browsers do not show.
//
// No file is ever whole in memory, everything is bounded, and a connection lasts as long as data moves on it.
package transfer
