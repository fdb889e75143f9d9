package attack

// The provider local, in its three ways to make VMs.
var (
	LocalRoot = Column{Title: "local, as root", except: map[int]exception{32: locked, 42: told, More + 17: numbered, More + 25: beside, More + 27: logged}}
	LocalLent = Column{Title: "local, by newuidmap or without cgroups", except: watched(true)}
	LocalUser = Column{Title: "local, as a user", except: alone(watched(false))}
)

// alone adds what there is where a harness and its submission have one user.
func alone(all map[int]exception) map[int]exception {
	const none = "this kernel has no Landlock"
	why := "With one user for all, a Landlock domain keeps a submission from its harness's files and processes. It may change modes and times of files. " +
		"Before Linux 6.12 it may signal them, and without Landlock nothing stops it: drover doctor says which case applies."
	all[More+5] = exception{partly: true, why: why, leaks: []string{none}, sometimes: true}
	all[More+6] = exception{partly: true, why: why, leaks: []string{"may signal it", none}, sometimes: true}
	all[More+7] = exception{partly: true, why: why, leaks: []string{"may change the mode", none}}
	all[17] = exception{
		partly: true, sometimes: true, leaks: []string{noScopes},
		why: "Before Linux 6.12 signals reach the agent by the numbers of its threads. It drops those that it can, and the others do not end it.",
	}
	all[More+23] = exception{partly: true, why: why, leaks: []string{none}, sometimes: true}
	all[More+9] = exception{partly: true, why: why, leaks: []string{none}, sometimes: true}
	return all
}

// locked is a slow covert channel between VMs that both must want.
var locked = exception{
	why:   "Files of the system folders are the host's own: a lock on one is seen in other VMs and on the host. Two cooperating jobs can communicate slowly that way.",
	leaks: []string{"sees another's lock"},
}

var told = exception{
	partly: true,
	why:    "Runtimes and build tools need these, so they show the host's processors, memory, load, uptime, kernel, and the disks of the system folders. Everything else is hidden.",
	leaks: []string{
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems", "/proc/cgroups",
		"/proc/sys/kernel/osrelease", "disks in mountinfo",
	},
}

// beside is a channel between VMs that both must want, fast enough for the input of a test.
var beside = exception{
	why: "A VM that runs at the same time can tell which names of the system folders another one looks up, which cold pages it reads, and which pages it maps (kernels with CONFIG_PROC_PAGE_MONITOR). " +
		"Two submissions of one person that run at once can pass a hidden input on that way. Only a host with one slot prevents it.",
	leaks: []string{"a VM beside it tells"},
}

// numbered is a slow covert channel, between tests as well.
var numbered = exception{
	partly: true,
	why: "A kernel numbers inodes of pipes, sockets and files in memory, descriptors of processes and sessions for all its programs, and tells how many sockets of TCP and processes there are. " +
		"What a job makes moves these numbers, among what all other programs make: a later test that knows where they stood reads some bits. Files below /proc/sys that count for the host are hidden.",
	leaks: []string{"the host's number of"},
}

// logged is what the kernel writes of every process.
var logged = exception{
	partly: true, sometimes: true,
	why: "The kernel logs the names of processes that crash or that it kills for memory, and a job chooses them: 15 bytes, also line feeds and terminal codes. Who reads /dev/kmsg (dmesg, journald, rsyslog's imkmsg) gets them escaped; " +
		"who reads /proc/kmsg (klogd, imklog) does not. kernel.print-fatal-signals=0 and debug.exception-trace=0 keep crashes out of it.",
	leaks: []string{"the log names a process"},
}

// watched is what there is where no cgroup holds memory and processors.
func watched(apart bool) map[int]exception {
	memory := exception{weak: true, why: "A watchdog checks the processes every 4 to 100 ms and ends a run that exceeds a limit; its gaps are listed below."}
	all := map[int]exception{
		More + 24: {
			weak: true,
			why:  "The watchdog gives each further session of a run a lower priority than the host's when it sees it, ten a second for the whole host. A run with more than 16 other sessions, because they come too fast or are closed to the agent, is ended as for too many processes.",
		},
		2: memory,
		3: {
			partly:    true,
			why:       "Shared memory without a file is refused. Files count separately: a VM can use twice its pool's disk for them in addition to its memory. What pipes hold is bounded by the kernel for each user.",
			leaks:     []string{"bytes of files", "bytes of pipes"},
			sometimes: true,
		},
		More + 19: {
			weak: true,
			why:  "What the agent has seen of such a child counts. Children that each live for less than 5 ms escape it if their parent has a handler with SA_NOCLDWAIT.",
		},
		32: locked,
		42: told,
		More + 14: {
			why: "Without a cgroup of memory the kernel cannot be told what to free: a test can leave its input in the cache of names of the system folders, and a later test or VM reads it by time. " +
				"Do not use such a host for hidden tests.",
			leaks: []string{"a later test tells", "a later VM tells", "a later run in the box tells"},
		},
		More + 17: numbered,
		More + 25: beside,
		More + 27: logged,
		43:        {why: "Without a cgroup nothing limits processors; jobs run at a lower priority than the host's own work. Where the kernel groups by sessions (sched_autogroup_enabled) a job's first session is like any other, and the watchdog lowers the priority of each further one.", leaks: []string{"processors"}, sometimes: true},
	}
	if !apart {
		all[More+18] = exception{
			why:   "Jobs run as the user of drover: with enough epoll watches, pipes or pending signals they take these from that user's other programs, including drover. Run drover as root, or with newuidmap.",
			leaks: []string{"shares its user"},
		}
	}
	return all
}
