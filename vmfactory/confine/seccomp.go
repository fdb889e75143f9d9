package confine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A VM's filter is loaded before the agent starts, so it applies to the agent and its children. It refuses with
// errno, so that programs that probe for a feature find it missing. Its purpose is to expose less of the kernel, and
// to block what namespaces do not separate: namespaces and users are the walls.

// Situation is what the filter depends on.
type Situation struct {
	OneUser bool // agent and user code have the same user
	Watched bool // memory is limited by a watchdog only
	Pinned  bool // the VM has processors of its own
}

// Filter returns the program to load, an array of struct sock_filter.
func Filter(s Situation) ([]byte, error) {
	made, err := filterCache(s)
	if err != nil {
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	return made, nil
}

var filterCache = func() func(Situation) ([]byte, error) {
	var mu sync.Mutex
	all := map[Situation][]byte{}
	return func(s Situation) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if made, ok := all[s]; ok {
			return made, nil
		}
		native, err := arch.GetInfo("")
		if err != nil {
			return nil, err
		}
		made, err := encode(program(native, s))
		if err == nil {
			all[s] = made
		}
		return made, err
	}
}()

// rule is the answer to a call whose arguments meet all conditions. Answer 0 is success: the call does nothing.
type rule struct {
	call   string
	answer unix.Errno
	when   conds
}

type conds []cond

// cond is a condition on the lower half of an argument. The kernel uses only that half of an int, and a caller may
// put anything into the upper half.
type cond struct {
	argument uint32
	mask     uint32
	values   []uint32
	want     bool // true: it is one of the values; false: it is none of them
	wide     bool // it is not 0, upper half included; the other fields are ignored
}

func is(argument uint32, values ...uint32) cond {
	return cond{argument: argument, mask: ^uint32(0), values: values, want: true}
}

func not(argument uint32, values ...uint32) cond {
	return cond{argument: argument, mask: ^uint32(0), values: values}
}

// masked is the condition that the argument, masked, is none of the values.
func masked(argument, mask uint32, values ...uint32) cond {
	return cond{argument: argument, mask: mask, values: values}
}

// bits is the condition that any of the bits is set.
func bits(argument, mask uint32) cond { return masked(argument, mask, 0) }

// given is the condition that a pointer is not nil.
func given(argument uint32) cond { return cond{argument: argument, wide: true} }

// Offsets in struct seccomp_data, and return values of a filter.
const (
	numberOffset, archOffset, argsOffset = 0, 4, 16

	verdictAllow, verdictErrno = 0x7fff0000, 0x00050000
)

func half(argument uint32, high bool) bpf.Instruction {
	off := argsOffset + 8*argument
	if high == (binary.NativeEndian.Uint16([]byte{1, 0}) == 1) {
		off += 4
	}
	return bpf.LoadAbsolute{Off: off, Size: 4}
}

// code falls through if the condition is met, and otherwise takes the jump whose index it returns.
func (c cond) code() (all []bpf.Instruction, unless int) {
	n := uint8(len(c.values)) //nolint:gosec // some dozens
	switch {
	case c.wide:
		all = []bpf.Instruction{
			half(c.argument, true),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 3},
			half(c.argument, false),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
		}
	default:
		all = []bpf.Instruction{half(c.argument, false)}
		if c.mask != ^uint32(0) {
			all = append(all, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
		}
		for i, v := range c.values {
			all = append(all, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: n - uint8(i)})
		}
		if !c.want {
			all = append(all, bpf.Jump{Skip: 1})
		}
	}
	return append(all, bpf.Jump{}), len(all)
}

// code answers the rule's call, or continues after its own end.
func (r rule) code() []bpf.Instruction {
	var all []bpf.Instruction
	var out []int
	for _, c := range r.when {
		part, unless := c.code()
		out = append(out, len(all)+unless)
		all = append(all, part...)
	}
	all = append(all, answer(r.answer))
	for _, at := range out {
		all[at] = bpf.Jump{Skip: uint32(len(all) - at - 1)} //nolint:gosec // behind it
	}
	return all
}

func answer(errno unix.Errno) bpf.RetConstant {
	return bpf.RetConstant{Val: verdictErrno | uint32(errno)} //nolint:gosec // a small number
}

