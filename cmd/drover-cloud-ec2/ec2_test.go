package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cloud"
	"drover/core/cloud/cloudtest"
)

// variables are those by which the programs of AWS find an account.
var variables = map[string]string{
	"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
	"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
}

// TestMain is the program itself where drover asks it for something.
func TestMain(m *testing.M) {
	if os.Getenv("DROVER_OP") != "" {
		main()
	}
	for name, value := range variables {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}

func settingsFor(url string, regions ...string) settings {
	s := settings{Endpoint: url, InstanceProfile: "drover-host", Key: "olga", DiskGiB: 30, MaxPrice: "0.2", Tags: map[string]string{"cost": "school"}}
	for _, region := range regions {
		s.Places = append(s.Places, place{Region: region, Image: "ami-" + region, Subnet: "subnet-1", SecurityGroups: []string{"sg-1"}})
	}
	return s
}

func asJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}

func TestTheProtocol(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	require.NoError(t, err)
	for name, regions := range map[string][]string{"one region": {"eu-central-1"}, "two regions": {"eu-central-1", "eu-west-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloudtest.Run(t, func(t *testing.T) cloudtest.Place {
				t.Helper()
				s := startServer(t)
				profile := cloud.Command{Program: []string{program}, Settings: asJSON(t, settingsFor(s.URL, regions...)), UserData: "join {{instance}} {{secret}}"}
				for name := range variables {
					profile.Env = append(profile.Env, name)
				}
				made := cloudtest.Place{
					Program: profile.Program, Settings: profile.Settings,
					Open: func(t *testing.T, cluster, name string) cloud.Provider {
						t.Helper()
						p, err := cloud.Open(cluster, core.HostGroup{Name: name, Provider: core.CloudCommand, Profile: asJSON(t, profile), Max: 5})
						require.NoError(t, err)
						return p
					},
					Count: func(t *testing.T, cluster string) (n int) {
						t.Helper()
						s.With(func() {
							for _, i := range s.Instances {
								if i.Tags[tagCluster] == cluster && i.State == "pending" {
									n++
								}
							}
						})
						return n
					},
				}
				made.Half = func(t *testing.T, cluster, name string, o cloud.Order) {
					t.Helper()
					_, err := made.Open(t, cluster, name).Create(t.Context(), o)
					require.NoError(t, err)
				}
				return made
			})
		})
	}
}

// answers are what a call printed, and its exit status.
type answers struct {
	exit     int
	machine  string
	machines []core.Machine
	said     string
}

// ask makes a call in this process.
func ask(t *testing.T, s settings, in cloud.Ask) answers {
	t.Helper()
	in.Protocol, in.Cluster, in.Group, in.Settings = cloud.Protocol, "one", "burst", asJSON(t, s)
	var out, errs bytes.Buffer
	a := answers{exit: run(t.Context(), bytes.NewReader(asJSON(t, in)), &out, &errs)}
	a.said = errs.String()
	if a.exit != 0 {
		require.Empty(t, out.String())
		require.NotEmpty(t, a.said)
		return a
	}
	var first cloud.Answer
	d := json.NewDecoder(&out)
	require.NoError(t, d.Decode(&first))
	require.Equal(t, cloud.Protocol, first.Protocol)
	for a.machine = first.Machine; d.More(); {
		var m core.Machine
		require.NoError(t, d.Decode(&m))
		a.machines = append(a.machines, m)
	}
	return a
}

func create(token string) cloud.Ask {
	return cloud.Ask{Op: cloud.OpCreate, Instance: token, ClientToken: "0123456789abcdef0123456789abcdef", Type: "t.small"}
}

