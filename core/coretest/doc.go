// Package coretest gives tests the two servers that drover's Redis code must
// work on: miniredis, and a real redis-server reached by a user who may touch
// the test's own namespace only. It is imported by tests only.
package coretest
