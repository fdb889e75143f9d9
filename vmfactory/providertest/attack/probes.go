package attack

// More is the number of the first attack beyond the list of 42.
const More = 43

// Probes lists the attacks by number.
func Probes() []Probe {
	return append([]Probe{
		{1, "fork bomb", "no more processes than the limit, the others unaffected", []string{"limits/forks", "limits/fork bomb"}, forkBomb},
		{2, "memory bomb", "the job is killed, the verdict is memory", []string{"limits/memory", "limits/memory-by-many"}, memoryBomb},
		{3, "memory by tmpfs, memfd, System V, pipes, page tables", "counts like any other", []string{"limits/shared-zero"}, memoryElsewhere},
		{4, "disk fill", "ENOSPC at the limit; elsewhere read-only", []string{"limits/disk", "isolation/system-files"}, nil},
		{5, "inode fill", "ENOSPC", []string{"limits/inodes"}, nil},
		{6, "sparse file of 1 TB", "refused by the limit on files; results are bounded by bytes read", []string{"limits/file-size"}, sparseFile},
		{7, "output flood", "cut, then killed; the host's memory stays flat", []string{"limits/output flood"}, nil},
		{8, "bombs as uploads", "bounds on bytes, entries, depth and names while they stream", nil, uploads},
		{9, "symbolic links where results are, or files are put (CVE-2024-28185, -28189)", "never followed by the host", nil, linkedResults},
		{10, "hard links, pipes, devices, sockets as results", "only regular files are read, and nobody waits for a pipe", nil, oddResults},
		{11, "hostile file names", "refused or escaped", nil, names},
		{12, "tree of 20,000 folders", "bounded by inodes, and removed without recursion", nil, deepTree},
		{13, "/proc/sysrq-trigger", "cannot be written", []string{"isolation/devices", "isolation/proc-files"}, nil},
		{14, "/proc/sys: core_pattern, hostname, ip_forward", "cannot be written; no core dumps", []string{"isolation/devices", "isolation/hostname"}, probeOf("core-dumps")},
		{15, "mount, remount, umount, pivot_root, chroot", "EPERM", []string{"isolation/mounts"}, nil},
		{16, "ptrace, process_vm_readv, pidfd_getfd of the agent", "EPERM", []string{"isolation/agent-tracing"}, nil},
		{17, "signals to the agent", "without effect", []string{"isolation/agent-signals"}, agentThreads},
		{18, "the agent's socket", "not reachable", []string{"isolation/agent-socket"}, nil},
		{19, "writing the agent's program (CVE-2019-5736)", "EACCES, EROFS", nil, agentFiles},
		{20, "leaked descriptors (CVE-2024-21626)", "only 0 to 2", []string{"isolation/descriptors"}, nil},
		{21, "/proc/1: environ, root, maps, cwd", "EACCES", []string{"isolation/agent-tracing"}, nil},
		{22, "network, name service (CVE-2024-29021)", "ENETUNREACH", []string{"isolation/network"}, insideTheHost},
		{23, "cloud metadata", "ENETUNREACH", []string{"isolation/network"}, nil},
		{24, "servers on the host's loopback", "refused", []string{"isolation/host-loopback"}, nil},
		{25, "the host's abstract sockets", "refused", []string{"isolation/host-loopback"}, nil},
		{26, "AF_VSOCK", "EAFNOSUPPORT", []string{"isolation/kernel-calls"}, nil},
		{27, "AF_PACKET, raw, AF_ALG, rare netlink", "refused", []string{"isolation/kernel-calls", "isolation/sockets"}, nil},
		{28, "the host's files", "ENOENT", []string{"isolation/host-files"}, nil},
		{29, "devices, mknod", "ENOENT, EPERM", []string{"isolation/devices"}, nil},
		{30, "set-user-ID programs", "no gain", []string{"isolation/privileges"}, probeOf("setuid-programs")},
		{31, "keyrings", "EPERM", []string{"isolation/kernel-calls"}, nil},
		{32, "locks on shared files", "refused, or an accepted risk", nil, locksAcross},
		{33, "/dev/shm, message queues, System V between VMs", "private", []string{"isolation/shared memory", "isolation/VMs apart"}, queuesAcross},
		{34, "processes left behind", "dead when the result is reported", []string{"limits/orphans"}, nil},
		{35, "zombie flood", "reaped by the VM's init", nil, zombieFlood},
		{36, "stdin never closed or never read, stdout closed", "the time limit holds; nothing blocks forever", []string{"limits/time"}, streams},
		{37, "setting the clock", "EPERM", nil, probeOf("clocks")},
		{38, "priority, real time, locked memory", "EPERM, ENOMEM", nil, probeOf("priority")},
		{39, "cgroup v1 and release_agent (CVE-2022-0492)", "no mount", []string{"isolation/mounts"}, probeOf("release-agent")},
		{40, "user namespaces", "EPERM, ENOSYS", []string{"isolation/namespaces"}, nil},
		{41, "bpf, perf, io_uring, userfaultfd, kexec, modules, handles, fsopen, fanotify, LDT, 32-bit calls", "EPERM, ENOSYS", []string{"isolation/kernel-calls", "isolation/foreign-calls"}, probeOf("kernel-parts")},
		{42, "what /proc reveals of the host", "masked", []string{"isolation/proc-files", "isolation/cgroup-names"}, factsOfHost},
		{More, "many spinners", "no more than its share of processors", nil, spinners},
		{More + 1, "typing into a terminal (TIOCSTI)", "there is none", nil, probeOf("terminal")},
		{More + 2, "open files", "no more than the limit", []string{"limits/open-files"}, nil},
		{More + 3, "a VM used before", "never given out", []string{"life/one assignment"}, nil},
		{More + 4, "a crash where core_pattern names a program", "the host's root does not start it", nil, crash},
		{More + 5, "a submission reads its harness's memory, descriptors, variables", "EACCES, not there", nil, onHarness("harness-memory", "harness-descriptors", "harness-arguments")},
		{More + 6, "a submission signals its harness", "EPERM, ESRCH", nil, onHarness("harness-signals")},
		{More + 7, "a submission reads answers, writes a module beside its harness, changes its files", "EACCES", nil, onHarness("harness-files", "harness-modes")},
		{More + 8, "a submission has its harness's agent run something", "not reachable", nil, onHarness("harness-socket")},
		{More + 9, "files, links, processes, memory left for the next test, or for the harness to follow", "not there", nil, leftInBox},
	}, kernelProbes()...)
}

