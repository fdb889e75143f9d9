package debian

import (
	"errors"
	"os"
	"path/filepath"

	"drover/core"
)

// setup runs setup.sh of an autograder in a new system, whose folder is its argument. Its folder is /autograder meanwhile;
// VMs have a copy of what is left there in /tmp, to which they can write.
const setup = `set -e
mkdir -p "$1/autograder/submission" "$1/autograder/results" "$1/usr/lib"
tar -xf "$DROVER_SETUP" -C "$1/autograder" --no-same-owner source
cp "$1/autograder/source/run_autograder" "$1/autograder/"
cp -L /etc/resolv.conf "$1/etc/resolv.conf"
if [ -f "$1/autograder/source/setup.sh" ]; then
	chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
		PIP_BREAK_SYSTEM_PACKAGES=1 /bin/bash -c 'cd /autograder/source && exec bash setup.sh' >&2 ||
		{ echo "E: setup.sh of the autograder failed" >&2; exit 1; }
fi
mv "$1/autograder" "$1/usr/lib/autograder"
ln -s /tmp/autograder "$1/autograder"
`

// writeSetup writes the autograder to a file that the build reads, also one in a user namespace.
func (s *Spec) writeSetup() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "drover-setup-")
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, "", "there is no room to build in: name another folder in TMPDIR")
	}
	remove = func() { _ = os.RemoveAll(dir) } // in a folder for such files
	s.setup = filepath.Join(dir, "autograder.tar")
	const open, readable = 0o755, 0o644
	if err = os.Chmod(dir, open); err == nil {
		err = errors.Join(os.WriteFile(s.setup, s.Autograder, readable), os.Chmod(s.setup, readable)) // whatever the umask
	}
	if err != nil {
		remove()
		return nil, core.Wrap(err, core.CodeUnavailable, dir, "the autograder cannot be put into %s", dir)
	}
	return remove, nil
}
