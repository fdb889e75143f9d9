package school

import "drover/core"

// ResultStore is all that an adapter of the result store must do, for the cluster and for the school.
type ResultStore interface {
	core.ResultStore
	Roster
	Accounts
	Assignments
	Submissions
	Experiments
}
