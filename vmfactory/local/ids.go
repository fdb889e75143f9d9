package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/agent/wire"
	"drover/vmfactory/cgroup"
)

// Users inside a VM.
const (
	agentID = 0 // of the agent, if it has its own user
	jobID   = wire.JobUID
	boxID   = wire.BoxUID // if user code has its own user
)

// mode is where the users of VMs come from.
type mode string

const (
	rangeMode  mode = "range"  // root: any users of the host
	subidMode  mode = "subid"  // newuidmap: this process's user and those assigned to it in /etc/subuid
	singleMode mode = "single" // this process's user, for agent and user code alike
)

// users returns how many users of the host a VM has for itself.
func (m mode) users() int {
	switch m {
	case rangeMode:
		return 3 // agent, user code, box
	case subidMode:
		return 2 // user code, box
	case singleMode:
	}
	return 0
}

// Root takes users from a range that neither people nor other programs' containers use (see systemd's list of user
// ranges), three per VM. The upper half of it is provider lxc's.
const (
	rangeStart = 1_879_048_192
	rangeEnd   = 2_013_265_920
)

// extent is a run of ids of the host.
type extent struct{ start, count int }

// owners are the host's users and groups to which VMs may be mapped.
type owners struct {
	mode       mode
	uids, gids extent // for user code, and in rangeMode for agents too
}

// findOwners returns the users of this machine that VMs may have.
func findOwners() (owners, error) {
	if os.Geteuid() == 0 {
		free, err := unusedRange("/proc/self/uid_map")
		if err != nil {
			return owners{}, err
		}
		return owners{mode: rangeMode, uids: free, gids: free}, nil
	}
	uids, uerr := lent("/etc/subuid", "newuidmap")
	gids, gerr := lent("/etc/subgid", "newgidmap")
	if err := errors.Join(uerr, gerr); err != nil {
		return owners{}, core.Wrap(err, core.CodeUnavailable, "", "cannot tell which users may be mapped into VMs")
	}
	if min(uids.count, gids.count) < subidMode.users() {
		return owners{mode: singleMode}, nil
	}
	return owners{mode: subidMode, uids: uids, gids: gids}, nil
}

// unusedRange returns rangeStart to rangeEnd or, in a container whose own users end before that, the upper half of
// its users. If root is the only user, it must not be given to user code: to the kernel it may be the real root.
func unusedRange(path string) (extent, error) {
	f, err := os.Open(path)
	if err != nil {
		return extent{}, core.Wrap(err, core.CodeUnavailable, "", "cannot read which users this machine has; is /proc mounted?")
	}
	defer f.Close() //nolint:errcheck // read only
	var most extent
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var inside, outside, count int
		if _, err := fmt.Sscan(lines.Text(), &inside, &outside, &count); err != nil {
			return extent{}, core.Wrap(err, core.CodeUnavailable, "", "cannot understand %s", path)
		}
		if inside <= rangeStart && inside+count >= rangeEnd {
			return extent{rangeStart, rangeEnd - rangeStart}, nil
		}
		if count > most.count {
			most = extent{inside, count}
		}
	}
	const few = 4096
	if most.count < few {
		return extent{}, core.Errorf(core.CodeUnavailable, "",
			"root has only %d users here: run drover as an ordinary user, or give this container at least %d", most.count, few)
	}
	return extent{most.start + most.count/2, most.count/2 - 1}, nil
}

// lent returns the ids that path assigns to this user; none if there is no program that maps them.
func lent(path, program string) (extent, error) {
	if _, err := exec.LookPath(program); err != nil {
		return extent{}, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return extent{}, nil
	}
	if err != nil {
		return extent{}, err
	}
	defer f.Close() //nolint:errcheck // read only
	uid := strconv.Itoa(os.Geteuid())
	name := uid
	if u, err := user.LookupId(uid); err == nil {
		name = u.Username
	}
	var most extent
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		who := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(who) != 3 || who[0] != name && who[0] != uid {
			continue
		}
		start, serr := strconv.Atoi(who[1])
		count, cerr := strconv.Atoi(who[2])
		if serr == nil && cerr == nil && count > most.count {
			most = extent{start, count}
		}
	}
	return most, lines.Err()
}

// places returns how many VMs can have users of their own.
func (o owners) places() int {
	if each := o.mode.users(); each > 0 {
		return min(o.uids.count, o.gids.count) / each
	}
	return 1
}

// having returns the places whose VMs would have one of these users.
func (o owners) having(u cgroup.Users) []int {
	each := o.mode.users()
	if each == 0 {
		return nil
	}
	first, last := max(u.First, o.uids.start)-o.uids.start, min(u.First+u.Count-1-o.uids.start, each*o.places()-1)
	var all []int
	for id := first; id <= last; id++ {
		if place := id / each; len(all) == 0 || all[len(all)-1] != place {
			all = append(all, place)
		}
	}
	return all
}

// mapping is one line of a map: an id inside the VM and the one on the host.
type mapping struct{ inside, outside int }

// maps returns the users and groups of the VM at a place.
func (o owners) maps(place int) (uids, gids []mapping) {
	switch o.mode {
	case rangeMode:
		first := o.uids.start + o.mode.users()*place
		uids = []mapping{{agentID, first}, {jobID, first + 1}, {boxID, first + 2}}
		return uids, uids
	case subidMode:
		first := o.mode.users() * place
		return []mapping{{agentID, os.Geteuid()}, {jobID, o.uids.start + first}, {boxID, o.uids.start + first + 1}},
			[]mapping{{agentID, os.Getegid()}, {jobID, o.gids.start + first}, {boxID, o.gids.start + first + 1}}
	case singleMode:
	}
	return []mapping{{jobID, os.Geteuid()}}, []mapping{{jobID, os.Getegid()}}
}

// apply maps users and groups into the namespace that pid is the first process of.
func (o owners) apply(ctx context.Context, pid, place int) error {
	uids, gids := o.maps(place)
	if o.mode == subidMode {
		return errors.Join(mapBy(ctx, "newuidmap", pid, uids), mapBy(ctx, "newgidmap", pid, gids))
	}
	folder := "/proc/" + strconv.Itoa(pid)
	if err := os.WriteFile(folder+"/uid_map", lines(uids), 0); err != nil {
		return err
	}
	if o.mode == singleMode { // required by the kernel for an ordinary user
		if err := os.WriteFile(folder+"/setgroups", []byte("deny"), 0); err != nil {
			return err
		}
	}
	return os.WriteFile(folder+"/gid_map", lines(gids), 0)
}

func lines(all []mapping) []byte {
	var text []byte
	for _, m := range all {
		text = fmt.Appendf(text, "%d %d 1\n", m.inside, m.outside)
	}
	return text
}

func mapBy(ctx context.Context, program string, pid int, all []mapping) error {
	args := []string{strconv.Itoa(pid)}
	for _, m := range all {
		args = append(args, strconv.Itoa(m.inside), strconv.Itoa(m.outside), "1")
	}
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	return nil
}
