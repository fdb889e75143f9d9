package attack

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// state is what a host has once for all its VMs, before or after they were attacked: settings must be equal, and
// counters must not have grown, except for the effect of other programs on a busy machine.
type state struct {
	texts  map[string]string
	counts map[string]int64
}

// floats are values that are no settings: the kernel, or any program, changes them all the time.
var floats = []string{
	"fs/dentry-state", "fs/file-nr", "fs/inode-nr", "fs/inode-state", // counted as such below, or of files that any program opens
	"fs/aio-nr",                                                                                // counted below
	"fs/quota/",                                                                                // any program's sync counts there
	"kernel/ns_last_pid",                                                                       // each process is another
	"kernel/random/",                                                                           // uuid is another each time, entropy comes and goes
	"kernel/pty/nr",                                                                            // terminals of people who are there
	"kernel/core_pattern",                                                                      // looked at under its lock, for attack 47 sets it
	"net/ipv4/conf/", "net/ipv6/conf/", "net/ipv4/neigh/", "net/ipv6/neigh/", "net/mpls/conf/", // a folder for each cable: links are compared
	"net/netfilter/nf_conntrack_count", // connections of all programs
	"fs/binfmt_misc/",                  // interpreters that packages bring
}

// Tolerances: what the machine's other programs may take meanwhile.
var tolerances = map[string]int64{
	"kernel memory that cannot be reclaimed, kB": 192 << 10,
	"memory for each processor, kB":              64 << 10,
	"memory by vmalloc, kB":                      192 << 10,
	"open files":                                 20_000,
	"inodes":                                     200_000,
	"events of asynchronous I/O":                 0,
	"neighbours by IPv4":                         32,
	"neighbours by IPv6":                         32,
	"neighbours that did not fit":                0,
	"users with keys":                            8,
	"keys":                                       64,
	"shared memory, queues, semaphores":          8,
	"mounts":                                     16,
	"network links":                              16,
	"huge pages":                                 0,
	"swap, kB":                                   64 << 10,
	"dying memory cgroups":                       16,
	"locks on files":                             256,
	"namespaces: cgroup":                         32, // of VMs that other tests make
	"namespaces: ipc":                            32,
	"namespaces: mnt":                            32,
	"namespaces: net":                            32,
	"namespaces: pid":                            32,
	"namespaces: time":                           32,
	"namespaces: user":                           32,
	"namespaces: uts":                            32,
}

// settle is how long counters may take to recover: the kernel frees much only after a while, and other tests make VMs
// of their own.
const settle = 2 * time.Minute

func stateOfHost() state {
	s := state{texts: map[string]string{}, counts: map[string]int64{}}
	_ = filepath.WalkDir("/proc/sys", func(path string, d fs.DirEntry, err error) error { // a missing file is compared as such
		name := strings.TrimPrefix(path, "/proc/sys/")
		if err != nil || d.IsDir() || slices.ContainsFunc(floats, func(f string) bool { return strings.HasPrefix(name, f) }) {
			return nil //nolint:nilerr // a link that has gone meanwhile
		}
		if info, err := d.Info(); err != nil || info.Mode()&0o444 == 0 {
			return nil //nolint:nilerr // written only
		}
		text, err := os.ReadFile(path)
		s.texts[path] = string(text) + errText(err)
		return nil
	})
	if out, err := exec.Command("nft", "--stateless", "--terse", "list", "ruleset").Output(); err == nil {
		s.texts["rules of nftables"] = string(out)
	}
	s.counts["locks on files"] = lines("/proc/locks")
	for kind, n := range namespaces() {
		s.counts["namespaces: "+kind] = n
	}
	memory := fields("/proc/meminfo")
	s.counts["kernel memory that cannot be reclaimed, kB"] = memory["SUnreclaim:"]
	s.counts["memory for each processor, kB"] = memory["Percpu:"]
	s.counts["memory by vmalloc, kB"] = memory["VmallocUsed:"]
	s.counts["huge pages"] = memory["HugePages_Total:"] - memory["HugePages_Free:"]
	s.counts["swap, kB"] = memory["SwapTotal:"] - memory["SwapFree:"]
	s.counts["open files"] = first("/proc/sys/fs/file-nr")
	s.counts["inodes"] = first("/proc/sys/fs/inode-nr")
	s.counts["events of asynchronous I/O"] = first("/proc/sys/fs/aio-nr")
	s.counts["neighbours by IPv4"], _ = neighbours("arp_cache")
	s.counts["neighbours by IPv6"], _ = neighbours("ndisc_cache")
	for _, table := range []string{"arp_cache", "ndisc_cache"} {
		_, full := neighbours(table)
		s.counts["neighbours that did not fit"] += full
	}
	s.counts["users with keys"], s.counts["keys"] = lines("/proc/key-users"), lines("/proc/keys")
	for _, of := range []string{"shm", "msg", "sem"} {
		s.counts["shared memory, queues, semaphores"] += lines("/proc/sysvipc/" + of)
	}
	s.counts["mounts"] = lines("/proc/self/mounts")
	links, _ := os.ReadDir("/sys/class/net") // none is none
	s.counts["network links"] = int64(len(links))
	s.counts["dying memory cgroups"] = dying()
	return s
}

