package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/blobs/blobstest/s3server"
	"drover/core/coretest/tier"
)

// A cluster whose hosts share no folder grades, and hands out what was collected.
func TestAClusterKeepsItsFilesOnS3(t *testing.T) {
	tier.OnlyInAll(t, tier.S3)
	t.Parallel()
	server := s3server.Start(t)
	settings := []string{"DROVER_BLOBS=" + server.Bucket(t, "cluster")}
	for name, value := range s3server.Environment() {
		settings = append(settings, name+"="+value)
	}
	h := newTestCluster(t, settings...)
	h.pool()
	factory, runner := h.registered("vmfactory"), h.registered("testrunner")

	out, errs, code := h.run("submit", "--json", "--harness", "../../examples/ledger/harness", "--submission", "../../examples/ledger/submissions/partly-right")
	require.Zero(t, code, errs)
	var graded core.Result
	require.NoError(t, json.Unmarshal([]byte(out), &graded))
	require.InDelta(t, 8.0, *graded.Score, 0, "%+v", graded)
	require.NotEmpty(t, graded.Tests)

	out, errs, code = h.run("run", "--json", "--collect", "out", "--", "sh", "-c", "mkdir out; echo one >out/one")
	require.Zero(t, code, errs)
	var ran core.Result
	require.NoError(t, json.Unmarshal([]byte(out), &ran))
	to := filepath.Join(t.TempDir(), "fetched")
	_, errs, code = h.run("request", "files", "--to", to, ran.ID)
	require.Zero(t, code, errs)
	text, err := os.ReadFile(filepath.Join(to, "out", "one"))
	require.NoError(t, err)
	require.Equal(t, "one\n", string(text))
	require.NoDirExists(t, filepath.Join(h.cfg.Data, "blobs"))

	out, _, _ = h.run("doctor", "--json")
	require.Contains(t, out, "s3://cluster")
	require.Contains(t, out, "can be written")
	require.NotContains(t, out, s3server.Secret)
	require.NoError(t, server.Kill())
	out, _, code = h.run("doctor", "--json")
	require.Equal(t, terminal.ExitFault, code)
	require.Contains(t, out, "the blob store cannot be used")
	out, errs, code = h.run("request", "show", ran.ID)
	require.Zero(t, code, "who needs no files is not kept from work: %s", errs)
	require.Contains(t, out, ran.ID)
	server.Restart(t)
	_, errs, code = h.run("run", "--", "true")
	require.Zero(t, code, errs)
	runner.stop()
	factory.stop()
	_, errs, code = h.run("vmfactory", "--destroy-vms")
	require.Zero(t, code, errs)
}
