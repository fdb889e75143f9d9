package school

import "drover/core"

// ResultStore is what an adapter of the result store implements, for the cluster and for the school.
type ResultStore interface {
	core.ResultStore
	Roster
	Accounts
	Assignments
	Submissions
	Experiments
	Comments
	LTI
}
