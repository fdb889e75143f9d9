// Package requests is how users work with requests: web, API and command line call a
// Service and nothing else, so they agree on who may do what, and on what they say of it.
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
// A request that grades a submission is seen by operators, without what the tests found,
// and by who teaches the class. Whose submission it is sees it through that, see
// core/classes. What an actor may not know of is NOTFOUND, in the words of what does not exist.
package requests