// What EC2 is asked for.
func TestAnOrder(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := settingsFor(server.URL, "eu-central-1")
	order := create("burst-000001")
	order.Spot, order.UserData = true, "#!/bin/sh\njoin\n"
	require.Equal(t, "eu-central-1/i-00000001", ask(t, s, order).machine)
	i := server.Instances["i-00000001"]
	require.Equal(t, map[string]string{
		"Name": "burst-000001", "cost": "school", tagCluster: "one", tagGroup: "burst", tagInstance: "burst-000001",
	}, i.Tags)
	data, err := base64.StdEncoding.DecodeString(i.Asked.Get("UserData"))
	require.NoError(t, err)
	require.Equal(t, order.UserData, string(data))
	for name, want := range map[string]string{
		"MinCount": "1", "MaxCount": "1", "ImageId": "ami-eu-central-1", "InstanceType": "t.small", "SubnetId": "subnet-1", "SecurityGroupId.1": "sg-1",
		"KeyName": "olga", "IamInstanceProfile.Name": "drover-host", "InstanceInitiatedShutdownBehavior": "terminate", "MetadataOptions.HttpTokens": "required",
		"InstanceMarketOptions.MarketType": "spot", "InstanceMarketOptions.SpotOptions.MaxPrice": "0.2", "BlockDeviceMapping.1.Ebs.VolumeSize": "30",
		"ClientToken": order.ClientToken + "-0",
	} {
		require.Equal(t, want, i.Asked.Get(name), name)
	}
	order.ClientToken = strings.ToUpper(order.ClientToken)
	require.Equal(t, "eu-central-1/i-00000002", ask(t, s, order).machine, "an instance of that name was made anew")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"InsufficientInstanceCapacity": cloud.ExitFull, "VcpuLimitExceeded": cloud.ExitFull, "MaxSpotInstanceCountExceeded": cloud.ExitFull,
		"InvalidAMIID.NotFound": cloud.ExitInput, "UnauthorizedOperation": cloud.ExitForbidden, "AuthFailure": cloud.ExitForbidden,
		"RequestLimitExceeded": cloud.ExitAgain, "InternalError": cloud.ExitAgain, "Unavailable": cloud.ExitAgain,
	} {
		server := startServer(t)
		server.Fail = func(string, string) string { return code }
		s := settingsFor(server.URL, "eu-central-1")
		for _, in := range []cloud.Ask{create("burst-000001"), {Op: cloud.OpList}, {Op: cloud.OpTerminate, Instance: "burst-000001", Machine: "eu-central-1/i-1"}} {
			a := ask(t, s, in)
			require.Equal(t, want, a.exit, "%s %s", in.Op, code)
			require.Contains(t, a.said, code)
		}
	}
	s := settingsFor(startServer(t).URL, "eu-central-1")
	gone := cloud.Ask{Op: cloud.OpTerminate, Instance: "burst-000001", Machine: "eu-central-1/i-1"}
	require.Zero(t, ask(t, s, gone).exit, "EC2 has forgotten it")
	gone.Machine = "us-east-1/i-1"
	require.Equal(t, cloud.ExitInput, ask(t, s, gone).exit)
	require.Equal(t, cloud.ExitAgain, ask(t, settingsFor("http://127.0.0.1:1", "eu-central-1"), cloud.Ask{Op: cloud.OpList}).exit)
}

// Orders and settings that no machine can be made for never get to EC2.
func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	good := settingsFor(server.URL, "eu-central-1")
	for says, change := range map[string]func(*settings, *cloud.Ask){
		"places must name":         func(s *settings, _ *cloud.Ask) { s.Places = nil },
		"a region and an image":    func(s *settings, _ *cloud.Ask) { s.Places = []place{{Region: "eu-central-1"}} },
		"disk_gib":                 func(s *settings, _ *cloud.Ask) { s.DiskGiB = -1 },
		"tag drover-x is not free": func(s *settings, _ *cloud.Ask) { s.Tags = map[string]string{"drover-x": "y"} },
		"types of machines":        func(_ *settings, in *cloud.Ask) { in.Type = "" },
		"user data has":            func(_ *settings, in *cloud.Ask) { in.UserData = strings.Repeat("x", maxUserData+1) },
	} {
		s, in := good, create("burst-000001")
		change(&s, &in)
		a := ask(t, s, in)
		require.Equal(t, cloud.ExitInput, a.exit, says)
		require.Contains(t, a.said, says)
	}
	for says, in := range map[string]string{"stdin must have one call": "", "unknown field": `{"protocol":1,"op":"list","settings":{"regions":[]}}`} {
		var out, errs bytes.Buffer
		require.Equal(t, cloud.ExitInput, run(t.Context(), strings.NewReader(in), &out, &errs))
		require.Contains(t, errs.String(), says)
	}
	require.Empty(t, server.Calls)
}

// A place without capacity is passed over, and what was made elsewhere is found before anything is made again.
func TestPlaces(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	full := "eu-central-1"
	server.Fail = func(call, region string) string {
		if call == "RunInstances" && region == full {
			return "InsufficientInstanceCapacity"
		}
		return ""
	}
	s := settingsFor(server.URL, "eu-central-1", "eu-west-1")
	require.Equal(t, "eu-west-1/i-00000001", ask(t, s, create("burst-000001")).machine)
	server.With(func() { full = "" })
	require.Equal(t, "eu-west-1/i-00000001", ask(t, s, create("burst-000001")).machine)
	require.Len(t, server.Instances, 1)
}

// Lists of several pages, machines that are taken back, and what has ended.
func TestLists(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := settingsFor(server.URL, "eu-central-1")
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		order := create("burst-00000" + n)
		order.Spot, order.ClientToken = true, n
		require.Zero(t, ask(t, s, order).exit)
	}
	at := time.UnixMilli(time.Now().UnixMilli())
	server.With(func() {
		server.Instances["i-00000004"].Marked = at
		server.Instances["i-00000005"].State = "terminated"
	})
	all := ask(t, s, cloud.Ask{Op: cloud.OpList, Spot: true}).machines
	require.Len(t, all, 5)
	for _, m := range all {
		require.Equal(t, m.Token == "burst-000005", m.Gone)
		want := int64(0)
		if m.Token == "burst-000004" {
			want = at.Add(2 * time.Minute).UnixMilli()
		}
		require.Equal(t, want, m.Notice)
	}
}
