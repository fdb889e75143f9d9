package main

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"drover/core"
	"drover/core/cloud"
)

// Tags of drover's machines.
const (
	tagCluster  = "drover-cluster"
	tagGroup    = "drover-group"
	tagInstance = "drover-instance"
)

const (
	spotNotice = 2 * time.Minute
	pageSize   = 500
)

// Codes of EC2 that say that a place has no room now, and beginnings of those that say that the account may not do so, and
// that an order is wrong.
var (
	noCapacity = []string{
		"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity", "InsufficientCapacity",
		"InstanceLimitExceeded", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "SpotMaxPriceTooLow", "InsufficientFreeAddressesInSubnet",
		"InsufficientVolumeCapacity", "VolumeLimitExceeded", "Unsupported", "UnfulfillableCapacity",
	}
	noRight    = []string{"UnauthorizedOperation", "AuthFailure", "OptInRequired", "Blocked", "PendingVerification", "SignatureDoesNotMatch"}
	wrongOrder = []string{"Invalid", "Missing", "Malformed", "UnknownParameter", "UnsupportedOperation"}
)

// machines are those of one cluster, for one call.
type machines struct {
	settings
	cloud.Ask

	regions map[string]region
}

// region is what is asked of EC2 in one region. Not the client itself: a client that becomes part of an interface has all
// of its 800 calls linked into the program, half as much as the program has without them.
type region struct {
	run       func(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	describe  func(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	spots     func(context.Context, *ec2.DescribeSpotInstanceRequestsInput, ...func(*ec2.Options)) (*ec2.DescribeSpotInstanceRequestsOutput, error)
	terminate func(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
}

func open(ctx context.Context, ask cloud.Ask) (machines, error) {
	says, err := read(ask.Settings)
	if err != nil {
		return machines{}, err
	}
	m := machines{settings: says, Ask: ask, regions: make(map[string]region)}
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return m, core.Wrap(err, core.CodeUnavailable, "", "the settings of AWS cannot be read")
	}
	for _, place := range says.Places {
		c := ec2.NewFromConfig(cfg, func(o *ec2.Options) {
			o.Region = place.Region
			if says.Endpoint != "" {
				o.BaseEndpoint = aws.String(says.Endpoint)
			}
		})
		m.regions[place.Region] = region{c.RunInstances, c.DescribeInstances, c.DescribeSpotInstanceRequests, c.TerminateInstances}
	}
	return m, nil
}

// failed gives an error of EC2 its code.
func (m machines) failed(err error, what string) error {
	code := core.CodeUnavailable
	var api smithy.APIError
	if errors.As(err, &api) {
		switch {
		case slices.Contains(noCapacity, api.ErrorCode()):
			code = core.CodeLimit
		case begins(api.ErrorCode(), noRight):
			code = core.CodeForbidden
		case begins(api.ErrorCode(), wrongOrder):
			code = core.CodeInvalid
		}
	}
	return core.Wrap(err, code, m.Instance, "EC2 cannot %s", what)
}

func begins(code string, all []string) bool {
	return slices.ContainsFunc(all, func(one string) bool { return strings.HasPrefix(code, one) })
}

// create makes the machine of an instance, and returns its name. While a place has no capacity, the next one is tried.
// What an earlier call made at another place is looked for first.
func (m machines) create(ctx context.Context) (string, error) {
	if m.Type == "" {
		return "", wrong("the host group must list types of machines with their sizes")
	}
	if len(m.UserData) > maxUserData {
		return "", wrong("user data has %d bytes, at most %d are allowed", len(m.UserData), maxUserData)
	}
	if len(m.Places) > 1 {
		if found, err := m.find(ctx); err != nil || len(found) > 0 {
			return first(found), err
		}
	}
	var err error
	for i, place := range m.Places {
		var made *ec2.RunInstancesOutput
		made, err = m.regions[place.Region].run(ctx, m.order(i))
		if err == nil && len(made.Instances) == 1 {
			return place.Region + "/" + aws.ToString(made.Instances[0].InstanceId), nil
		}
		if mismatch(err) { // an earlier call for it had another secret, and its answer was lost
			return m.made(ctx, err)
		}
		if err == nil {
			err = core.Errorf(core.CodeUnavailable, m.Instance, "EC2 answered with %d machines instead of one", len(made.Instances))
		}
		if err = m.failed(err, "make instance "+m.Instance+" in "+place.Region); !core.Is(err, core.CodeLimit) {
			break
		}
	}
	return "", err
}

// mismatch reports whether EC2 has made the machine of a client token for an order that differed.
func mismatch(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "IdempotentParameterMismatch"
}

// made returns the machine that was made for the instance. EC2 may list it a moment later, or it has ended.
func (m machines) made(ctx context.Context, cause error) (string, error) {
	found, err := m.find(ctx)
	if err == nil && len(found) == 0 {
		err = core.Wrap(cause, core.CodeUnavailable, m.Instance, "the machine of instance %s was asked for before, and is not listed", m.Instance)
	}
	return first(found), err
}

// order is what EC2 is asked for at a place. It makes one machine for a client token; a machine that ended is still the one.
func (m machines) order(place int) *ec2.RunInstancesInput {
	at := m.Places[place]
	tags := []types.Tag{
		{Key: aws.String("Name"), Value: aws.String(m.Instance)},
		{Key: aws.String(tagCluster), Value: aws.String(m.Cluster)},
		{Key: aws.String(tagGroup), Value: aws.String(m.Group)},
		{Key: aws.String(tagInstance), Value: aws.String(m.Instance)},
	}
	for name, value := range m.Tags {
		tags = append(tags, types.Tag{Key: aws.String(name), Value: aws.String(value)})
	}
	in := &ec2.RunInstancesInput{
		ClientToken: aws.String(m.ClientToken + "-" + strconv.Itoa(place)), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		ImageId: aws.String(at.Image), InstanceType: types.InstanceType(m.Type), SecurityGroupIds: at.SecurityGroups,
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
		MetadataOptions:                   &types.InstanceMetadataOptionsRequest{HttpTokens: types.HttpTokensStateRequired},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags}, {ResourceType: types.ResourceTypeVolume, Tags: tags},
		},
	}
	if at.Subnet != "" {
		in.SubnetId = aws.String(at.Subnet)
	}
	if m.Key != "" {
		in.KeyName = aws.String(m.Key)
	}
	if m.InstanceProfile != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String(m.InstanceProfile)}
	}
	if m.DiskGiB > 0 {
		in.BlockDeviceMappings = []types.BlockDeviceMapping{{
			DeviceName: aws.String("/dev/xvda"), Ebs: &types.EbsBlockDevice{VolumeSize: aws.Int32(m.DiskGiB), DeleteOnTermination: aws.Bool(true)},
		}}
	}
	if m.UserData != "" {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(m.UserData)))
	}
	if m.Spot {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: &types.SpotMarketOptions{
			SpotInstanceType: types.SpotInstanceTypeOneTime, InstanceInterruptionBehavior: types.InstanceInterruptionBehaviorTerminate,
		}}
		if m.MaxPrice != "" {
			in.InstanceMarketOptions.SpotOptions.MaxPrice = aws.String(m.MaxPrice)
		}
		in.TagSpecifications = append(in.TagSpecifications, types.TagSpecification{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags})
	}
	return in
}

