package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
)

// metadataService answers as a machine's metadata service (version 2) does, and says so once the machine is taken back.
type metadataService struct {
	*httptest.Server

	noticed atomic.Bool
	asked   atomic.Int64
}

func newMetadataService(t *testing.T) *metadataService {
	t.Helper()
	m := &metadataService{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.asked.Add(1)
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			_, _ = w.Write([]byte("secret"))
		case r.Header.Get("X-aws-ec2-metadata-token") != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/latest/meta-data/spot/instance-action" && m.noticed.Load():
			_, _ = fmt.Fprintf(w, `{"action":"terminate","time":%q}`, time.Now().Add(2*time.Minute).UTC().Format(time.RFC3339))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// A host of a group of spot machines that joined by a token drains itself when its machine is told that it is taken back:
// no overseer runs, and its provider is never asked.
func TestAJoinedHostIsTakenBack(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	j := newJoinFixture(t)
	j.pool()
	service := newMetadataService(t)
	j.machine.env = append(j.machine.env, "AWS_EC2_METADATA_SERVICE_ENDPOINT="+service.URL)
	ctx := context.Background()
	_, err := j.cluster.Store.PutHostGroup(ctx, core.HostGroup{
		Name: "burst", Provider: core.CloudCommand, Profile: []byte(`{"program": ["/bin/true"], "notices": "ec2"}`), Spot: true, Paused: true, Max: 1,
	})
	require.NoError(t, err)
	made := core.Instance{ID: "burst-000001", Group: "burst", Created: j.cluster.Now().UnixMilli()}
	for _, s := range []core.InstanceState{core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined} {
		made.State, made.Since = s, made.Created
		made.Revision, err = j.cluster.Store.PutInstance(ctx, made)
		require.NoError(t, err)
	}
	_, token := j.token("--name", made.ID, "--group", "burst")
	m := j.machine.start("join", "--token-file", token, j.site)
	ids := j.submit(1, "echo", "hello")
	j.awaitLeft(0)
	j.requireOnce(ids)
	await(t, "the host looks for a notice", func() bool { return service.asked.Load() > 0 })
	service.noticed.Store(true)
	var host core.HostInfo
	await(t, "the host drains", func() bool {
		hosts, err := j.cluster.Redis.ListHosts(ctx)
		require.NoError(t, err)
		host = hosts[0]
		return host.Drain
	})
	left := time.UnixMilli(host.DrainUntil).Sub(j.cluster.Now())
	require.Greater(t, left, time.Minute)
	require.LessOrEqual(t, left, 90*time.Second, "what it has goes to others half a minute before the end")
	made, err = j.cluster.Store.GetInstance(ctx, made.ID)
	require.NoError(t, err)
	require.Equal(t, core.InstanceDraining, made.State)
	require.True(t, made.Reclaim)
	require.Contains(t, m.said(), "the provider takes this machine back")
	m.stop()
}
