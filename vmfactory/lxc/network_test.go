package lxc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest/tier"
	"drover/vmfactory/providertest"
)

// The test binary under other names: in VMs, where it says what becomes of a
// connection, and as the rest of the fixture, where it takes them.
const (
	dialer      = "drover-dial"
	fixtured    = "drover-fixture"
	flooder     = "drover-flood"
	knocker     = "drover-knock"
	seeker      = "drover-seek"
	dialTimeout = 700 * time.Millisecond // with a dial that nobody answers
)

func init() {
	switch filepath.Base(os.Args[0]) {
	case dialer:
		fmt.Print(dial(os.Args[1], os.Args[2]))
		os.Exit(0)
	case flooder:
		flood()
		os.Exit(0)
	case seeker:
		seek()
		os.Exit(0)
	case knocker:
		knock()
		os.Exit(0)
	case fixtured:
		go pester()
		l, err := net.Listen("tcp4", ":8080")
		if err != nil {
			os.Exit(1)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("fixture"))
				_ = c.Close()
			}
		}()
		_, _ = io.Copy(io.Discard, os.Stdin) // as long as the test lives
		os.Exit(0)
	}
}

// dial says "connected", "refused" by who is there, or "nothing".
func dial(network, address string) string {
	c, err := net.DialTimeout(network, address, dialTimeout)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case err != nil:
		return "nothing"
	}
	_ = c.Close()
	return "connected"
}

// flood begins more connections than a host has room for from one VM.
func flood() {
	c, err := net.ListenPacket("udp4", ":0")
	if err != nil {
		os.Exit(1)
	}
	for port := range 5 * mostFlows {
		_, _ = c.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv4(8, 8, 4, 4), Port: 10_000 + port}) // what is dropped is refused
	}
}

// control is where pester calls back.
const control = ":5000"

// pester keeps sending to every peer that has sent to it.
func pester() {
	c, err := net.ListenPacket("udp4", ":9000")
	if err != nil {
		os.Exit(1)
	}
	for {
		var one [1]byte
		_, from, err := c.ReadFrom(one[:])
		if err != nil {
			os.Exit(1)
		}
		go func() {
			for range time.Tick(10 * time.Millisecond) {
				_, _ = c.WriteTo([]byte("x"), from)
			}
		}()
	}
}

// knock has the fixture call back, if it gets a target, and says whether
// somebody does.
func knock() {
	c, err := net.ListenPacket("udp4", control)
	if err != nil {
		os.Exit(1)
	}
	if len(os.Args) > 1 {
		to, _ := net.ResolveUDPAddr("udp4", os.Args[1])
		_, _ = c.WriteTo([]byte("x"), to)
	}
	_ = c.SetReadDeadline(time.Now().Add(dialTimeout))
	var one [1]byte
	if _, _, err := c.ReadFrom(one[:]); err != nil {
		fmt.Print("nothing")
		return
	}
	fmt.Print("somebody")
}

// insideHost is set in the copy of the test that has network namespaces of its own.
const insideHost = "DROVER_LXC_TEST_NETWORK"

// TestEgress has a host, a fixture around it and VMs, in network namespaces.
func TestEgress(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	if os.Getenv(insideHost) != "" {
		egressInside(t)
		return
	}
	t.Parallel()
	provider(t, folder(t)) // or skip
	for _, tool := range []string{"ip", "nft", "nsenter", "unshare"} {
		_, err := exec.LookPath(tool)
		providertest.Need(t, err == nil, tool)
	}
	// liblxc looks for the bridge in /sys, which shows the network that it was mounted in.
	own := `mount --rbind /sys/fs/cgroup "$0" && mount -t sysfs sysfs /sys && mount --rbind "$0" /sys/fs/cgroup && umount -l "$0" && exec "$@"`
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "unshare", "--net", "--mount", "sh", "-c", own, t.TempDir(), self, "-test.run=^TestEgress$", "-test.v")
	cmd.Env = append(os.Environ(), insideHost+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestEgress", "it ran")
}

