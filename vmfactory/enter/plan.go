package enter

// Verb says what a Step does.
type Verb string

// The verbs, with the fields of Step that they use.
const (
	Unshare  Verb = "unshare"  // Bits: namespaces to leave
	IDs      Verb = "ids"      // Num: user and group to become, with no further groups
	Hostname Verb = "hostname" // Text
	Mkdir    Verb = "mkdir"    // Path, Bits: mode
	Symlink  Verb = "symlink"  // Text: what Path points to
	Write    Verb = "write"    // Path, Text; Bits: mode if it is new
	Mount    Verb = "mount"    // From, Path, Type, Text: data, Bits: flags
	Restrict Verb = "restrict" // Path: sets the mount attributes Bits, on all mounts below too if Deep
	Hide     Verb = "hide"     // Path: a /proc whose top shows its processes and Args; From: an empty file over the others
	Chdir    Verb = "chdir"    // Path
	Pivot    Verb = "pivot"    // makes the current folder the root and drops the old one
	Loopback Verb = "loopback" // sets the loopback interface up
	Rlimit   Verb = "rlimit"   // Num: resource, and the most for both its limits
	Nobody   Verb = "nobody"   // Bits: capabilities to keep, by another user than root over Exec too if Deep; sets no_new_privs
	Seccomp  Verb = "seccomp"  // Raw: array of struct sock_filter, Num: the system call's number
	Keep     Verb = "keep"     // Path: opened as descriptor Num, which survives Exec; Bits: flags of open, 0 for writing
	Fds      Verb = "fds"      // Num: this descriptor and all above close at Exec
	Say      Verb = "say"      // Text, to standard output
	Exec     Verb = "exec"     // Args, Env: our own executable, in place of this process
)

// Step is one thing to do on the way into a VM.
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
	Maybe bool // a Path or From that does not exist is fine
}

// Plan is what a VM's first process gets on standard input. A plan that is cut
// short is not begun: its writer may have died.
type Plan struct {
	Steps []Step
}
