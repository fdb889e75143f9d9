package lxc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory/trace"
)

// A VM of a pool with egress has its own cable to the host, with one address at its end, from a network that is
// reserved for tests of networks (RFC 2544), so that it conflicts with no real one. VMs share no bridge: none can
// take another's address, or receive its packets.
const (
	cables  = "drover" // prefix of the names of the host's ends
	network = "198.18.0.0/16"
	gateway = "198.18.0.1"
	firstVM = 16 // the last two bytes of the first VM's address
)

// closed are the networks that VMs never reach: all addresses that are not public, and one that is: a cloud's
// metadata service for its machines, which hands out secrets. Another rule closes the host's own addresses.
var closed = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32",
}

// mostFlows is how many connections, of any protocol, the host tracks for a VM; its table has a fixed size for all
// its programs.
const mostFlows = 1024

// DefaultDNS returns public name servers. The host's own are mostly at closed addresses.
func DefaultDNS() []string { return []string{"9.9.9.9", "1.1.1.1"} }

// link is a VM's cable.
type link struct {
	end     string // the host's end
	address string
}

// egress reports whether a pool's VMs reach more than their loopback.
func egress(pool core.Pool) bool { return pool.Network == core.NetworkEgress }

// link returns the cable of a VM, nil if it has no network.
func (p *Provider) link(r trace.Record) *link {
	if !egress(r.Pool) {
		return nil
	}
	sum := sha256.Sum256([]byte(p.tag + r.VM))
	at := netip.MustParsePrefix(network).Addr().As4()
	n := firstVM + r.Place
	at[2], at[3] = byte(n>>8), byte(n) //nolint:gosec // the two bytes
	return &link{end: cables + hex.EncodeToString(sum[:4]), address: netip.AddrFrom4(at).String()}
}

// net gives the container a network namespace of its own.
func (k container) net(c *config) {
	if k.network == nil {
		c.set("net.0.type", "empty")
		return
	}
	for _, s := range [][2]string{
		{"type", "veth"},
		{"veth.mode", "router"},
		{"veth.pair", k.network.end},
		{"flags", "up"},
		{"name", "eth0"},
		{"ipv4.address", k.network.address + "/32"},
		{"ipv4.gateway", gateway},
	} {
		c.set("net.0."+s[0], "%s", s[1])
	}
}

// rules returns the host's firewall for the cables. It replaces the present rules atomically, so that there is no
// moment without, and keeps counters. Other tables of the host may forbid more, but cannot allow what this one drops.
func rules(more []string) string {
	var also strings.Builder // separate rules: in one set they might overlap
	for _, n := range more {
		fmt.Fprintf(&also, "\n\t\tiifname %q ip daddr %s drop", cables+"*", n)
	}
	return fmt.Sprintf(`table inet drover {
	set flows { type ipv4_addr; size 65535; flags dynamic; }
	chain input { type filter hook input priority -10; policy accept; }
	chain forward { type filter hook forward priority -10; policy accept; }
	chain postrouting { type nat hook postrouting priority 100; policy accept; }
}
flush table inet drover
table inet drover {
	chain input {
		iifname %[1]q drop
	}
	chain forward {
		iifname %[1]q oifname %[1]q drop
		iifname %[1]q meta nfproto != ipv4 drop
		iifname %[1]q ct state invalid drop
		iifname %[1]q ip saddr != %[2]s drop
		iifname %[1]q fib saddr . iif oif missing drop
		iifname %[1]q ip daddr { %[3]s } drop%[4]s
		iifname %[1]q ct state new add @flows { ip saddr ct count over %[5]d } drop
		oifname %[1]q ct state != { established, related } drop
	}
	chain postrouting {
		ip saddr %[2]s oifname != %[1]q masquerade
	}
}
`, cables+"*", network, strings.Join(closed, ", "), also.String(), mostFlows)
}

// name gives the host's end the gateway's address, which it then uses in its ARP requests and replies. Otherwise it
// would use another address of the host, which the VM would learn, and only after a delay.
func (l *link) name() error {
	end, err := netlink.LinkByName(l.end)
	if err != nil {
		return err
	}
	only := net.IPNet{IP: net.ParseIP(gateway).To4(), Mask: net.CIDRMask(32, 32)}
	return netlink.AddrReplace(end, &netlink.Addr{IPNet: &only})
}

