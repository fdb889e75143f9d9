// Package classes is how users work with classes, assignments, submissions,
// grades and tasks. Web, API and command line call a Service and nothing
// else, so they agree on who may do what.
//
// Every call takes the acting user first. A change goes: right, input, entry of the consistency check
// audit log, change; if the change then fails, a second entry says so. Rights are looked up
// in core.Rights alone. What an actor may not know of is not there: a class that it
// is not in, an assignment that is hidden, another's submission, another's task. The
// error is NOTFOUND, in the words of what does not exist.
//
//	call                                       right                                    refuses besides
//	Actor                                      none: whoever asks knows who it is       FORBIDDEN for a disabled user
//	FindClass FindAssignment                   class.view, assignment.view              INVALID with the candidates, if several
//	ViewUser                                   user.view                                FORBIDDEN, also for users that are not there
//	ListUsers CreateUser EditUser DeleteUser   user.manage                              CONFLICT: the last admin stays one
//	ViewClass ListClasses                      class.view
//	CreateClass DeleteClass                    class.manage
//	EditClass                                  class.edit                               CONFLICT: it is being deleted
//	Roster                                     roster.view
//	ViewMember                                 roster.view
//	Enrol Drop ImportRoster                    enrol.<role>, of the new and the old     CONFLICT: the class is being deleted
//	ViewAssignment ListAssignments             assignment.view; .peek while hidden
//	CreateAssignment EditAssignment            assignment.edit                          CONFLICT: class or assignment is being deleted
//	EditableAssignment                         assignment.edit
//	SetHarness RemoveHarness                   assignment.edit                          the same
//	PoolChoices                                assignment.edit
//	DeleteAssignment                           assignment.edit
//	SetDeadline                                deadline.edit                            NOTFOUND: the user is not in the class
//	Deadlines                                  deadline.edit; one's own: class.view
//	Submit                                     submission.create; _for: another's       ENDED after the cutoff, unless _for
//	ViewSubmission ListSubmissions             submission.view
//	WatchSubmission                            submission.view
//	OpenFile OpenZip                           submission.view
//	PreviewSubmission                          submission.view                          NOTFOUND: its owner does not see it
//	Resubmit                                   submission.rerun                         ENDED as Submit; CONFLICT: waits, or was tested
//	CancelSubmission                           submission.rerun                         CONFLICT: it is not graded; ENDED
//	Progress Report GradeHistory Missing       grade.view
//	ChangeGrade                                grade.change                             INVALID without a reason
//	StartTask                                  the kind's; one's own: its own right     CONFLICT: class or assignment is being deleted
//	StartExperiment                            experiment                               CONFLICT: another one is not decided
//	Experiments ViewExperiment                 experiment
//	ExperimentProgress                         experiment
//	ApplyExperiment AbortExperiment            experiment                               CONFLICT, ENDED by its state
//	ViewWebhook ListWebhooks Deliveries        webhook
//	AddWebhook EditWebhook                     webhook                                  LIMIT: an end is told to few of a class
//	RotateWebhook RemoveWebhook                webhook
//	TestWebhook Redeliver                      webhook                                  CONFLICT: it is disabled, or on its way
//	AuditEntries                                      audit.view
//	ViewTask ListTasks TrackTask TrackTasks    task.view
//	CancelTask RetryTask                       task.control; what the task makes        ENDED, CONFLICT by its state
//	OpenDownload                               task.download; what the task made        ENDED once it has expired
//	Schedules SetSchedule                      schedule; what the task makes            INVALID for kinds that are not made so
//	RemoveSchedule RunSchedule                 schedule                                 CONFLICT: the last task has not ended
//
// A class or assignment that is being deleted is shown to its staff only, who can do
// nothing with it but have it deleted once more.
package classes