// kernelProbes lists what is tried of the kernel that VMs share, and of tests in one VM.
func kernelProbes() []Probe {
	return []Probe{
		{More + 10, "POSIX lists of access and attributes on files", "none can be written: no cgroup counts them", nil, probeAt("access-lists")},
		{More + 11, "policies of memory, huge pages, large buffers of sockets", "refused: no cgroup counts them", nil, probeAt("uncounted")},
		{More + 12, "a million locks on parts of files", "the job is ended: no cgroup counts them", nil, fileLocks},
		{More + 13, "asynchronous I/O, labels of flows, filters of sockets", "refused: a host has them once", nil, probeAt("host-stores")},
		{More + 14, "the host's cache of pages and of names as a store, for a later test, run in the box or VM", "cannot be told from chance, by time, faults or calls (preadv2, cachestat, openat2)", nil, laterTells},
		{More + 15, "flags, hints and leases on files", "refused: they outlive a file's content", nil, probeAt("marks")},
		{More + 16, "watching files that other VMs use (F_NOTIFY, inotify)", "refused", nil, probeAt("watches")},
		{More + 17, "numbers in /proc/sys that count for the whole host", "hidden", nil, probeAt("counters")},
		{More + 18, "what the kernel counts by user: epoll watches, pipes, signals that wait", "the user is the VM's own", nil, sameUser},
		{More + 19, "computing in children that nobody waits for", "counts towards the job's limit", []string{"share/unwaited"}, nil},
		{More + 20, "leaving messages for the next test: files, shared memory, attributes", "a reset leaves nothing", []string{"reset/traces", "anew/stains", "anew/sight"}, nil},
		{More + 21, "a test's own memory by files without a name", "counts towards the test's limit", []string{"share/a file without a name"}, nil},
		{More + 22, "filling the host's tables of neighbours, by IPv4 and IPv6", "a VM has one neighbour, and no IPv6", []string{"../lxc/network_test/one neighbour"}, nil},
		{More + 23, "a submission forges its grade: a module beside its harness, answers from its memory, files and variables, a report of its own", "no points", nil, forgeries},
		{More + 24, "spinners in sessions of their own, where the kernel shares processors out among sessions", "a cgroup holds them, or each further session is behind the host's", nil, ownSessions},
		{More + 25, "the same for a VM that runs at the same time, and which pages others map (pagemap, smaps)", "cannot be told from chance", nil, neighbourTells},
	}
}
