package core

import (
	"cmp"
	"slices"
)

// InstanceStates lists the states of instances.
func InstanceStates() []InstanceState {
	return []InstanceState{
		InstanceValid, InstanceCreating, InstanceRunning, InstanceJoined, InstanceDraining, InstanceTerminating, InstanceTerminated,
	}
}

// Check returns INVALID or LIMIT.
func (i Instance) Check() error {
	if err := cmp.Or(
		CheckNames("instance", i.ID, "host group", i.Group), CheckLine(i.ID, "type", i.Type, MaxLine), CheckLine(i.ID, "region", i.Region, MaxLine),
		CheckLine(i.ID, "foreign name", i.Foreign, MaxLine), CheckTimes(i.ID, i.Created, i.Since, i.Deadline), CheckText(i.ID, "reason", i.Why, MaxReason),
		CheckRevision(i.ID, i.Revision),
	); err != nil {
		return err
	}
	if !slices.Contains(InstanceStates(), i.State) {
		return Errorf(CodeInvalid, i.ID, "instance %s cannot be %.40q", i.ID, i.State)
	}
	if i.Tries < 0 {
		return Errorf(CodeInvalid, i.ID, "instance %s cannot have been tried %d times", i.ID, i.Tries)
	}
	return nil
}

// CheckMove returns CONFLICT unless an instance may become this one: it is new (was is nil), or stays in its state or
// makes a move of the table, in its group.
func (i Instance) CheckMove(was *Instance) error {
	if was == nil {
		was = &Instance{Group: i.Group, Created: i.Created}
	}
	switch {
	case i.Group != was.Group || i.Created != was.Created:
		return Errorf(CodeConflict, i.ID, "instance %s was made for host group %s and has another origin now", i.ID, was.Group)
	case i.State == was.State || was.State.MayBecome(i.State):
		return nil
	case was.State == "":
		return Errorf(CodeConflict, i.ID, "a new instance cannot be %.40q", i.State)
	}
	return Errorf(CodeConflict, i.ID, "instance %s is %s and cannot become %.40q", i.ID, was.State, i.State)
}