func first(all []core.Machine) string {
	if len(all) == 0 {
		return ""
	}
	return all[0].Foreign
}

// find returns the machines of the instance that have not ended.
func (m machines) find(ctx context.Context) ([]core.Machine, error) {
	all, err := m.describe(ctx, types.Filter{Name: aws.String("tag:" + tagInstance), Values: []string{m.Instance}})
	return slices.DeleteFunc(all, func(one core.Machine) bool { return one.Gone }), err
}

// list lists the cluster's machines, with what EC2 says of those that it takes back.
func (m machines) list(ctx context.Context) ([]core.Machine, error) {
	all, err := m.describe(ctx)
	if err != nil || !m.Spot {
		return all, err
	}
	notices := make(map[string]int64)
	for name, at := range m.regions {
		in := &ec2.DescribeSpotInstanceRequestsInput{MaxResults: aws.Int32(pageSize), Filters: []types.Filter{
			{Name: aws.String("tag:" + tagCluster), Values: []string{m.Cluster}},
			{Name: aws.String("status-code"), Values: []string{"marked-for-termination"}},
		}}
		for more := true; more; more = aws.ToString(in.NextToken) != "" {
			page, err := at.spots(ctx, in)
			if err != nil {
				return nil, m.failed(err, "list requests for spot machines in "+name)
			}
			for _, r := range page.SpotInstanceRequests {
				if r.Status != nil && r.Status.UpdateTime != nil {
					notices[name+"/"+aws.ToString(r.InstanceId)] = r.Status.UpdateTime.Add(spotNotice).UnixMilli()
				}
			}
			in.NextToken = page.NextToken
		}
	}
	for i := range all {
		all[i].Notice = notices[all[i].Foreign]
	}
	return all, nil
}

