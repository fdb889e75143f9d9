package drill

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"drover/core"
)

// The cluster's network: a bridge in the drill's own network namespace, where Redis
// listens, and an address for each host. Nobody else can see it.
const (
	bridge  = "drill0"
	address = "10.118.0."
	mask    = "/24"
)

// network is a host's own network namespace. It lives as long as its holder.
type network struct {
	holder  *exec.Cmd
	link    string // the bridge's end of its cable
	address string
}

// newBridge makes the bridge and returns its address.
func newBridge(ctx context.Context) (string, error) {
	own := address + "1"
	return own, each(ctx,
		"ip link add "+bridge+" type bridge",
		"ip addr add "+own+mask+" dev "+bridge,
		"ip link set "+bridge+" up",
	)
}

// newNetwork makes the network of the nth host and plugs it in.
func newNetwork(ctx context.Context, n int) (*network, error) {
	const first = 10
	w := &network{link: "host" + strconv.Itoa(n+1), address: address + strconv.Itoa(first+n)}
	w.holder = exec.Command("sleep", "infinity") //nolint:noctx // it outlives ctx
	w.holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := w.holder.Start(); err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, w.link, "a network namespace cannot be made")
	}
	return w, each(ctx,
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", w.link, w.holder.Process.Pid),
		fmt.Sprintf("ip link set %s master %s up", w.link, bridge),
		w.inside("ip addr add "+w.address+mask+" dev eth0"),
		w.inside("ip link set eth0 up"),
		w.inside("ip link set lo up"),
	)
}

// enter is a command's beginning that makes it run in the network.
func (w *network) enter() []string {
	return []string{"nsenter", "--net=/proc/" + strconv.Itoa(w.holder.Process.Pid) + "/ns/net", "--"}
}

func (w *network) inside(command string) string {
	return strings.Join(append(w.enter(), command), " ")
}

// cut unplugs the host, both directions at once.
func (w *network) cut(ctx context.Context) error { return each(ctx, "ip link set "+w.link+" down") }

// join plugs it in again.
func (w *network) join(ctx context.Context) error { return each(ctx, "ip link set "+w.link+" up") }

// deafen drops packets in one direction: input is what the host receives, output what it sends.
func (w *network) deafen(ctx context.Context, direction string) error {
	return each(ctx,
		w.inside("nft add table inet drill"),
		w.inside("nft add chain inet drill "+direction+" { type filter hook "+direction+" priority 0 ; policy drop ; }"),
	)
}

// hear undoes deafen.
func (w *network) hear(ctx context.Context) error {
	return each(ctx, w.inside("nft delete table inet drill"))
}

// remove ends the namespace, and its link with it.
func (w *network) remove(ctx context.Context) error {
	err := each(ctx, "ip link del "+w.link)
	_ = w.holder.Process.Kill() // it cannot end before us otherwise
	_ = w.holder.Wait()         // of that signal
	return err
}

// each runs commands, whose words have single spaces between them, until one fails.
func each(ctx context.Context, commands ...string) error {
	for _, line := range commands {
		words := strings.Fields(line)
		out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
		if err != nil {
			return core.Wrap(err, core.CodeUnavailable, words[0], "%s: %s", line, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