// fixture makes another machine that has all kinds of addresses, behind the host's
// one cable.
func fixture(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args[0] = fixtured
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	there := func(args ...string) { run(t, append([]string{"nsenter", "-t", pid, "-n", "ip"}, args...)...) }
	run(t, "ip", "link", "set", "lo", "up")
	run(t, "ip", "link", "add", "up0", "type", "veth", "peer", "name", "w0", "netns", pid)
	run(t, "ip", "addr", "add", "5.5.0.1/24", "dev", "up0")
	run(t, "ip", "link", "set", "up0", "up")
	there("addr", "add", "5.5.0.2/24", "dev", "w0")
	for _, address := range []string{"8.8.4.4", "6.6.6.6", "10.9.9.9", "172.16.3.4", "192.168.7.7", "169.254.169.254", "100.100.1.1", "168.63.129.16"} {
		there("addr", "add", address+"/32", "dev", "w0")
	}
	there("link", "set", "w0", "up")
	there("link", "set", "lo", "up")
	run(t, "ip", "route", "add", "default", "via", "5.5.0.2")
	for _, address := range []string{"8.8.4.4:8080", "169.254.169.254:8080", "10.9.9.9:8080"} {
		require.Eventually(t, func() bool { return dial("tcp4", address) == "connected" }, soon, 10*time.Millisecond, "the host itself reaches %s", address)
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
}

func egressInside(t *testing.T) {
	t.Helper()
	fixture(t)
	listener, err := net.Listen("tcp4", ":8081") // of the host
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.WriteFile(forwarding, []byte(off), 0))
	p := provider(t, folder(t))
	p.firewall.closed = []string{"6.6.6.0/24"}
	open := pool()
	open.Network = core.NetworkEgress
	started(t, p, "a", open)
	started(t, p, "b", open)
	started(t, p, "shut", pool())
	address := func(id string) string {
		r, err := p.traces.Read(id)
		require.NoError(t, err)
		return p.link(r).address
	}
	in := func(from string, args ...string) string {
		c, err := agent.Dial(p.traces.Path(from))
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.Assign(context.Background(), "work"))
		var said strings.Builder
		_, err = c.Run(context.Background(), agent.Run{Args: args}, func(_ string, data []byte) { said.Write(data) })
		require.NoError(t, err)
		return said.String()
	}
	try := func(from, network, to string) string { return in(from, dialer, network, to) }
	until := func(said, why string, say func() string) { // a busy host is slow to answer
		t.Helper()
		for late := time.Now().Add(soon); say() != said; {
			require.True(t, time.Now().Before(late), why)
		}
	}
	reaches := func(from, to, why string) {
		t.Helper()
		until("connected", why, func() string { return try(from, "tcp4", to) })
	}
	reaches("a", "8.8.4.4:8080", "the fixture is open")
	reaches("b", "8.8.4.4:8080", "to all of them")
	for _, to := range []string{
		"10.9.9.9:8080", "172.16.3.4:8080", "192.168.7.7:8080", "169.254.169.254:8080", "100.100.1.1:8080", "168.63.129.16:8080", // private, metadata
		"6.6.6.6:8080",                                    // closed by the settings
		gateway + ":8081", "5.5.0.1:8081", gateway + ":1", // the host, by any of its addresses
		address("b") + ":1", // another VM would refuse it
	} {
		assert.Equal(t, "nothing", try("a", "tcp4", to), to)
	}
	assert.Equal(t, "nothing", try("shut", "tcp4", "8.8.4.4:8080"), "none is the default")
	assert.Equal(t, "refused", try("a", "tcp4", "127.0.0.1:1"), "its own loopback is up")
	assert.Regexp(t, `^(IP.*\n)?(`+regexp.QuoteMeta(gateway)+` .*\n)?$`, in("a", "cat", "/proc/net/arp"), "the host tells none of its addresses")

	narrow(t, p, in) // one neighbour

	claim(t, p, address("b"))
	assert.Equal(t, "nothing", in("b", knocker), "nobody opens a control for another")
	reaches("b", "8.8.4.4:8080", "though another VM claims its address")

	in("a", flooder)
	p.firewall.seen = time.Time{}
	_ = p.Check(t.Context(), "a") // which puts the rules in place again
	in("a", flooder)
	text, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_count")
	require.NoError(t, err)
	flows, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	assert.Less(t, flows, mostFlows+100, "the host has room for its own connections")

	run(t, "nft", "flush", "ruleset") // somebody restarts the host's own firewall
	p.firewall.seen = time.Time{}
	_ = p.Check(t.Context(), "a") // it was used, but its network is looked after first
	assert.Equal(t, "nothing", try("a", "tcp4", "169.254.169.254:8080"))
	reaches("a", "8.8.4.4:8080", "the rules are in place, and let it out")

	old := address("b")
	until("somebody", "an answer finds its way", func() string { return in("b", knocker, "5.5.0.2:9000") })
	late, err := os.Open(filepath.Join("/proc", strconv.Itoa(inside(t, p, "b")), "ns/net"))
	require.NoError(t, err)
	defer late.Close()
	require.NoError(t, p.Destroy(t.Context(), "b"))
	started(t, p, "c", open) // while the kernel still has b's network, as on a busy host
	require.Equal(t, old, address("c"))
	assert.Equal(t, "nothing", in("c", knocker), "but not to who has the address next")

	for _, id := range []string{"a", "c"} {
		require.NoError(t, p.Destroy(t.Context(), id))
	}
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range all {
		assert.False(t, strings.HasPrefix(i.Name, cables), "%s is left, and with it the route to an address that the next VM may get", i.Name)
	}
	lifted(t, p)
}

