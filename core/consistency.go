package core

import "context"

// Rule names an invariant that a consistency check checks.
type Rule string

// The rules.
const (
	RuleKeys     Rule = "keys"     // every key in the namespace is one that drover makes, of its type
	RuleRequests Rule = "requests" // every accepted, unfinished request is in exactly one queue or slot
	RuleMoves    Rule = "moves"    // a request is where the record of its evacuation says
	RuleTurns    Rule = "turns"    // a submitter is in turn exactly once if something of it waits
	RuleOwners   Rule = "owners"   // nothing is held by an owner that is not there; its epochs agree
	RuleTokens   Rule = "tokens"   // a slot's token is of an epoch that its owner had
	RuleVMs      Rule = "vms"      // every VM is in exactly one place
	RuleTasks    Rule = "tasks"    // every unfinished task is waiting, scheduled or in a slot
	RuleHosts    Rule = "hosts"    // a host has a state; one that is down has nothing
	RuleCounts   Rule = "counts"   // what is counted for pages and limits is what is there
	RuleOutput   Rule = "output"   // live output goes by itself, and is counted
	RuleLeft     Rule = "leftover" // nothing is noted of what is not there; a bell rings once
)

// Violation is one broken invariant.
type Violation struct {
	Rule Rule   `json:"rule"`
	ID   string `json:"id"`   // the request, VM, owner, host or key
	Text string `json:"text"` // what is wrong with it
}

// Consistency finds broken invariants.
type Consistency interface {
	// Consistency reads everything, in small steps that take the longer the more work
	// waits. What looks wrong it reads again, and tells what looked so each time: on
	// a busy cluster, what moves while it is read looks wrong now and then.
	CheckConsistency(ctx context.Context) ([]Violation, error)
	// Mend puts right what a consistency check found, after looking again. Work in hand stays
	// there, other work waits, a VM that may have been used is destroyed, an owner
	// whose records do not agree is fenced. False: it is not so any more, or only a
	// person can mend it.
	Mend(ctx context.Context, v Violation) (bool, error)
}
