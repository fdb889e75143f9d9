package wire

// NetSettings are the settings, below /proc/sys/net, of every network of a VM: what a
// socket keeps at most.
func NetSettings() map[string]string {
	const buffers = "4096 65536 262144" // least, usual and most bytes
	return map[string]string{"ipv4/tcp_rmem": buffers, "ipv4/tcp_wmem": buffers}
}