// lifted is that the last firewall of a host leaves it as it was, unless others may need what
// it has changed.
func lifted(t *testing.T, p *Provider) {
	t.Helper()
	ctx := t.Context()
	state := func() string {
		text, err := os.ReadFile(forwarding)
		require.NoError(t, err)
		out, err := exec.CommandContext(ctx, "nft", "list", "tables").Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(text)) + " " + strings.TrimSpace(string(out))
	}
	const rules = "table inet drover"
	one, two := &p.firewall, &firewall{}
	require.NoError(t, two.stand(ctx))
	require.NoError(t, one.lift(ctx))
	assert.Equal(t, "1 "+rules, state(), "another cluster's stands")
	require.NoError(t, two.lift(ctx))
	assert.Equal(t, "1 ", state(), "the cable up0 may be somebody's who forwards")
	run(t, "ip", "link", "del", "up0")
	again := func() string {
		require.NoError(t, os.WriteFile(forwarding, []byte(off), 0))
		require.NoError(t, one.stand(ctx))
		require.Contains(t, state(), rules)
		require.NoError(t, one.lift(ctx))
		return state()
	}
	assert.Equal(t, "0 ", again(), "as it was")
	run(t, "nft", "add", "table", "ip", "other")
	assert.Equal(t, "1 table ip other", again(), "a table may need it")
	run(t, "nft", "delete", "table", "ip", "other")
	run(t, "ip", "link", "add", cables+"0", "type", "veth", "peer", "name", "peer0")
	assert.Equal(t, "1 "+rules, again(), "a VM has its cable yet")
	run(t, "ip", "link", "del", cables+"0")
	assert.Equal(t, "0 ", again(), "and then none")
	require.NoError(t, os.WriteFile(forwarding, []byte("1"), 0))
	require.NoError(t, one.stand(ctx))
	require.NoError(t, one.lift(ctx))
	assert.Equal(t, "1 ", state(), "it was on before")
}

// narrow has VM a look for many neighbours, by naming its cable and by groups of
// receivers: the host has one table of them for all.
func narrow(t *testing.T, p *Provider, in func(from string, args ...string) string) {
	t.Helper()
	assert.NotContains(t, in("a", "cat", "/proc/net/if_inet6"), "eth0", "it has no IPv6")
	in("a", seeker)
	pid := strconv.Itoa(inside(t, p, "a"))
	out, err := exec.CommandContext(t.Context(), "nsenter", "-t", pid, "-n", "ip", "neigh", "show", "nud", "all", "dev", "eth0").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		assert.True(t, strings.HasPrefix(line, gateway+" "), "one neighbour: %s", line)
	}
	r, err := p.traces.Read("a")
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/net/if_inet6")
	require.NoError(t, err)
	assert.NotContains(t, string(text), p.link(r).end, "nor has the host's end")
}

// seek sends to many addresses that it claims to be neighbours.
func seek() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		os.Exit(1)
	}
	_ = unix.BindToDevice(fd, "eth0")
	for i := range byte(100) {
		for _, to := range [][4]byte{{100, 64, 0, i}, {239, 1, 1, i}} {
			_ = unix.Sendto(fd, []byte("x"), unix.MSG_DONTROUTE|unix.MSG_DONTWAIT, &unix.SockaddrInet4{Port: 9, Addr: to})
		}
	}
	six, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
	if err != nil {
		return
	}
	_ = unix.BindToDevice(six, "eth0")
	for i := range byte(100) {
		_ = unix.Sendto(six, []byte("x"), unix.MSG_DONTWAIT, &unix.SockaddrInet6{Port: 9, Addr: [16]byte{0: 0xfe, 1: 0x80, 15: i}})
	}
}

// claim has VM a use an address that is not its own, as its root could if he had
// all his capabilities.
func claim(t *testing.T, p *Provider, address string) {
	t.Helper()
	pid := strconv.Itoa(inside(t, p, "a"))
	there := func(args ...string) { run(t, append([]string{"nsenter", "-t", pid, "-n"}, args...)...) }
	there("ip", "addr", "add", address+"/32", "dev", "eth0")
	there("ip", "route", "replace", "default", "via", gateway, "dev", "eth0", "src", address)
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), knocker)
	require.NoError(t, os.Symlink(self, program))
	out, err := exec.CommandContext(t.Context(), "nsenter", "-t", pid, "-n", program, "5.5.0.2:9000").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "nothing", string(out))
	there("ip", "addr", "del", address+"/32", "dev", "eth0")
	there("ip", "route", "replace", "default", "via", gateway, "dev", "eth0")
}

func TestNetworkSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{DNS: []string{"example.org"}}, {DNS: []string{"::1"}}, {Closed: []string{"10.0.0.1"}}, {Closed: []string{"fd00::/8"}}} {
		require.Error(t, c.checkNetworks())
	}
	require.NoError(t, Config{DNS: DefaultDNS(), Closed: []string{"203.0.113.0/24"}}.checkNetworks())
}
