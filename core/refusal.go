package core

// Refusal makes an error whose wording is the same everywhere, from an object's id and the other values in the
// sentence.
type Refusal func(id string, args ...any) error

// Refuse returns the Refusal with a code and a sentence.
func Refuse(code Code, text string) Refusal {
	return func(id string, args ...any) error { return Errorf(code, id, text, append([]any{id}, args...)...) }
}

// Refusals of a result store for what it keeps for the cluster.
var (
	NoRequest    = Refuse(CodeNotFound, "there is no request %s")
	RequestTaken = Refuse(CodeConflict, "request id %s is taken by another request: make a new id")
	NoTask       = Refuse(CodeNotFound, "there is no task %s")
	TaskTaken    = Refuse(CodeConflict, "task id %s is taken by another task: make a new id")
	TaskTwin     = Refuse(CodeConflict, "another task does the same as %s and has not ended yet: wait for its end, or cancel it")
	NoSchedule   = Refuse(CodeNotFound, "there is no schedule %s")
	NoWebhook    = Refuse(CodeNotFound, "there is no webhook %s")
	NoLease      = Refuse(CodeNotFound, "there is no lease %s")
	LeaseTaken   = Refuse(CodeConflict, "lease id %s belongs to a lease that was deleted: make a new id")
	LeaseInUse   = Refuse(CodeConflict, "lease %s is %s, and is not deleted before nothing of it is left on hosts")
	NoHostGroup  = Refuse(CodeNotFound, "there is no host group %s")
	GroupInUse   = Refuse(CodeConflict, "host group %s has instances that are not terminated: set its max to 0, and wait until they are")
	NoInstance   = Refuse(CodeNotFound, "there is no instance %s")
	NoImage      = Refuse(CodeNotFound, "there is no image %s: build or import it first")
)

// StaleCalendar is the error of a write of a lease that was decided by another revision of the calendar.
func StaleCalendar(id string) error {
	return Errorf(CodeConflict, id, "another lease was written before lease %s could be: read the calendar again, then decide anew", id)
}

// NotPut returns the reason why an object was not stored under a revision (0: a new object): CONFLICT if it exists
// and was made or changed by somebody else, NOTFOUND if it is gone. What describes the object for people, such as
// "user ann".
func NotPut(what, id string, revision int64, there bool) error {
	switch {
	case revision == 0:
		return Errorf(CodeConflict, id, "there is a %s already: take another name, or change that one", what)
	case there:
		return Errorf(CodeConflict, id, "somebody changed %s meanwhile: read it again, then change it", what)
	}
	return Errorf(CodeNotFound, id, "there is no %s any more", what)
}
