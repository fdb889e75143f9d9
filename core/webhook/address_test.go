package webhook_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/webhook"
)

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	var nowhere webhook.Addresses
	for _, ip := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
		"fe80::1", "fe80::1%lo", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "ff0e::1", "100::1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1", "2001:db8::1", "3fff::1",
	} {
		for _, scheme := range []string{"https", "http"} {
			err := nowhere.Check(scheme, netip.MustParseAddr(ip))
			require.Equal(t, core.CodeForbidden, core.CodeOf(err), "%s by %s", ip, scheme)
		}
	}
	for _, ip := range []string{"1.1.1.1", "9.9.9.9", "::ffff:9.9.9.9", "172.32.0.1", "100.128.0.1", "168.63.129.17", "2620:fe::fe", "2a00::1"} {
		require.NoError(t, nowhere.Check("https", netip.MustParseAddr(ip)), ip)
		require.True(t, core.Is(nowhere.Check("http", netip.MustParseAddr(ip)), core.CodeForbidden), "what is not encrypted stays in networks that were named: %s", ip)
	}
}

func TestAllowedNetworks(t *testing.T) {
	t.Parallel()
	a, err := webhook.ParseAddresses([]string{"127.0.0.0/8", "10.1.2.3/32", "fd00::/8", "fe80::/10"})
	require.NoError(t, err)
	for ip, want := range map[string]bool{
		"127.9.9.9": true, "::ffff:127.0.0.1": true, "10.1.2.3": true, "10.1.2.4": false, "fd12::1": true, "fe80::1%lo": true,
		"::1": false, "192.168.0.1": false, "64:ff9b::7f00:1": false,
	} {
		for _, scheme := range []string{"https", "http"} {
			require.Equal(t, want, a.Check(scheme, netip.MustParseAddr(ip)) == nil, "%s by %s", ip, scheme)
		}
	}
	for _, wrong := range []string{"", "localhost", "127.0.0.1", "127.0.0.1/8", "10.0.0.0/33", "::ffff:10.0.0.0/104", "10.0.0.0/8 "} {
		_, err := webhook.ParseAddresses([]string{wrong})
		require.True(t, core.Is(err, core.CodeInvalid), "%q", wrong)
	}
}

func TestControlSeesTheRealAddress(t *testing.T) {
	t.Parallel()
	check := webhook.Addresses{}.Control("https")
	require.NoError(t, check("tcp4", "9.9.9.9:443", nil))
	require.NoError(t, check("tcp6", "[2620:fe::fe]:8443", nil))
	for network, address := range map[string]string{
		"tcp4": "127.0.0.1:6379", "tcp6": "[::ffff:127.0.0.1]:443", "udp4": "9.9.9.9:53", "unix": "/run/redis.sock", "tcp": "example.org:443",
	} {
		require.True(t, core.Is(check(network, address, nil), core.CodeForbidden), "%s %s", network, address)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	var strict webhook.Addresses
	home, err := webhook.ParseAddresses([]string{"10.0.0.0/8"})
	require.NoError(t, err)
	for _, good := range []string{
		"https://grades.example.org/drover", "https://grades.example.org:8443/a?token=b", "https://xn--bcher-kva.example", "https://9.9.9.9/", "https://[2620:fe::fe]/",
	} {
		require.NoError(t, strict.CheckURL(good), good)
	}
	for _, bad := range []string{
		"", "grades.example.org", "//grades.example.org", "ftp://grades.example.org", "file:///etc/passwd", "https:opaque", "https://", "https:///path",
		"http://grades.example.org", "https://user:password@grades.example.org", "https://user@grades.example.org", "https://grades.example.org/#part", "https://grades.example.org/#",
		"https://127.0.0.1/", "https://[::1]/", "https://[::ffff:169.254.169.254]/latest", "https://10.0.0.1/", "https://bücher.example", "https://a b.example", "https://a%20b.example",
		"https://grades.example.org:port", "https://a\nb.example/", "https://exa_mple.org\r\nHELO/", "https://-x.example/", "https://x.example/" + strings.Repeat("x", webhook.MaxURL),
	} {
		require.True(t, core.Is(strict.CheckURL(bad), core.CodeInvalid), "%q", bad)
	}
	require.NoError(t, home.CheckURL("http://10.0.0.1/"))
	require.NoError(t, home.CheckURL("http://grader.internal/"), "whose address is checked when a delivery connects")
	require.Error(t, home.CheckURL("http://9.9.9.9/"))
	require.Error(t, home.CheckURL("https://192.168.0.1/"))
}