// describe lists the cluster's machines in all regions of the profile.
func (m machines) describe(ctx context.Context, more ...types.Filter) ([]core.Machine, error) {
	var all []core.Machine
	filters := append([]types.Filter{{Name: aws.String("tag:" + tagCluster), Values: []string{m.Cluster}}}, more...)
	for name, at := range m.regions {
		in := &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(pageSize)}
		for more := true; more; more = aws.ToString(in.NextToken) != "" {
			page, err := at.describe(ctx, in)
			if err != nil {
				return nil, m.failed(err, "list machines in "+name)
			}
			for _, r := range page.Reservations {
				for i := range r.Instances {
					all = append(all, machine(name, &r.Instances[i]))
				}
			}
			in.NextToken = page.NextToken
		}
	}
	return slices.DeleteFunc(all, func(one core.Machine) bool { return one.Cluster != m.Cluster || one.Token == "" }), nil
}

func machine(region string, i *types.Instance) core.Machine {
	out := core.Machine{Foreign: region + "/" + aws.ToString(i.InstanceId)}
	if i.LaunchTime != nil {
		out.Created = i.LaunchTime.UnixMilli()
	}
	if i.State != nil {
		out.Gone = i.State.Name == types.InstanceStateNameTerminated || i.State.Name == types.InstanceStateNameShuttingDown
	}
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case tagCluster:
			out.Cluster = aws.ToString(t.Value)
		case tagGroup:
			out.Group = aws.ToString(t.Value)
		case tagInstance:
			out.Token = aws.ToString(t.Value)
		}
	}
	return out
}

// terminate ends the machine of the instance.
func (m machines) terminate(ctx context.Context) error {
	names := []string{m.Machine}
	if m.Machine == "" {
		found, err := m.find(ctx)
		if err != nil {
			return err
		}
		names = nil
		for _, one := range found {
			names = append(names, one.Foreign)
		}
	}
	var troubles []error
	for _, name := range names {
		where, id, _ := strings.Cut(name, "/")
		at, is := m.regions[where]
		if !is {
			troubles = append(troubles, core.Errorf(core.CodeInvalid, m.Instance, "machine %s of instance %s is in a region that the settings do not have any more", name, m.Instance))
			continue
		}
		_, err := at.terminate(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
		var api smithy.APIError
		if errors.As(err, &api) && strings.HasPrefix(api.ErrorCode(), "InvalidInstanceID.NotFound") {
			continue
		}
		troubles = append(troubles, m.failed(err, "end machine "+name))
	}
	return errors.Join(troubles...)
}
