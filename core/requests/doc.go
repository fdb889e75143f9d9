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
//	Cancel Rerun              request.control                              ENDED, CONFLICT by its state
//
// Operators see a request that grades a submission without the findings of its tests; staff of the class see all of
// it. The owner of the submission sees it through the submission, see core/classes. For an actor without the right to
// view it, a request is NOTFOUND, with the same text as for one that does not exist.
package requests
