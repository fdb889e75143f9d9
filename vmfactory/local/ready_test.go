package local

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func TestBecause(t *testing.T) {
	t.Parallel()
	clone := fmt.Errorf("making namespaces: %w", unix.EPERM)
	for name, c := range map[string]struct {
		err      error
		mode     mode
		settings map[string]string
		want     string
	}{
		"switched off":           {err: fmt.Errorf("making namespaces: %w", unix.ENOSPC), mode: rangeMode, settings: map[string]string{"user/max_user_namespaces": "0"}, want: "user.max_user_namespaces="},
		"for root alone":         {err: clone, mode: singleMode, settings: map[string]string{"kernel/unprivileged_userns_clone": "0"}, want: "kernel.unprivileged_userns_clone=1"},
		"root does not mind":     {err: clone, mode: rangeMode, settings: map[string]string{"kernel/unprivileged_userns_clone": "0"}, want: "container"},
		"AppArmor":               {err: errors.New("mount /tmp: permission denied"), mode: subidMode, settings: map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1"}, want: "kernel.apparmor_restrict_unprivileged_userns=0"},
		"too many":               {err: fmt.Errorf("x: %w", unix.ENOSPC), mode: singleMode, want: "user.max_*_namespaces"},
		"a container's /proc":    {err: errors.New("mount proc: operation not permitted"), mode: rangeMode, want: "systempaths=unconfined"},
		"a container's filter":   {err: clone, mode: rangeMode, want: "seccomp=unconfined"},
		"a refusal in its words": {err: errors.New("mount /tmp: operation not permitted"), mode: singleMode, want: "seccomp=unconfined"},
		"something else":         {err: errors.New("out of luck"), mode: singleMode, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := because(c.err, c.mode, func(name string) string { return c.settings[name] })
			assert.Contains(t, got, c.want)
			assert.Equal(t, c.want == "", got == "")
		})
	}
}
