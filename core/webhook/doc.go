// Package webhook has the rules of deliveries: their content, signature, allowed addresses, pauses and ids. It sends
// nothing itself: the taskrunner does.
//
// Format and signature are those of standardwebhooks.com; docs/webhooks.md is for receivers.
package webhook
