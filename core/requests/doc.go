// Package requests has the operations of users on requests. Web, API and command line only call its Service, so they
// agree on rights and on what they show.
//
//	call                      right                                        refuses besides
//	Submit SubmitStored       request.create; for another: cluster.operate    INVALID, LIMIT, FULL, CONFLICT
//	Pools                     request.create
//	View OpenFile             request.view                                 CONFLICT: files are collected at the end
//	Row                       request.view                                 NOTFOUND: of plain requests only
//	List                      request.view, of each
//	Status Waiting Follow     request.view; submission.view
//	Attempts                  request.view; submission.view
//	SubmitBatch SubmitStoredBatch   as Submit, for each job           the same, and CONFLICT; names each wrong field
//	ViewBatch BatchResults ListBatches   request.view, of its submitter's
//	CancelBatch RerunBatch    request.control, of its submitter's          ENDED, CONFLICT by the state of its requests
//	JobTypes JobType          request.create or cluster.view
//	SetJobType SetTypeHarness DeleteJobType   cluster.operate
//	Cancel Rerun              request.control                              ENDED, CONFLICT by its state
//
// A request may name a job type, which says what it leaves out, see core.JobType. It is resolved when it is submitted.
//
// A batch is requests that were submitted together, see core.Batch. As a whole it is running if one of its requests is
// in a slot, else queued if one waits or is being made, else completed:
//
//	claimed running cancelling    running
//	queued parked, being made     queued
//	all others                    completed, with counts of how they ended
//
// Operators see a request that grades a submission without the findings of its tests; staff of the class see all of
// it. The owner of the submission sees it through the submission, see core/classes. For an actor without the right to
// view it, a request is NOTFOUND, with the same text as for one that does not exist.
package requests