// neighbour limits what a VM's own network sends out to what its host forwards. A kernel has one neighbour table for
// all its namespaces, with room for some thousand entries; a program that chooses its cable or a multicast group as
// the target could fill it with lookups of any address.
const neighbour = `table inet drover {
	chain output {
		type filter hook output priority 0; policy accept;
		oifname "lo" accept
		meta nfproto != ipv4 drop
		rt ip nexthop != ` + gateway + ` drop
	}
}
`

// narrow leaves a VM one neighbour, its host, and disables IPv6 on both ends of its cable. In are processes of the
// VM.
func (l *link) narrow(ctx context.Context, in []int) error {
	if len(in) == 0 {
		return errors.New("it has ended")
	}
	if err := withoutIPv6(l.end); err != nil {
		return err
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends in that network
		ended <- l.narrowInside(ctx, in[0])
	}()
	return <-ended
}

// narrowInside moves its thread into the network of a process.
func (l *link) narrowInside(ctx context.Context, pid int) error {
	space, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer space.Close() //nolint:errcheck // nothing was written
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter its network: %w", err)
	}
	if err := withoutIPv6("eth0"); err != nil {
		return err
	}
	return command(ctx, neighbour, "nft", "-f", "-")
}

// withoutIPv6 removes IPv6 addresses from an interface of the thread's network.
func withoutIPv6(name string) error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/disable_ipv6", []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
		return nil
	}
	return err
}

// forget removes the host's end of the cable and the tracked connections of a VM that is gone. The kernel would
// remove the end by itself, but possibly after the next VM of that address has its route; the peer of an old
// connection could then reach that VM through it.
func (l *link) forget() error {
	if err := l.cut(); err != nil {
		return core.Wrap(err, core.CodeUnavailable, l.end, "the cable %s cannot be removed", l.end)
	}
	var of netlink.ConntrackFilter
	err := of.AddIP(netlink.ConntrackOrigSrcIP, net.ParseIP(l.address))
	if err == nil {
		_, err = netlink.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, &of)
	}
	if errors.Is(err, unix.ENOENT) { // it ended by itself in the meantime
		return nil
	}
	return core.Wrap(err, core.CodeUnavailable, l.address, "the connections of %s cannot be ended", l.address)
}

// cut removes the host's end of the cable, if it is still there.
func (l *link) cut() error {
	end, err := netlink.LinkByName(l.end)
	if err == nil {
		err = netlink.LinkDel(end)
	}
	if _, gone := errors.AsType[netlink.LinkNotFoundError](err); gone || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// command runs a tool of the host.
func command(ctx context.Context, input, name string, args ...string) error {
	_, err := said(ctx, input, name, args...)
	return err
}

// said runs a tool of the host and returns its output.
func said(ctx context.Context, input, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no program %s, which pools with network %s need: install nftables", name, core.NetworkEgress)
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, first)
	}
	return string(out), nil
}

// checkNetworks returns INVALID for settings that are not addresses or networks.
func (c Config) checkNetworks() error {
	for _, server := range c.DNS {
		if addr, err := netip.ParseAddr(server); err != nil || !addr.Is4() {
			return core.Errorf(core.CodeInvalid, server, "%q is no address of a server of names, such as 9.9.9.9", server)
		}
	}
	for _, n := range c.Closed {
		if prefix, err := netip.ParsePrefix(n); err != nil || !prefix.Addr().Is4() {
			return core.Errorf(core.CodeInvalid, n, "%q is no network, such as 192.0.2.0/24", n)
		}
	}
	return nil
}

// resolvers returns a VM's resolv.conf.
func (p *Provider) resolvers(pool core.Pool) string {
	if !egress(pool) {
		return ""
	}
	var text strings.Builder
	for _, server := range p.cfg.DNS {
		fmt.Fprintf(&text, "nameserver %s\n", server)
	}
	return text.String()
}
