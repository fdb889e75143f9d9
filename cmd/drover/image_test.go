package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/operator"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/service/guard"
)

// systemTar writes the tar of a root file system with one file.
func systemTar(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "system.tar")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := tar.NewWriter(f)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}))
	_, err = io.WriteString(w, text)
	require.NoError(t, errors.Join(err, w.Close(), f.Close()))
	return path
}

func TestImageCommands(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	good := func(args ...string) string {
		t.Helper()
		out, errs, code := h.run(args...)
		require.Zero(t, code, "%v: %s", args, errs)
		return out
	}
	require.Contains(t, good("image", "list"), "drover image build")
	require.JSONEq(t, "[]", good("image", "list", "--json"))

	var first, second core.Image
	require.NoError(t, json.Unmarshal([]byte(good("image", "import", "debian", systemTar(t, "bin/sh", "1"), "--json")), &first))
	require.Equal(t, "debian", first.Name)
	require.Contains(t, first.Source, "root file system")
	require.Contains(t, good("image", "import", "debian", systemTar(t, "bin/sh", "2")), "drover pool set")
	second, err := h.cluster.Store.GetImage(context.Background(), "debian")
	require.NoError(t, err)
	require.NotEqual(t, first.Digest, second.Digest)
	file, err := h.cluster.Blobs.Open(t.Context(), second.Digest)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	var all []core.Image
	require.NoError(t, json.Unmarshal([]byte(good("image", "list", "--json")), &all))
	require.Equal(t, []core.Image{second}, all)
	require.NoError(t, json.Unmarshal([]byte(good("image", "list", "--all", "--json")), &all))
	require.Equal(t, []core.Image{second, first}, all)
	require.Contains(t, good("image", "list"), second.Digest[:19])

	_, errs, code := h.run("pool", "set", "grading", "--image", "nosuch")
	require.Zero(t, code)
	require.Contains(t, errs, "pool grading can make no VMs yet: there is no image nosuch")
	good("pool", "set", "grading", "--image", "debian")
	var view operator.ImageView
	require.NoError(t, json.Unmarshal([]byte(good("image", "show", "debian", "--json")), &view))
	require.Equal(t, operator.ImageView{Image: second, Newest: true, Pools: []string{"grading"}}, view)
	require.NoError(t, json.Unmarshal([]byte(good("image", "show", first.Ref(), "--json")), &view))
	require.Equal(t, operator.ImageView{Image: first, Pools: []string{}}, view)
	require.Contains(t, good("image", "show", "debian"), second.Digest)
	require.Contains(t, good("image", "show", "debian@"+first.Digest[:19]), first.Digest, "as short as the list shows it")
	good("pool", "set", "old", "--image", "debian@"+first.Digest[:19])
	require.Contains(t, good("pool", "show", "old", "--json"), first.Digest)
	good("pool", "set", "old", "--image", "")
	require.Contains(t, good("pool", "show", "grading"), second.Digest[:19])
	out, _, _ := h.run("doctor")
	require.Contains(t, out, "its image debian is "+second.Digest[:19])

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"image", "show", "nosuch"}, terminal.ExitNotFound, "drover image list"},
		{[]string{"image", "show", "debian@x"}, terminal.ExitUsage, "digest"},
		{[]string{"image", "remove", "nosuch"}, terminal.ExitNotFound, "nosuch"},
		{[]string{"image", "remove", "debian"}, terminal.ExitRefused, "is used by grading"},
		{[]string{"image", "remove", second.Ref()}, terminal.ExitRefused, "is used by grading"},
		{[]string{"image", "import", "x"}, terminal.ExitUsage, "two arguments"},
		{[]string{"image", "import", "X", "y"}, terminal.ExitUsage, `"X"`},
		{[]string{"image", "import", "x", "/no/such/file"}, terminal.ExitNotFound, "/no/such/file"},
		{[]string{"image", "import", "x", h.cfg.Data}, terminal.ExitUsage, "OCI layout"},
		{[]string{"image", "import", "x", systemTar(t, "../../etc/cron.d/x", "evil")}, terminal.ExitUsage, "climbs out"},
		{[]string{"pool", "set", "grading", "--image", "No Image"}, terminal.ExitUsage, `"No Image"`},
		{[]string{"image", "build", "x"}, terminal.ExitUsage, "--suite bookworm"},
		{[]string{"image", "build", "--suite", "--evil", "x"}, terminal.ExitUsage, "--evil"},
		{[]string{"image", "build", "X", "--suite", "bookworm"}, terminal.ExitUsage, `"X"`},
	} {
		_, errs, code := h.run(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errs)
		require.Contains(t, errs, c.want)
	}

	require.JSONEq(t, `{"image": "`+first.Ref()+`", "removed": true, "pools": []}`, good("image", "remove", "debian@"+first.Digest[:19], "--json"))
	good("image", "remove", "--force", "debian")
	require.Contains(t, good("pool", "show", "grading"), "there is no image debian")
	out, _, code = h.run("doctor")
	require.Equal(t, terminal.ExitFault, code)
	require.Contains(t, out, "its image debian is not there")
}

// The tool is a script here; core/images/debian and vmfactory/imagecache have real ones.
func TestImageBuild(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	h := newStillCluster(t)
	tool := func(script string) {
		require.NoError(t, guard.WriteProgram(t.Context(), filepath.Join(bin, "mmdebstrap"), []byte("#!/bin/sh\n"+script)))
	}
	tool("echo I: at work >&2; exec cat " + systemTar(t, "bin/sh", "1"))
	out, errs, code := h.run("image", "build", "debian12", "--suite", "bookworm", "--packages", "gcc,python3", "--json")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "at work")
	var image core.Image
	require.NoError(t, json.Unmarshal([]byte(out), &image))
	require.Equal(t, "debian bookworm with gcc python3", image.Source)

	tool("echo E: no such suite >&2; exit 1")
	_, errs, code = h.run("image", "build", "debian12", "--suite", "nosuch")
	require.Equal(t, terminal.ExitNoCluster, code)
	require.Contains(t, errs, "no such suite")
	again, err := h.cluster.Store.GetImage(context.Background(), "debian12")
	require.NoError(t, err)
	require.Equal(t, image, again, "a build that fails changes nothing")

	begun := filepath.Join(bin, "begun")
	tool("trap 'exit 1' TERM INT; : >" + begun + "; while :; do sleep 0.01; done")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- typeIn(ctx, []string{"drover", "--data", h.cfg.Data, "image", "build", "debian12", "--suite", "bookworm", "--redis", h.cfg.Redis.Reveal()}, strings.NewReader(""), io.Discard, io.Discard)
	}()
	await(t, "it begins", func() bool {
		_, err := os.Stat(begun)
		return err == nil || len(ended) > 0
	})
	stop()
	require.Equal(t, terminal.ExitStopped, <-ended)
}
