// Package classes has the operations of users on classes, assignments, submissions,
// grades and tasks. Web, API and command line only call its Service, so they agree on
// rights.
//
// Every call takes the acting user first. A change checks the right and the input, writes
// an entry to the audit log, and then changes the store; if that fails, a second entry says
// so. Rights are in core.Rights only. An object that the actor may not see is NOTFOUND, with
// the same text as one that does not exist: a class that the actor is not in, a hidden
// assignment, another user's submission or task.
//
//	call                                       right                                    refuses besides
//	Actor                                      none: the caller has authenticated it     FORBIDDEN for a disabled user
//	FindClass FindAssignment                   class.view, assignment.view              INVALID with the candidates, if several
//	ViewUser                                   user.view                                FORBIDDEN, also for users that are not there
//	ListUsers CreateUser EditUser DeleteUser   user.manage                              CONFLICT: the last admin stays one
//	ViewClass ListClasses                      class.view
//	CreateClass DeleteClass                    class.manage
//	EditClass                                  class.edit                               CONFLICT: it is being deleted
//	ClassTitle AssignmentTitle                 none: handles of what the actor may not view
//	PersonName Names                           none: handles without roster.view
//	Roster FindMembers                         roster.view
//	ViewMember                                 roster.view
//	Enrol Drop ImportRoster                    enrol.<role>, of the new and the old     CONFLICT: the class is being deleted
//	SetSection                                 enrol.<role>                             CONFLICT: the class is being deleted
//	LastImport UndoImport                      enrol.<role>, of the new and the old     CONFLICT: it is undone already
//	ViewAssignment ListAssignments Languages   assignment.view; .peek while hidden
//	ViewHandout OpenHandout ZipSamples         the same
//	CreateAssignment EditAssignment            assignment.edit                          CONFLICT: class or assignment is being deleted
//	CreateGraded                               assignment.edit                          the same
//	EditableAssignment                         assignment.edit
//	SetHarness RemoveHarness                   assignment.edit                          the same
//	ViewHarness OpenHarness                    assignment.edit
//	StageHarness ViewStagedHarness             assignment.edit                          INVALID, NOTFOUND once it is purged
//	DraftCases SaveCases                       assignment.edit                          CONFLICT: it has another harness by now
//	PoolChoices                                assignment.edit
//	DeleteAssignment                           assignment.edit
//	SetDeadline                                deadline.edit                            NOTFOUND: the user is not in the class
//	Deadlines                                  deadline.edit; one's own: class.view
//	Submit                                     submission.create; _for: another's       ENDED after the cutoff, unless _for
//	ViewSubmission ListSubmissions             submission.view
//	WatchSubmission                            submission.view
//	OpenFile OpenFiles OpenZip                 submission.view
//	PreviewSubmission                          submission.view                          NOTFOUND: its owner does not see it
//	Comments SeeComments                       submission.view
//	AddComment Answer                          submission.comment                       LIMIT: so many on one submission
//	Ask                                        submission.ask                           LIMIT: so many on one submission
//	EditComment DeleteComment                  submission.comment; a question's: .ask
//	ReleaseComments                            submission.comment
//	ReleaseAllComments                         grade.change                             CONFLICT: it is being deleted
//	OpenQuestions                              grade.view
//	CountQuestions                             submission.comment; none of other classes
//	UnreadComments                             one's own
//	Resubmit                                   submission.rerun                         ENDED as Submit; CONFLICT: waits, or was tested
//	CancelSubmission                           submission.rerun                         CONFLICT: it is not graded; ENDED
//	Progress Report GradeHistory Missing       grade.view
//	Gradebook                                  grade.view
//	Counts                                     assignment.view; another's: submission.view
//	Standings Overview                         grade.view
//	Stats StatsSeries                          grade.view
//	ChangeGrade                                grade.change                             INVALID without a reason
//	StartTask                                  the kind's; one's own: its own right     CONFLICT: class or assignment is being deleted
//	StartExperiment                            experiment                               CONFLICT: another one is not decided
//	Experiments ViewExperiment                 experiment
//	ExperimentProgress                         experiment
//	ApplyExperiment AbortExperiment            experiment                               CONFLICT, ENDED by its state
//	ViewWebhook ListWebhooks Deliveries        webhook
//	AddWebhook EditWebhook                     webhook                                  LIMIT: an end notifies few of a class
//	RotateWebhook RemoveWebhook                webhook
//	TestWebhook Redeliver                      webhook                                  CONFLICT: it is disabled, or on its way
//	AuditEntries                               audit.view
//	ViewTask ListTasks TrackTask TrackTasks    task.view
//	CancelTask RetryTask                       task.control; what the task makes        ENDED, CONFLICT by its state
//	OpenDownload                               task.download; what the task made        ENDED once it has expired
//	Schedules SetSchedule                      schedule; what the task makes            INVALID for kinds that are not schedulable
//	RemoveSchedule RunSchedule                 schedule                                 CONFLICT: the last task has not ended
//
// A class or assignment that is being deleted is visible to its staff only, who can only
// repeat the deletion.
package classes