// program judges calls of one architecture and refuses those of others.
func program(native *arch.Info, s Situation) []bpf.Instruction {
	numbers := verdicts(native, s)
	newest := 0
	for n := range numbers {
		newest = max(newest, n)
	}
	return decide(native, rules(s), newest, func(n int) bpf.RetConstant {
		if v, judged := numbers[n]; judged {
			return v
		}
		return answer(unix.ENOSYS)
	})
}

// step answers the calls from a number on, up to the next step's.
type step struct {
	from int
	code []bpf.Instruction
}

// decide answers a call by the first rule that applies to it, or else by its verdict. Those that are newer than newest
// all have one verdict.
func decide(native *arch.Info, all []rule, newest int, verdict func(number int) bpf.RetConstant) []bpf.Instruction {
	of := map[int][]bpf.Instruction{}
	for _, r := range all {
		if number, here := native.SyscallNames[r.call]; here {
			of[number] = append(of[number], r.code()...)
			newest = max(newest, number)
		}
	}
	var steps []step
	for n := range newest + 2 { // neighbours with one verdict, and no rules, are one step
		if n == 0 || len(of[n])+len(of[n-1]) > 0 || verdict(n) != verdict(n-1) {
			steps = append(steps, step{n, append(of[n], verdict(n))})
		}
	}
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(native.ID), SkipTrue: 1},
		answer(unix.ENOSYS),
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
	}, search(steps)...)
}

// search finds the step of the loaded number by halves. The kernel carries a filter out for each number when it is
// loaded, and for most calls whenever they are made.
func search(steps []step) []bpf.Instruction {
	if len(steps) == 1 {
		return steps[0].code
	}
	middle := len(steps) / 2
	low, high := search(steps[:middle]), search(steps[middle:])
	from := uint32(steps[middle].from) //nolint:gosec // a call's number
	const farthest = 255
	if len(low) > farthest {
		low = append([]bpf.Instruction{bpf.Jump{Skip: uint32(len(low))}}, low...) //nolint:gosec // a filter's length
		return slices.Concat([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: from, SkipFalse: 1}}, low, high)
	}
	return slices.Concat([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: from, SkipTrue: uint8(len(low))}}, low, high) //nolint:gosec // at most farthest
}

// BoxFilter returns the additional filter of the box if it has the user of its harness: an array of struct
// sock_filter. Landlock does not confine paths of sockets, so the box may have no socket that could connect to one.
func BoxFilter() ([]byte, error) {
	native, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("seccomp filter: %w", err)
	}
	all := []rule{{"socket", unix.EPERM, conds{is(0, unix.AF_UNIX)}}}
	for _, call := range boxRefused {
		all = append(all, rule{call, unix.EPERM, nil})
	}
	return encode(decide(native, all, 0, func(int) bpf.RetConstant { return bpf.RetConstant{Val: verdictAllow} }))
}

// verdicts are the answers to calls that do not depend on arguments.
func verdicts(native *arch.Info, s Situation) map[int]bpf.RetConstant {
	all := map[int]bpf.RetConstant{}
	put := func(names []string, v bpf.RetConstant) {
		for _, name := range names {
			if number, here := native.SyscallNames[name]; here {
				all[number] = v
			}
		}
	}
	put(allowed, bpf.RetConstant{Val: verdictAllow})
	put(refused, answer(unix.EPERM))
	put(absent, answer(unix.ENOSYS))
	put(idle, answer(0))
	put(unsupported, answer(unix.EOPNOTSUPP))
	if s.Watched {
		put(uncounted, answer(unix.ENOSYS))
	}
	if s.Watched && !s.OneUser { // otherwise the agent needs it, for the box
		put(landlock, answer(unix.ENOSYS))
	}
	if s.Pinned { // as where there are no others
		put([]string{"sched_setaffinity"}, answer(0))
	}
	if s.OneUser {
		put(oneUserRefused, answer(unix.EPERM))
	}
	return all
}

// encode returns a program in the kernel's format.
func encode(all []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(all)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, r := range raw {
		if err := binary.Write(&out, binary.NativeEndian, r); err != nil {
			return nil, err
		}
	}
	return slices.Clip(out.Bytes()), nil
}
