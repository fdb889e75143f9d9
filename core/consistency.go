package core

import "context"

// Rule names an invariant that the consistency check verifies.
type Rule string

// The rules.
const (
	RuleKeys     Rule = "keys"     // every key in the namespace is one that drover makes, of its type
	RuleRequests Rule = "requests" // every accepted, unfinished request is in exactly one queue or slot
	RuleMoves    Rule = "moves"    // a request is where the record of its evacuation says
	RuleTurns    Rule = "turns"    // a submitter with waiting requests is in turn exactly once
	RuleOwners   Rule = "owners"   // only registered owners hold something; their epochs agree
	RuleTokens   Rule = "tokens"   // a slot's token is of an epoch that its owner had
	RuleVMs      Rule = "vms"      // every VM is in exactly one place
	RuleTasks    Rule = "tasks"    // every unfinished task is waiting, scheduled or in a slot
	RuleHosts    Rule = "hosts"    // a host has a state; one that is down has nothing
	RuleCounts   Rule = "counts"   // counters for pages and limits agree with what they count
	RuleOutput   Rule = "output"   // live output has a time to live, and is counted
	RuleOversold Rule = "oversold" // no host holds more of leases than it has
	RuleLedger   Rule = "ledger"   // Redis and the result store agree on what is unfinished
	RuleLeft     Rule = "leftover" // no record refers to something that is gone; a bell rings once
)

// Violation is one broken invariant.
type Violation struct {
	Rule Rule   `json:"rule"`
	ID   string `json:"id"`   // the request, VM, owner, host or key
	Text string `json:"text"` // what is wrong with it
}

// Consistency finds broken invariants and mends them.
type Consistency interface {
	// CheckConsistency reads all of Redis, in small steps whose number grows with the waiting work. It reads each
	// finding again and returns only those that were wrong every time: on a busy cluster, records that move during
	// the check can look wrong once.
	CheckConsistency(ctx context.Context) ([]Violation, error)
	// Mend repairs a finding of a consistency check, after verifying it again. Claimed work stays where it is, other
	// work is queued, a VM that may have been used is destroyed, and an owner whose records disagree is fenced.
	// Returns false if the finding is not true any more, or only a person can mend it.
	Mend(ctx context.Context, v Violation) (bool, error)
}
