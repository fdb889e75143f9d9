package lxc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/vmfactory/trace"
)

// VMs of a pool with egress are at a bridge of the host, in a network that is
// reserved for tests of networks (RFC 2544), so that it meets nobody's own.
const (
	bridge   = "drover0"
	network  = "198.18.0.0/16"
	gateway  = "198.18.0.1"
	plainLen = 16 // of the network's prefix
	firstVM  = 16 // the last two bytes of the first VM's address
)

// closed are the networks that VMs never reach: whatever is not a public address
// of somebody else. The host's own addresses are closed by another rule.
var closed = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
}

// DefaultDNS are servers of names that everybody can reach. Those of the host are
// mostly at addresses that are closed.
func DefaultDNS() []string { return []string{"9.9.9.9", "1.1.1.1"} }

// link is a VM's way to the bridge.
type link struct {
	pair    string // the host's end
	address string
}

// egress reports whether a pool's VMs reach more than their loopback.
func egress(pool core.Pool) bool { return pool.Network == core.NetworkEgress }

// link returns what belongs to a VM, nil if it has no network.
func (p *Provider) link(r trace.Record) *link {
	if !egress(r.Pool) {
		return nil
	}
	sum := sha256.Sum256([]byte(p.tag + r.VM))
	at := netip.MustParsePrefix(network).Addr().As4()
	n := firstVM + r.Place
	at[2], at[3] = byte(n>>8), byte(n) //nolint:gosec // the two bytes
	return &link{pair: "dv" + hex.EncodeToString(sum[:6]), address: netip.AddrFrom4(at).String()}
}

// net gives the container a network namespace of its own.
func (k container) net(c *config) {
	if k.network == nil {
		c.set("net.0.type", "empty")
		return
	}
	for _, s := range [][2]string{
		{"type", "veth"},
		{"veth.pair", k.network.pair},
		{"link", bridge},
		{"flags", "up"},
		{"name", "eth0"},
		{"ipv4.address", fmt.Sprintf("%s/%d", k.network.address, plainLen)},
		{"ipv4.gateway", gateway},
	} {
		c.set("net.0."+s[0], "%s", s[1])
	}
}

// rules is the host's firewall for the bridge. It replaces what is there in one
// step, so that there is no moment without. Other tables of the host may forbid
// more; what this one drops none of them can allow.
func rules(more []string) string {
	var also strings.Builder // on their own: in one set they might overlap
	for _, n := range more {
		fmt.Fprintf(&also, "\n\t\tiifname %q ip daddr %s drop", bridge, n)
	}
	return fmt.Sprintf(`table inet drover
delete table inet drover
table inet drover {
	chain input {
		type filter hook input priority -10; policy accept;
		iifname %[1]q drop
	}
	chain forward {
		type filter hook forward priority -10; policy accept;
		iifname %[1]q oifname %[1]q drop
		iifname %[1]q meta nfproto != ipv4 drop
		iifname %[1]q ip saddr != %[2]s drop
		iifname %[1]q ip daddr { %[3]s } drop%[4]s
		oifname %[1]q ct state != { established, related } drop
	}
	chain postrouting {
		type nat hook postrouting priority 100; policy accept;
		ip saddr %[2]s oifname != %[1]q masquerade
	}
}
`, bridge, network, strings.Join(closed, ", "), also.String())
}

// firewall keeps the bridge and its rules in place.
type firewall struct {
	closed []string // networks beside those that are always closed

	mu   sync.Mutex
	seen time.Time // when they were last put in place
}

// fresh is how long the rules are believed to stand, which others may flush.
const fresh = 10 * time.Second

// stand makes the bridge and the rules, or makes them anew. Without them no VM
// gets to the bridge.
func (f *firewall) stand(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.seen) < fresh {
		if _, err := net.InterfaceByName(bridge); err == nil {
			return nil
		}
	}
	if err := command(ctx, rules(f.closed), "nft", "-f", "-"); err != nil {
		return err
	}
	if _, err := net.InterfaceByName(bridge); err != nil {
		if err := command(ctx, "", "ip", "link", "add", bridge, "type", "bridge"); err != nil {
			return err
		}
	}
	// Nothing that VMs need, and rules by addresses would be needed twice.
	err := os.WriteFile("/proc/sys/net/ipv6/conf/"+bridge+"/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, args := range [][]string{
		{"addr", "replace", fmt.Sprintf("%s/%d", gateway, plainLen), "dev", bridge},
		{"link", "set", bridge, "up"},
	} {
		if err := command(ctx, "", "ip", args...); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return err
	}
	f.seen = time.Now()
	return nil
}

// isolate keeps a VM from others at the bridge, by whatever protocol.
func (l *link) isolate(ctx context.Context) error {
	return command(ctx, "", "ip", "link", "set", "dev", l.pair, "type", "bridge_slave", "isolated", "on")
}

// command runs a tool of the host.
func command(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no program %s, which pools with network %s need: install nftables and iproute2", name, core.NetworkEgress)
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, first)
	}
	return nil
}

// checkNetworks returns INVALID for settings that are no addresses or networks.
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

// resolvers is a VM's resolv.conf.
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
