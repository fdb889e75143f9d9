package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Bounds of groups of hosts.
const (
	MaxGroupHosts   = 1000
	MaxProfileBytes = 64 << 10
)

// HostProviders lists the providers of hosts.
func HostProviders() []string { return []string{"command", "ec2", "process"} }

// Check returns INVALID or LIMIT. What is in its profile is for its provider to check.
func (g HostGroup) Check() error {
	if err := CheckName("host group", g.Name); err != nil {
		return err
	}
	if _, err := ParseLabels(g.Labels); err != nil {
		return err
	}
	switch {
	case !slices.Contains(HostProviders(), g.Provider):
		return Errorf(CodeInvalid, g.Name, "host group %s: provider %.40q is none: use %s", g.Name, g.Provider, strings.Join(HostProviders(), ", "))
	case len(g.Profile) > MaxProfileBytes:
		return Errorf(CodeLimit, g.Name, "host group %s: its profile has %d bytes, at most %d are allowed", g.Name, len(g.Profile), MaxProfileBytes)
	case len(g.Profile) > 0 && !json.Valid(g.Profile):
		return Errorf(CodeInvalid, g.Name, "host group %s: its profile is not JSON", g.Name)
	case g.Size.CPU < 0 || g.Size.Memory < 0 || g.Size.Disk < 0:
		return Errorf(CodeInvalid, g.Name, "host group %s: the size of its hosts must not be below 0", g.Name)
	case g.Min < 0 || g.Max < g.Min:
		return Errorf(CodeInvalid, g.Name, "host group %s: min %d must be between 0 and max %d", g.Name, g.Min, g.Max)
	case g.Max > MaxGroupHosts:
		return Errorf(CodeLimit, g.Name, "host group %s: max %d is more than %d hosts", g.Name, g.Max, MaxGroupHosts)
	}
	return CheckRevision(g.Name, g.Revision)
}

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
