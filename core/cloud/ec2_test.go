package cloud_test

import (
	"encoding/base64"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/cloud"
	"drover/core/cloud/cloudtest"
)

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func ec2Group(t *testing.T, name, url string, regions ...string) core.HostGroup {
	t.Helper()
	p := cloud.EC2{
		Endpoint: url, UserData: "#!/bin/sh\njoin {{instance}} {{secret}}\n", InstanceProfile: "drover-host", Key: "olga", DiskGiB: 30, MaxPrice: "0.2",
		Tags: map[string]string{"cost": "school"},
	}
	for _, region := range regions {
		p.Places = append(p.Places, cloud.EC2Place{Region: region, Image: "ami-" + region, Subnet: "subnet-1", SecurityGroups: []string{"sg-1"}})
	}
	g := group(t, name, core.CloudEC2, p)
	g.Types = []core.MachineType{{Name: "t.small", Size: core.Size{Memory: 2 << 30}}}
	return g
}

func TestEC2(t *testing.T) {
	t.Parallel()
	for name, regions := range map[string][]string{"one region": {"eu-central-1"}, "two regions": {"eu-central-1", "eu-west-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloudtest.Run(t, func(t *testing.T) cloudtest.Place {
				t.Helper()
				server := cloudtest.StartEC2(t)
				place := cloudtest.Place{
					Open: func(t *testing.T, cluster, name string) cloud.Provider {
						t.Helper()
						return open(t, cluster, ec2Group(t, name, server.URL, regions...))
					},
					Count: func(t *testing.T, cluster string) (n int) {
						t.Helper()
						server.With(func() {
							for _, i := range server.Instances {
								if i.Tags[cloud.TagCluster] == cluster && i.State == "pending" {
									n++
								}
							}
						})
						return n
					},
				}
				place.Half = func(t *testing.T, cluster, name string, o cloud.Order) {
					t.Helper()
					_, err := place.Open(t, cluster, name).Create(t.Context(), o)
					require.NoError(t, err)
				}
				return place
			})
		})
	}
}

// What EC2 is asked for.
func TestAnOrderOfEC2(t *testing.T) {
	t.Parallel()
	server := cloudtest.StartEC2(t)
	p := open(t, "one", ec2Group(t, "burst", server.URL, "eu-central-1"))
	o := cloud.Order{Token: "burst-000001", Made: 7, Group: "burst", Type: "t.small", Secret: "s3cret", Spot: true}
	foreign, err := p.Create(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, "eu-central-1/i-00000001", foreign)
	i := server.Instances["i-00000001"]
	require.Equal(t, map[string]string{
		"Name": "burst-000001", "cost": "school", cloud.TagCluster: "one", cloud.TagGroup: "burst", cloud.TagInstance: "burst-000001",
	}, i.Tags)
	data, err := base64.StdEncoding.DecodeString(i.Asked.Get("UserData"))
	require.NoError(t, err)
	require.Equal(t, "#!/bin/sh\njoin burst-000001 s3cret\n", string(data))
	for name, want := range map[string]string{
		"MinCount": "1", "MaxCount": "1", "ImageId": "ami-eu-central-1", "InstanceType": "t.small", "SubnetId": "subnet-1", "SecurityGroupId.1": "sg-1",
		"KeyName": "olga", "IamInstanceProfile.Name": "drover-host", "InstanceInitiatedShutdownBehavior": "terminate", "MetadataOptions.HttpTokens": "required",
		"InstanceMarketOptions.MarketType": "spot", "InstanceMarketOptions.SpotOptions.MaxPrice": "0.2", "BlockDeviceMapping.1.Ebs.VolumeSize": "30",
	} {
		require.Equal(t, want, i.Asked.Get(name), name)
	}
	require.Len(t, i.Asked.Get("ClientToken"), 64)
	o.Made = 8
	other, err := p.Create(t.Context(), o)
	require.NoError(t, err)
	require.NotEqual(t, foreign, other, "an instance of that name was made anew")
}

func TestErrorsOfEC2(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]core.Code{
		"InsufficientInstanceCapacity": core.CodeLimit, "VcpuLimitExceeded": core.CodeLimit, "MaxSpotInstanceCountExceeded": core.CodeLimit,
		"InvalidAMIID.NotFound": core.CodeInvalid, "UnauthorizedOperation": core.CodeInvalid, "AuthFailure": core.CodeInvalid,
		"RequestLimitExceeded": core.CodeUnavailable, "InternalError": core.CodeUnavailable, "Unavailable": core.CodeUnavailable,
	} {
		server := cloudtest.StartEC2(t)
		server.Fail = func(string, string) string { return code }
		p := open(t, "one", ec2Group(t, "burst", server.URL, "eu-central-1"))
		_, err := p.Create(t.Context(), cloud.Order{Token: "burst-000001", Type: "t.small"})
		require.Equal(t, want, core.CodeOf(err), code)
		_, err = p.List(t.Context())
		require.Error(t, err)
		require.Error(t, p.Terminate(t.Context(), "burst-000001", "eu-central-1/i-1"))
	}
	server := cloudtest.StartEC2(t)
	url := server.URL
	p := open(t, "one", ec2Group(t, "burst", url, "eu-central-1"))
	require.NoError(t, p.Terminate(t.Context(), "burst-000001", "eu-central-1/i-1"), "EC2 has forgotten it")
	require.Equal(t, core.CodeInvalid, core.CodeOf(p.Terminate(t.Context(), "burst-000001", "us-east-1/i-1")))
	_, err := open(t, "one", ec2Group(t, "burst", "http://127.0.0.1:1", "eu-central-1")).List(t.Context())
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

// A place without capacity is passed over, and what was made elsewhere is found before anything is made again.
func TestThePlacesOfEC2(t *testing.T) {
	t.Parallel()
	server := cloudtest.StartEC2(t)
	full := "eu-central-1"
	server.Fail = func(call, region string) string {
		if call == "RunInstances" && region == full {
			return "InsufficientInstanceCapacity"
		}
		return ""
	}
	p := open(t, "one", ec2Group(t, "burst", server.URL, "eu-central-1", "eu-west-1"))
	o := cloud.Order{Token: "burst-000001", Group: "burst", Type: "t.small"}
	foreign, err := p.Create(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, "eu-west-1/i-00000001", foreign)
	server.With(func() { full = "" })
	again, err := p.Create(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, foreign, again)
	require.Len(t, server.Instances, 1)
}

// Lists of several pages, machines that are taken back, and what has ended.
func TestListsOfEC2(t *testing.T) {
	t.Parallel()
	server := cloudtest.StartEC2(t)
	g := ec2Group(t, "burst", server.URL, "eu-central-1")
	g.Spot = true
	p := open(t, "one", g)
	for _, token := range []string{"burst-000001", "burst-000002", "burst-000003", "burst-000004", "burst-000005"} {
		_, err := p.Create(t.Context(), cloud.Order{Token: token, Group: "burst", Type: "t.small", Spot: true})
		require.NoError(t, err)
	}
	at := time.UnixMilli(time.Now().UnixMilli())
	server.With(func() {
		server.Instances["i-00000004"].Marked = at
		server.Instances["i-00000005"].State = "terminated"
	})
	all, err := p.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 5)
	slices.SortFunc(all, func(a, b core.Machine) int { return len(a.Token) - len(b.Token) })
	for _, m := range all {
		require.Equal(t, m.Token == "burst-000005", m.Gone)
		want := int64(0)
		if m.Token == "burst-000004" {
			want = at.Add(2 * time.Minute).UnixMilli()
		}
		require.Equal(t, want, m.Notice)
	}
}