func errText(err error) string {
	if err != nil {
		return " " + err.Error()
	}
	return ""
}

// fields reads lines of a name and a number.
func fields(path string) map[string]int64 {
	all := map[string]int64{}
	text, _ := os.ReadFile(path) // a missing file counts nothing
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 {
			all[f[0]], _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return all
}

func first(path string) int64 {
	text, _ := os.ReadFile(path) // a missing file counts nothing
	var n int64
	_, _ = fmt.Sscan(string(text), &n)
	return n
}

func lines(path string) int64 {
	text, _ := os.ReadFile(path) // a missing file has none
	return int64(strings.Count(string(text), "\n"))
}

// neighbours reads how many entries a table of the whole host has, and how often one
// did not fit.
func neighbours(table string) (entries, full int64) {
	text, _ := os.ReadFile("/proc/net/stat/" + table) // a missing file has none
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	at := slices.Index(strings.Fields(all[0]), "table_fulls")
	for _, line := range all[1:] {
		f := strings.Fields(line)
		entries, _ = strconv.ParseInt(f[0], 16, 64)
		if at >= 0 && at < len(f) {
			n, _ := strconv.ParseInt(f[at], 16, 64)
			full += n
		}
	}
	return entries, full
}

// namespaces counts those that processes are in, of each kind.
func namespaces() map[string]int64 {
	all := map[string]map[string]bool{"cgroup": {}, "ipc": {}, "mnt": {}, "net": {}, "pid": {}, "time": {}, "user": {}, "uts": {}}
	found, _ := filepath.Glob("/proc/[0-9]*/ns/*") // the pattern is right
	for _, path := range found {
		if into := all[filepath.Base(path)]; into != nil {
			if name, err := os.Readlink(path); err == nil { // else it has ended, or is another's
				into[name] = true
			}
		}
	}
	counts := map[string]int64{}
	for kind, names := range all {
		counts[kind] = int64(len(names))
	}
	return counts
}

// cachesLock is a file whose lock keeps other tests of this host from dropping caches.
const cachesLock = "/proc/sys/vm/swappiness"

// dropCaches has the kernel forget what it can read again.
const dropCaches = "/proc/sys/vm/drop_caches"

// drop makes the kernel drop caches, if a test may do so: cached files keep cgroups that were removed. What is left
// then is kept by something else.
func drop() {
	free, err := lock(cachesLock, unix.LOCK_EX)
	if err != nil {
		return
	}
	defer free()
	const pagesAndNames = "3"
	_ = os.WriteFile(dropCaches, []byte(pagesAndNames), 0) // who may not counts none of these
}

// dying counts cgroups that were removed and to which memory still refers. Without the right to drop caches, they
// cannot be distinguished from those that cached files keep, nor can others' be inspected.
func dying() int64 {
	if unix.Access(dropCaches, unix.W_OK) != nil {
		return 0
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/cgroup.stat"); err == nil {
		for line := range strings.Lines(string(text)) {
			if n, ok := strings.CutPrefix(line, "nr_dying_descendants "); ok {
				count, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
				return count
			}
		}
	}
	text, _ := os.ReadFile("/proc/cgroups") // a missing file has none
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "memory" {
			continue
		}
		all, _ := strconv.ParseInt(f[2], 10, 64)
		_ = filepath.WalkDir("/sys/fs/cgroup/memory", func(_ string, d fs.DirEntry, err error) error { // what vanishes is none
			if err == nil && d.IsDir() {
				all--
			}
			return nil
		})
		return all
	}
	return 0
}

// more lists what a host has more than before.
func (s state) more(now state) []string {
	var all []string
	for name, was := range s.texts {
		if is := now.texts[name]; is != was {
			all = append(all, fmt.Sprintf("%s was %q and is %q", name, was, is))
		}
	}
	for name, was := range s.counts {
		if is := now.counts[name]; is > was+tolerances[name] {
			all = append(all, fmt.Sprintf("%s: %d before, %d now", name, was, is))
		}
	}
	slices.Sort(all)
	return all
}

// settled waits until the host has no more than before.
func (s state) settled(t *testing.T) {
	t.Helper()
	var left []string
	assert.Eventually(t, func() bool {
		if left = s.more(stateOfHost()); len(left) > 0 {
			drop()
			left = s.more(stateOfHost())
		}
		return len(left) == 0
	}, settle, 100*time.Millisecond)
	assert.Empty(t, left, "the host has changed, or has more than before")
}
