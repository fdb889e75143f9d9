package enter

// Verb says what a Step does.
type Verb string

// The verbs, with the fields of Step that they use.
const (
	Unshare  Verb = "unshare"  // Bits: namespaces to leave
	IDs      Verb = "ids"      // Num: user and group to change to, without supplementary groups
	Hostname Verb = "hostname" // Text
	Mkdir    Verb = "mkdir"    // Path, Bits: mode
	Symlink  Verb = "symlink"  // Path, Text: its target
	Write    Verb = "write"    // Path, Text; Bits: mode of a new file
	Mount    Verb = "mount"    // From, Path, Type, Text: data, Bits: flags
	Restrict Verb = "restrict" // Path: sets the mount attributes Bits, on all mounts below too if Deep
	Hide     Verb = "hide"     // Path: a /proc; Args: what stays visible besides processes; From: an empty file that covers the rest
	Chdir    Verb = "chdir"    // Path
	Pivot    Verb = "pivot"    // makes the current folder the root and detaches the old one
	Loopback Verb = "loopback" // sets the loopback interface up
	Rlimit   Verb = "rlimit"   // Num: resource, and the most for both its limits
	Pin      Verb = "pin"      // Num: processors on which this process and its children run
	Nobody   Verb = "nobody"   // Bits: capabilities to keep, if Deep over Exec by a user other than root; sets no_new_privs
	Seccomp  Verb = "seccomp"  // Raw: array of struct sock_filter, Num: the system call's number
	Keep     Verb = "keep"     // Path: opened as descriptor Num, which survives Exec; Bits: flags of open, 0 for writing
	Fds      Verb = "fds"      // Num: this descriptor and all above close at Exec
	Say      Verb = "say"      // Text, to standard output
	Exec     Verb = "exec"     // Args, Env: our own executable, in place of this process
)

// Step is one action of a plan.
type Step struct {
	Do    Verb
	Path  string
	From  string
	Type  string
	Text  string
	Bits  uint64
	Num   []uint64
	Raw   []byte
	Args  []string
	Env   []string
	Deep  bool
	Maybe bool // a missing Path or From is no error
}

// Plan is what a VM's first process reads from standard input. An incomplete plan is not begun: its writer may have
// died.
type Plan struct {
	Steps []Step
}
