package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// releaseAgent looks for the file by which a cgroup of version 1 names a program
// that the host's kernel starts as root, and tries to mount such a hierarchy.
func releaseAgent(Target) error {
	for _, root := range []string{"/sys/fs/cgroup", "/run/cgroup", "/cgroup"} {
		for _, pattern := range []string{"release_agent", "*/release_agent", "*/*/release_agent"} {
			found, _ := filepath.Glob(filepath.Join(root, pattern)) // the pattern is well formed
			for _, path := range found {
				if openable(path, os.O_WRONLY) == nil {
					return fmt.Errorf("opened %s for writing", path)
				}
			}
		}
	}
	for _, options := range []string{"memory", "rdma", "misc", "pids", "none,name=drover"} {
		if err := unix.Mount("cgroup", "/mnt", "cgroup", 0, options); err == nil {
			_ = unix.Unmount("/mnt", unix.MNT_DETACH)
			return fmt.Errorf("mounted the cgroups of %s", options)
		}
	}
	return nil
}

// kernelParts makes further calls that lead into parts of the kernel that no job
// needs, with arguments that do nothing.
func kernelParts(Target) error {
	const none = ^uintptr(0)
	at, itself := uintptr(unsafe.Pointer(&[64]uint64{})), uintptr(os.Getpid())
	for name, c := range map[string][4]uintptr{
		"kexec_load": {unix.SYS_KEXEC_LOAD, none, none, 0}, "kexec_file_load": {unix.SYS_KEXEC_FILE_LOAD, none, none, 0},
		"init_module": {unix.SYS_INIT_MODULE, 0, 0, 0}, "finit_module": {unix.SYS_FINIT_MODULE, none, 0, 0},
		"delete_module": {unix.SYS_DELETE_MODULE, 0, 0, 0}, "fanotify_init": {unix.SYS_FANOTIFY_INIT, none, 0, 0},
		"swapon": {unix.SYS_SWAPON, 0, 0, 0}, "swapoff": {unix.SYS_SWAPOFF, 0, 0, 0}, "reboot": {unix.SYS_REBOOT, 0, 0, 0},
		"syslog": {unix.SYS_SYSLOG, 10, 0, 0}, "process_vm_writev": {unix.SYS_PROCESS_VM_WRITEV, itself, 0, 0},
		"fsmount": {unix.SYS_FSMOUNT, none, 0, 0}, "move_mount": {unix.SYS_MOVE_MOUNT, none, at, none},
		"name_to_handle_at": {unix.SYS_NAME_TO_HANDLE_AT, none, 0, 0}, "memfd_secret": {unix.SYS_MEMFD_SECRET, none, 0, 0},
		"move_pages": {unix.SYS_MOVE_PAGES, itself, 0, 0}, "migrate_pages": {unix.SYS_MIGRATE_PAGES, itself, 0, 0},
	} {
		_, _, errno := unix.RawSyscall6(c[0], c[1], c[2], c[3], 0, 0, 0)
		if errno != unix.EPERM && errno != unix.ENOSYS {
			return fmt.Errorf("%s reaches the kernel: %w", name, errno)
		}
	}
	return machineCalls()
}
