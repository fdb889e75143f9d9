package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"drover/core"
)

// EC2 is the profile of a group whose machines are instances of EC2. Who asks for them is found as all programs of AWS
// do: by the environment, files of the account, or the role of the machine that the overseer runs on.
type EC2 struct {
	Places          []EC2Place        `json:"places"`                     // in the order in which they are tried while one has no capacity
	InstanceProfile string            `json:"instance_profile,omitempty"` // name of the role of its machines
	Key             string            `json:"key,omitempty"`              // name of a key pair, for people
	DiskGiB         int32             `json:"disk_gib,omitempty"`         // of the root disk; 0: the image's own
	MaxPrice        string            `json:"max_price,omitempty"`        // of a spot machine an hour, in dollars; "": the price on demand
	UserData        string            `json:"user_data,omitempty"`        // with {{instance}} and the like filled in
	Tags            map[string]string `json:"tags,omitempty"`             // beside drover's own
	Endpoint        string            `json:"endpoint,omitempty"`         // another server that speaks the API of EC2
}

// EC2Place is where machines are made.
type EC2Place struct {
	Region         string   `json:"region"`
	Image          string   `json:"image"` // id; it differs by region
	Subnet         string   `json:"subnet,omitempty"`
	SecurityGroups []string `json:"security_groups,omitempty"` // ids
}

// Tags of drover's machines.
const (
	TagCluster  = "drover-cluster"
	TagGroup    = "drover-group"
	TagInstance = "drover-instance"
)

const (
	maxPlaces   = 20
	maxUserData = 12 << 10 // EC2 allows 16 KiB, encoded
	spotNotice  = 2 * time.Minute
	pageSize    = 500
)

// Codes of EC2 that say that a place has no room now, and beginnings of those that say that an order is wrong.
var (
	noCapacity = []string{
		"InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity", "InsufficientCapacity",
		"InstanceLimitExceeded", "VcpuLimitExceeded", "MaxSpotInstanceCountExceeded", "SpotMaxPriceTooLow", "InsufficientFreeAddressesInSubnet",
		"InsufficientVolumeCapacity", "VolumeLimitExceeded", "Unsupported", "UnfulfillableCapacity",
	}
	wrongOrder = []string{
		"Invalid", "Missing", "Malformed", "UnauthorizedOperation", "AuthFailure", "OptInRequired", "UnknownParameter",
		"UnsupportedOperation", "Blocked", "PendingVerification", "SignatureDoesNotMatch",
	}
)

type machines struct {
	EC2

	cluster string
	group   core.HostGroup
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

func ec2Profile(g core.HostGroup) (EC2, error) {
	var p EC2
	if err := profile(g, &p); err != nil {
		return p, err
	}
	switch {
	case len(p.Places) == 0 || len(p.Places) > maxPlaces:
		return p, wrong(g, "places must name 1 to %d regions with their images", maxPlaces)
	case len(p.UserData) > maxUserData:
		return p, wrong(g, "user_data has %d bytes, at most %d are allowed", len(p.UserData), maxUserData)
	case len(g.Types) == 0:
		return p, wrong(g, "the group must list types of instances with their sizes")
	case p.DiskGiB < 0:
		return p, wrong(g, "disk_gib must not be below 0")
	}
	for _, place := range p.Places {
		if place.Region == "" || place.Image == "" {
			return p, wrong(g, "each place needs a region and an image")
		}
	}
	for name := range p.Tags {
		if strings.HasPrefix(name, "drover-") || strings.HasPrefix(name, "aws:") {
			return p, wrong(g, "tag %s is not free: choose a name that begins with neither drover- nor aws:", name)
		}
	}
	return p, nil
}

func openEC2(ctx context.Context, cluster string, g core.HostGroup) (Provider, error) {
	p, err := ec2Profile(g)
	if err != nil {
		return nil, err
	}
	m := &machines{EC2: p, cluster: cluster, group: g, regions: make(map[string]region)}
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, g.Name, "the settings of AWS cannot be read")
	}
	for _, place := range p.Places {
		c := ec2.NewFromConfig(cfg, func(o *ec2.Options) {
			o.Region = place.Region
			if p.Endpoint != "" {
				o.BaseEndpoint = aws.String(p.Endpoint)
			}
		})
		m.regions[place.Region] = region{c.RunInstances, c.DescribeInstances, c.DescribeSpotInstanceRequests, c.TerminateInstances}
	}
	return m, nil
}

// failed gives an error of EC2 its code.
func (m *machines) failed(err error, id, what string) error {
	if err == nil {
		return nil
	}
	code := core.CodeUnavailable
	var api smithy.APIError
	if errors.As(err, &api) {
		switch {
		case slices.Contains(noCapacity, api.ErrorCode()):
			code = core.CodeLimit
		case slices.ContainsFunc(wrongOrder, func(begin string) bool { return strings.HasPrefix(api.ErrorCode(), begin) }):
			code = core.CodeInvalid
		}
	}
	return core.Wrap(err, code, id, "host group %s: EC2 cannot %s", m.group.Name, what)
}

// clientToken names an order at one place. EC2 makes one machine for it; a machine that ended is still the one.
func (m *machines) clientToken(o Order, place int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d", m.cluster, o.Token, o.Made, place))
	return hex.EncodeToString(sum[:])
}

