package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// sessions makes Most of them beside its own, and is held if each is put behind those of the host
// where the kernel shares the processors out among sessions.
func sessions(t Target) error {
	const looks, pause = 300, 50 * time.Millisecond
	if _, err := os.ReadFile("/proc/self/autogroup"); err != nil {
		return nil // this kernel does not
	}
	var all []*exec.Cmd
	defer func() {
		for _, cmd := range all {
			_ = errors.Join(cmd.Process.Kill(), cmd.Wait()) // killed, as it should be
		}
	}()
	left := map[string]string{}
	for range t.Most {
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		all = append(all, cmd)
		left[fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid)] = ""
	}
	for range looks {
		for path := range left {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if left[path] = strings.TrimSpace(string(text)); strings.HasSuffix(left[path], " nice 10") {
				delete(left, path)
			}
		}
		if len(left) == 0 {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("has sessions like those of the host: %v", left)
}
