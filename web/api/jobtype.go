package api

import (
	"context"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

func typeTable() []entry {
	return []entry{
		is(Operation{"listTypes", get, "/types", core.ActRequestCreate, school.ScopeRead, 0, "List the job types that the caller may use, by name"}, (*server).listTypes),
		is(Operation{"viewType", get, "/types/{type}", core.ActRequestCreate, school.ScopeRead, 0, "Return a job type"}, (*server).viewType),
		is(Operation{"setType", patch, "/types/{type}", core.ActClusterOperate, school.ScopeCluster, 0, "Create a job type, or change the given settings of one"}, (*server).setType),
		is(Operation{"setTypeHarness", put, "/types/{type}/harness", core.ActClusterOperate, school.ScopeCluster, 0, "Give a job type the harness in an archive, in place of a command"}, (*server).setTypeHarness),
		is(Operation{"deleteType", remove, "/types/{type}", core.ActClusterOperate, school.ScopeCluster, 0, "Delete a job type; requests that named it are not affected"}, (*server).deleteType),
	}
}

// OfType names a job type.
type OfType struct {
	Type string `path:"type"`
}

func (s *server) listTypes(ctx context.Context, a core.Actor, _ *nothing) (*answer[Page[core.JobType]], error) {
	return all(s.Requests.JobTypes(ctx, a))
}

func (s *server) viewType(ctx context.Context, a core.Actor, in *OfType) (*answer[core.JobType], error) {
	return answered(s.Requests.JobType(ctx, a, in.Type))
}

func (s *server) setType(ctx context.Context, a core.Actor, in *struct {
	OfType
	Body Change[core.JobType]
},
) (*answer[core.JobType], error) {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil { // before what is there is looked at
		return nil, err
	}
	t, err := s.Requests.JobType(ctx, a, in.Type)
	if core.Is(err, core.CodeNotFound) {
		t, err = core.JobType{Name: in.Type, Priority: core.PriorityNormal}, nil
	}
	had := t.Harness
	if err == nil {
		err = in.Body.onto(&t)
	}
	if err == nil && t.Name != in.Type {
		err = core.Errorf(core.CodeInvalid, in.Type, "a job type's name cannot be changed: make another one")
	}
	if err == nil && t.Harness != nil && (had == nil || *t.Harness != *had) {
		err = core.Errorf(core.CodeInvalid, in.Type, "a harness is not set by its digest: PUT its archive to /types/%s/harness", in.Type)
	}
	if err != nil {
		return nil, err
	}
	return answered(s.Requests.SetJobType(ctx, a, t))
}

func (s *server) setTypeHarness(ctx context.Context, a core.Actor, in *OfType) (*answer[core.JobType], error) {
	return answered(s.Requests.SetTypeHarness(ctx, a, in.Type, s.body(ctx, harness.MaxPackBytes)))
}

func (s *server) deleteType(ctx context.Context, a core.Actor, in *OfType) (*done, error) {
	return &done{}, s.Requests.DeleteJobType(ctx, a, in.Type)
}
