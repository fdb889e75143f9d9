package core

import (
	"context"
	"slices"
)

// EntityInstance is a machine of a host provider, whose states only the result store has.
const EntityInstance Entity = "instance"

// InstanceState is the state of an instance, see InstanceTransitions.
type InstanceState string

// The states of an instance.
const (
	InstanceValid       InstanceState = "valid"       // decided; its provider may not know it yet
	InstanceCreating    InstanceState = "creating"    // its provider is asked for it
	InstanceRunning     InstanceState = "running"     // its provider has it
	InstanceJoined      InstanceState = "joined"      // its host registered
	InstanceDraining    InstanceState = "draining"    // its host finishes what it has in hand
	InstanceTerminating InstanceState = "terminating" // its provider is asked to end it
	InstanceTerminated  InstanceState = "terminated"  // its provider does not have it any more
)

// InstanceTransitions is the part of the table of legal moves that is about instances. By names methods of ResultStore.
func InstanceTransitions() []Transition {
	put := []string{"PutInstance"}
	return []Transition{
		{EntityInstance, "", string(InstanceValid), put, "its group is to have one more"},
		{EntityInstance, string(InstanceValid), string(InstanceCreating), put, "an overseer asks its provider for it"},
		{EntityInstance, string(InstanceValid), string(InstanceTerminated), put, "not needed any more before it was asked for"},
		{EntityInstance, string(InstanceCreating), string(InstanceValid), put, "its provider did not make it: asked for again"},
		{EntityInstance, string(InstanceCreating), string(InstanceRunning), put, "its provider has it"},
		{EntityInstance, string(InstanceCreating), string(InstanceTerminating), put, "its provider failed too often, or it is not needed any more"},
		{EntityInstance, string(InstanceRunning), string(InstanceJoined), put, "its host registered"},
		{EntityInstance, string(InstanceRunning), string(InstanceTerminating), put, "its host did not register in time, or its provider lost it"},
		{EntityInstance, string(InstanceJoined), string(InstanceDraining), put, "its group has too many, or its provider takes it back"},
		{EntityInstance, string(InstanceJoined), string(InstanceTerminating), put, "its host is lost, or its provider lost it"},
		{EntityInstance, string(InstanceDraining), string(InstanceJoined), put, "its group needs it after all"},
		{EntityInstance, string(InstanceDraining), string(InstanceTerminating), put, "its host has nothing in hand any more, or its time is over"},
		{EntityInstance, string(InstanceTerminating), string(InstanceTerminated), put, "its provider does not have it any more"},
	}
}

// MayBecome reports whether the table has a transition from s to the other state.
func (s InstanceState) MayBecome(to InstanceState) bool {
	return slices.ContainsFunc(InstanceTransitions(), func(t Transition) bool { return t.From == string(s) && t.To == string(to) })
}

// Instance is a machine that a host provider makes for the cluster, or made.
type Instance struct {
	ID       string        `json:"id"`    // <group>-<number>: also the token under which its provider makes it at most once, and its host's name
	Group    string        `json:"group"` // the HostGroup that it belongs to
	State    InstanceState `json:"state"`
	Type     string        `json:"type,omitempty"`        // of machine, as its provider names it
	Region   string        `json:"region,omitempty"`      // where its provider makes it
	Foreign  string        `json:"foreign,omitempty"`     // its provider's name for it, once that is known
	Size     Size          `json:"size"`                  // what it has for VMs, as its group says
	Cores    int           `json:"cores,omitempty"`       // that count against its group's limit
	Cost     int64         `json:"cost,omitempty"`        // an hour, as MachineType.Cost
	Tries    int           `json:"tries,omitempty"`       // failed attempts to make it
	Failed   bool          `json:"failed,omitempty"`      // it never became a host: its group gives up for a while
	Reclaim  bool          `json:"reclaim,omitempty"`     // its provider takes it back: its drain is not ended
	Created  int64         `json:"created_ms"`            // ms since 1970, by the server's clock, as all moments here
	Since    int64         `json:"since_ms"`              // when it got its state
	Joined   int64         `json:"joined_ms,omitempty"`   // when its host registered; 0: it did not
	Idle     int64         `json:"idle_ms,omitempty"`     // since when its host has nothing in hand; 0: it has, or is not there
	Deadline int64         `json:"deadline_ms,omitempty"` // of a drain: when it is terminated at the latest
	Why      string        `json:"why,omitempty"`         // why it has its state
	Revision int64         `json:"revision"`
}

// InstanceFilter selects instances. A zero field matches every instance.
type InstanceFilter struct {
	Group  string
	States []InstanceState
	Before string // instances with ids before this one (newest first): a page's cursor
	Limit  int    // 1 to 1000; 0 is 50
}

// Instances keeps the instances of host providers and their groups. Put is as in school.Roster.
type Instances interface {
	// PutHostGroup returns LIMIT for one more than MaxHostGroups.
	PutHostGroup(ctx context.Context, g HostGroup) (revision int64, err error)
	// DeleteHostGroup returns NOTFOUND for an unknown name, CONFLICT if it has instances that are not terminated.
	DeleteHostGroup(ctx context.Context, name string) error
	// HostGroups lists all, in order of name; there are at most MaxHostGroups.
	HostGroups(ctx context.Context) ([]HostGroup, error)

	// PutInstance returns NOTFOUND for a new one of a group that is not there, CONFLICT for a move that is none of the
	// table, see Instance.CheckMove.
	PutInstance(ctx context.Context, i Instance) (revision int64, err error)
	// GetInstance returns NOTFOUND for an unknown id.
	GetInstance(ctx context.Context, id string) (Instance, error)
	// ListInstances lists instances, newest first.
	ListInstances(ctx context.Context, f InstanceFilter) ([]Instance, error)
}

// MaxHostGroups bounds the groups of hosts.
const MaxHostGroups = 100
