package school

import "drover/core"

// Refusals of a result store for what it keeps for the school. Assignments are named class/handle; the argument of
// Deleting is what is being deleted ("class cs101"), that of NoRequestFor the submission.
var (
	NoUser                   = core.Refuse(core.CodeNotFound, "there is no user %s") // handle or e-mail address
	EmailTaken               = core.Refuse(core.CodeConflict, "the e-mail address %[2]s is another user's: use another one")
	UserIsEnrolled           = core.Refuse(core.CodeConflict, "user %s is in a class: drop it there first")
	UserHasSubmissions       = core.Refuse(core.CodeConflict, "user %s has submissions: disable it instead")
	NoClass                  = core.Refuse(core.CodeNotFound, "there is no class %s")
	ClassHasAssignments      = core.Refuse(core.CodeConflict, "class %s has assignments: delete them first")
	NoAssignment             = core.Refuse(core.CodeNotFound, "there is no assignment %s")
	AssignmentHasSubmissions = core.Refuse(core.CodeConflict, "assignment %s has submissions: delete them first")
	Deleting                 = core.Refuse(core.CodeConflict, "%[2]s is being deleted")
	NoSubmission             = core.Refuse(core.CodeNotFound, "there is no submission %s")
	SubmissionTaken          = core.Refuse(core.CodeConflict, "submission id %s is taken by another submission: make a new id")
	NoRequestFor             = core.Refuse(core.CodeNotFound, "there is no request %s that was made for submission %s")
	NoExperiment             = core.Refuse(core.CodeNotFound, "there is no experiment %s")
	NoComment                = core.Refuse(core.CodeNotFound, "there is no comment %s")
	CommentTaken             = core.Refuse(core.CodeConflict, "comment id %s is taken: make a new id")
	TokenTaken               = core.Refuse(core.CodeConflict, "there is a token %s already: make another one")
	IdentityTaken            = core.Refuse(core.CodeConflict, "this identity of %[2]s is another user's")
	NoIdentity               = core.Refuse(core.CodeNotFound, "no user has this identity of %s") // with its issuer
)

// NoToken returns the NOTFOUND of a token. It reveals nothing of the secret.
func NoToken() error {
	return core.Errorf(core.CodeNotFound, "", "there is no such token: it was used up, revoked or never made")
}

// MaxDeadlines bounds the personal deadlines of a class.
const MaxDeadlines = 10_000

// The quotas of a class and of a user.
var (
	DeadlineQuota   = core.Quota{Most: MaxDeadlines, Text: "class %s has %d personal deadlines, the most there may be: move the assignments' own"}
	MembershipQuota = core.Quota{Most: MaxMemberships, Text: "user %s is in %d classes, the most there may be: drop it from some"}
	CommentQuota    = core.Quota{Most: MaxComments, Text: "submission %s has %d comments, the most there may be: delete some"}
	TokenQuota      = core.Quota{Most: MaxTokens, Text: "user %s has %d tokens, the most there may be: revoke some"}
	IdentityQuota   = core.Quota{Most: MaxIdentities, Text: "user %s has %d identities, the most there may be: remove some"}
)
