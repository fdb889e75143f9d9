package school

// Change is why a submission may count from now on, or count no more. Stores find the submission that counts again
// after each change that matters: one that may have become worse than others competes with all of its user's, any other
// with the one that counts.
type Change struct {
	results bool // the result changed
	falls   bool // its rank may have become lower
}

// The changes.
var (
	Submitted = Change{}
	Graded    = Change{} // by a person, for the first time
	Regraded  = Change{falls: true}
	Scored    = Change{results: true} // for the first time
	Unscored  = Change{results: true, falls: true}
)

// Matters reports whether another submission may count by an assignment's rules: results decide only where the best one
// counts.
func (c Change) Matters(a *Assignment) bool { return !c.results || a.Policy() == CountsBest }

// Falls reports whether the submission may have become worse than others of its user.
func (c Change) Falls() bool { return c.falls }

// Candidate returns the submission as it competes.
func (s *Standing) Candidate() Candidate {
	sub := &s.Submission
	return Candidate{ID: sub.ID, Kind: sub.Kind, At: sub.At, Graded: sub.Grade != nil, Score: s.Score}
}
