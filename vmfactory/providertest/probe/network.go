package probe

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

const dialTimeout = 500 * time.Millisecond

// network tries to reach anything outside, or the address TCP.
func network(t Target) error {
	all, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("cannot list interfaces: %w", err)
	}
	for _, one := range all {
		if one.Flags&net.FlagLoopback == 0 && one.Flags&net.FlagUp != 0 {
			return fmt.Errorf("interface %s is up", one.Name)
		}
	}
	for _, to := range []struct{ network, address string }{
		{"udp", "192.0.2.1:53"},
		{"udp", "169.254.169.254:80"},
		{"udp", "[2001:db8::1]:53"},
		{"udp", "255.255.255.255:9"},
		{"udp", t.TCP},
	} {
		c, err := net.DialTimeout(to.network, to.address, dialTimeout) // connects if there is a route
		if err != nil {
			continue
		}
		_, err = c.Write([]byte("?"))
		_ = c.Close()
		if err == nil {
			return fmt.Errorf("sent a packet to %s", to.address)
		}
	}
	return nil
}

// hostLoopback tries to reach servers of the host that only the host can reach.
func hostLoopback(t Target) error {
	for _, to := range []struct{ network, address string }{{"tcp", t.TCP}, {"unix", t.Abstract}} {
		if c, err := net.DialTimeout(to.network, to.address, dialTimeout); err == nil {
			_ = c.Close()
			return fmt.Errorf("reached %s %s of the host", to.network, to.address)
		}
	}
	return nil
}

// agentSocket tries to reach the agent by every name that its socket may have.
func agentSocket(t Target) error {
	paths := append([]string{}, t.Sockets...)
	for _, s := range t.Sockets {
		paths = append(paths, "/proc/1/root"+s, "/proc/1/cwd"+s)
	}
	for fd := range 32 {
		paths = append(paths, fmt.Sprintf("/proc/1/fd/%d", fd))
	}
	for _, path := range append(paths, unixSockets()...) {
		if c, err := net.DialTimeout("unix", path, dialTimeout); err == nil {
			_ = c.Close()
			return fmt.Errorf("connected to %s", path)
		}
	}
	return nil
}

// sockets tries those that lead to parts of the kernel that no job needs.
func sockets(Target) error {
	for what, s := range map[string][3]int{
		"SCTP": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, "MPTCP": {unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		"UDP-Lite": {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}, "raw packets": {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
		"a firewall's netlink": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, "generic netlink": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
		"uevents": {unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT}, "IPsec's netlink": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_XFRM},
	} {
		if fd, err := unix.Socket(s[0], s[1], s[2]); err == nil {
			_ = unix.Close(fd)
			return fmt.Errorf("has a socket for %s", what)
		}
	}
	for what, s := range map[string][2]int{
		"streams": {unix.AF_INET, unix.SOCK_STREAM}, "datagrams": {unix.AF_INET6, unix.SOCK_DGRAM}, "interfaces": {unix.AF_NETLINK, unix.SOCK_RAW},
	} {
		fd, err := unix.Socket(s[0], s[1], 0)
		if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) { // a kernel without IPv6
			return fmt.Errorf("has no socket for %s, which jobs need: %w", what, err)
		}
		_ = unix.Close(fd)
	}
	return nil
}
