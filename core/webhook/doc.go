// Package webhook is how drover tells others of ends, whoever does the telling:
// what it writes, how it signs that, where it may go, when it tries again and what
// a delivery is called. It sends nothing itself: the taskrunner does.
//
// Form and signature are those of standardwebhooks.com; docs/webhooks.md is for those
// who receive them.
package webhook
