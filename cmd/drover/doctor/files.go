package doctor

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"drover/core/config"
)

// leastFiles are the descriptors that a component of a host needs: several for each VM, connection and upload.
const leastFiles = 1024

// files checks who else can read secrets and write data, and how many files may be open at once.
func (f *Findings) files(cfg *config.Config) {
	others := func(about, path string, bits fs.FileMode, mend, does string) {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&bits != 0 {
			f.fail(about, mend+" "+path, "%s has the mode %04o: others than its owner can %s", path, info.Mode().Perm(), does)
		}
	}
	for name, path := range cfg.SecretPaths() {
		others("setting "+name, path, 0o077, "chmod 600", "use the secret in it")
	}
	if secrets := cfg.PasswordsInFile(); len(secrets) > 0 {
		others("settings", cfg.File(), 0o077, "move it into a file of its own, or chmod 600", "use the password of "+strings.Join(secrets, ", ")+" in it")
	}
	others("data folder", cfg.Data, 0o022, "chmod go-w", "replace the files in it")
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		f.Descriptors(limit.Max)
	}
}

// Descriptors checks how many files a process may have open at once.
func (f *Findings) Descriptors(most uint64) {
	if most < leastFiles {
		f.fail("open files", "ulimit -Hn 65536 in the shell that starts drover, or minfds=65536 in the section [supervisord]",
			"a process of this user may have %d files open, and a host needs %d or more: VMs die without a word then", most, leastFiles)
	}
}
