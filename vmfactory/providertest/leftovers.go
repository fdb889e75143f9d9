package providertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent"
)

// running lists the host's processes with a text in their command line.
func running(text string) []string {
	entries, _ := os.ReadDir("/proc") // without it the suite has failed before
	var all []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), text) {
			all = append(all, e.Name()+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return all
}

// traces lists what the host has of a VM: processes, mounts, cgroups, files.
func traces(run, id string) []string {
	all := running(id)
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.SplitSeq(string(mounts), "\n") {
		if strings.Contains(line, id) {
			all = append(all, "mount "+line)
		}
	}
	for _, top := range []string{"/sys/fs/cgroup", run} {
		_ = filepath.WalkDir(top, func(path string, _ fs.DirEntry, _ error) error { // what vanishes meanwhile is no trace
			if strings.Contains(filepath.Base(path), id) {
				all = append(all, path)
			}
			return nil
		})
	}
	return all
}

// leftovers destroys VMs in the midst of everything and looks for what remains.
func (s suite) leftovers(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	busy := armed(t, p, run, Pool())
	o := busy.shell(t, "echo made")
	require.Equal(t, "made\n", o.stdout, "%s", o)
	assert.NotEmpty(t, traces(run, busy.id), "a VM that lives leaves traces")

	mark := "drover-" + name()
	ended, begun := make(chan error, 1), make(chan struct{}, 16)
	go func() {
		_, err := busy.Run(context.Background(), agent.Run{Args: []string{
			"/bin/sh", "-c", "echo x > /tmp/x; mkdir -p /tmp/a/b/c; trap '' TERM; echo begun; sleep 1000 & sleep 1000; : " + mark, mark,
		}}, func(string, []byte) { begun <- struct{}{} })
		ended <- err
	}()
	<-begun
	require.NotEmpty(t, running(mark), "the job runs")
	require.NoError(t, p.Destroy(bounded(t), busy.id))
	require.Error(t, <-ended, "a job whose VM is destroyed has failed")
	assert.Empty(t, running(mark))
	assert.Empty(t, traces(run, busy.id))

	half := name()
	require.NoError(t, p.Create(bounded(t), half, Pool()))
	require.NoError(t, p.Destroy(bounded(t), half))
	assert.Empty(t, traces(run, half))

	entries, err := os.ReadDir(run)
	require.NoError(t, err)
	assert.Empty(t, entries, fmt.Sprint(entries))
}

// abandoned shows that the folder of a suite that was killed goes with its VMs.
func (s suite) abandoned(t *testing.T) {
	id := name()
	run := s.killMaker(t, ownFolder, id)
	require.NotEmpty(t, traces(run, id))
	s.folder(t) // it sweeps, unless another test does at this moment
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Dir(run))
		return errors.Is(err, fs.ErrNotExist)
	}, testTimeout, 10*time.Millisecond)
	assert.Empty(t, traces(run, id))
}