// Create implements Provider. While a place has no capacity, the next one is tried. What an earlier call made at another
// place is looked for first.
func (m *machines) Create(ctx context.Context, o Order) (string, error) {
	if len(m.Places) > 1 {
		if found, err := m.find(ctx, o.Token); err != nil || len(found) > 0 {
			return first(found), err
		}
	}
	var err error
	for i, place := range m.Places {
		var made *ec2.RunInstancesOutput
		made, err = m.regions[place.Region].run(ctx, m.order(o, i))
		if err == nil && len(made.Instances) == 1 {
			return place.Region + "/" + aws.ToString(made.Instances[0].InstanceId), nil
		}
		if mismatch(err) { // an earlier call for it had another secret, and its answer was lost
			return m.made(ctx, o.Token, err)
		}
		if err == nil {
			err = core.Errorf(core.CodeUnavailable, o.Token, "EC2 answered with %d machines instead of one", len(made.Instances))
		}
		if err = m.failed(err, o.Token, "make instance "+o.Token+" in "+place.Region); !core.Is(err, core.CodeLimit) {
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

// made returns the machine that was made for a token. EC2 may list it a moment later, or it has ended.
func (m *machines) made(ctx context.Context, token string, cause error) (string, error) {
	found, err := m.find(ctx, token)
	if err == nil && len(found) == 0 {
		err = core.Wrap(cause, core.CodeUnavailable, token, "host group %s: the machine of instance %s was asked for before, and is not listed", m.group.Name, token)
	}
	return first(found), err
}

func (m *machines) order(o Order, place int) *ec2.RunInstancesInput {
	at := m.Places[place]
	tags := []types.Tag{
		{Key: aws.String("Name"), Value: aws.String(o.Token)},
		{Key: aws.String(TagCluster), Value: aws.String(m.cluster)},
		{Key: aws.String(TagGroup), Value: aws.String(o.Group)},
		{Key: aws.String(TagInstance), Value: aws.String(o.Token)},
	}
	for name, value := range m.Tags {
		tags = append(tags, types.Tag{Key: aws.String(name), Value: aws.String(value)})
	}
	in := &ec2.RunInstancesInput{
		ClientToken: aws.String(m.clientToken(o, place)), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		ImageId: aws.String(at.Image), InstanceType: types.InstanceType(o.Type), SecurityGroupIds: at.SecurityGroups,
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
		in.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(filled(m.UserData, m.cluster, o))))
	}
	if o.Spot {
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

// find returns the machines of a token that have not ended.
func (m *machines) find(ctx context.Context, token string) ([]core.Machine, error) {
	all, err := m.describe(ctx, types.Filter{Name: aws.String("tag:" + TagInstance), Values: []string{token}})
	return slices.DeleteFunc(all, func(one core.Machine) bool { return one.Gone }), err
}

// List implements Provider.
func (m *machines) List(ctx context.Context) ([]core.Machine, error) {
	all, err := m.describe(ctx)
	if err != nil || !m.group.Spot {
		return all, err
	}
	notices := make(map[string]int64)
	for name, at := range m.regions {
		in := &ec2.DescribeSpotInstanceRequestsInput{MaxResults: aws.Int32(pageSize), Filters: []types.Filter{
			{Name: aws.String("tag:" + TagCluster), Values: []string{m.cluster}},
			{Name: aws.String("status-code"), Values: []string{"marked-for-termination"}},
		}}
		for more := true; more; more = aws.ToString(in.NextToken) != "" {
			page, err := at.spots(ctx, in)
			if err != nil {
				return nil, m.failed(err, "", "list requests for spot machines in "+name)
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
func (m *machines) describe(ctx context.Context, more ...types.Filter) ([]core.Machine, error) {
	var all []core.Machine
	filters := append([]types.Filter{{Name: aws.String("tag:" + TagCluster), Values: []string{m.cluster}}}, more...)
	for name, at := range m.regions {
		in := &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(pageSize)}
		for more := true; more; more = aws.ToString(in.NextToken) != "" {
			page, err := at.describe(ctx, in)
			if err != nil {
				return nil, m.failed(err, "", "list machines in "+name)
			}
			for _, r := range page.Reservations {
				for i := range r.Instances {
					all = append(all, m.machine(name, &r.Instances[i]))
				}
			}
			if len(all) > MaxMachines {
				return nil, core.Errorf(core.CodeLimit, m.group.Name, "the cluster has more than %d machines", MaxMachines)
			}
			in.NextToken = page.NextToken
		}
	}
	return slices.DeleteFunc(all, func(one core.Machine) bool { return one.Cluster != m.cluster || one.Token == "" }), nil
}

func (m *machines) machine(region string, i *types.Instance) core.Machine {
	out := core.Machine{Foreign: region + "/" + aws.ToString(i.InstanceId)}
	if i.LaunchTime != nil {
		out.Created = i.LaunchTime.UnixMilli()
	}
	if i.State != nil {
		out.Gone = i.State.Name == types.InstanceStateNameTerminated || i.State.Name == types.InstanceStateNameShuttingDown
	}
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case TagCluster:
			out.Cluster = aws.ToString(t.Value)
		case TagGroup:
			out.Group = aws.ToString(t.Value)
		case TagInstance:
			out.Token = aws.ToString(t.Value)
		}
	}
	return out
}

// Terminate implements Provider.
func (m *machines) Terminate(ctx context.Context, token, foreign string) error {
	names := []string{foreign}
	if foreign == "" {
		found, err := m.find(ctx, token)
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
			troubles = append(troubles, core.Errorf(core.CodeInvalid, token, "host group %s: machine %s of instance %s is in a region that the profile does not have any more", m.group.Name, name, token))
			continue
		}
		_, err := at.terminate(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
		var api smithy.APIError
		if errors.As(err, &api) && strings.HasPrefix(api.ErrorCode(), "InvalidInstanceID.NotFound") {
			continue
		}
		troubles = append(troubles, m.failed(err, token, "end machine "+name))
	}
	return errors.Join(troubles...)
}
