package lxc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// firewall keeps the rules in place that cables need, and takes them away with the last of
// all firewalls of the host, whatever clusters they are of. Each that stands shares the lock
// of one file:
//
//	a provider makes its first cable    it shares the lock, notes in the file if forwarding was off, and puts the rules in place
//	it ends, others stand               they keep the lock, and with it the rules
//	it ends, as the last                it has the lock alone: no rules; forwarding is off again if the file says so
//	it ends, a VM has its cable yet     rules and forwarding stay, until the last that ends after that VM
//	it is killed                        the same: the kernel frees its lock
//
// Programs that need forwarding do not say so, and do not turn it on where it is. So it stays
// on where anything else may be in need of it: a table of nftables of somebody else, or a link
// that is no network card.
type firewall struct {
	closed []string // networks besides those that are always closed

	mu   sync.Mutex
	seen time.Time // when the rules were last put in place
	file *os.File  // the file whose lock it shares
}

// fresh is for how long the rules are assumed to be in place; other programs may flush them.
const fresh = 10 * time.Second

// liftTimeout bounds the removal of the rules.
const liftTimeout = 10 * time.Second

const (
	forwarding = "/proc/sys/net/ipv4/ip_forward"
	off        = "0"
)

// stand puts the rules in place, or restores them. Without them no VM gets a cable.
func (f *firewall) stand(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.seen) < fresh {
		return nil
	}
	if err := f.share(); err != nil {
		return fmt.Errorf("share the firewall with others: %w", err)
	}
	if err := command(ctx, rules(f.closed), "nft", "-f", "-"); err != nil {
		return err
	}
	if err := forward(f.file); err != nil {
		return err
	}
	f.seen = time.Now()
	return nil
}

// share takes the shared lock. A firewall with the exclusive lock is about to end.
func (f *firewall) share() error {
	if f.file != nil {
		return nil
	}
	var space unix.Stat_t // a file for each network; the first thread may have entered a VM's for good
	if err := unix.Stat("/proc/thread-self/ns/net", &space); err != nil {
		return err
	}
	file, err := os.OpenFile(fmt.Sprintf("/run/drover-egress-%d", space.Ino), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(file.Fd()), unix.LOCK_SH)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file = file
	return nil
}

// forward turns forwarding on, after recording that it was off.
func forward(note *os.File) error {
	was, err := os.ReadFile(forwarding)
	if err != nil {
		return err
	}
	if string(bytes.TrimSpace(was)) != off {
		return nil
	}
	if _, err := note.WriteAt([]byte(off), 0); err != nil {
		return err
	}
	return os.WriteFile(forwarding, []byte("1"), 0)
}

// lift removes the rules, if this is the last firewall of the host and no cable is left.
func (f *firewall) lift(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	file := f.file
	defer file.Close() //nolint:errcheck // the lock goes with it; what was noted was written before
	f.file, f.seen = nil, time.Time{}
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return err
	}
	links, err := netlink.LinkList()
	if err != nil {
		return err
	}
	virtual := false
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, cables) {
			return nil
		}
		virtual = virtual || l.Type() != "device" && l.Type() != "dummy"
	}
	if err := command(ctx, "table inet drover\ndelete table inet drover\n", "nft", "-f", "-"); err != nil {
		return err
	}
	return unforward(ctx, file, virtual)
}

// unforward turns forwarding off if it was off before the first firewall, and no other program may need it. Otherwise
// it stays on.
func unforward(ctx context.Context, note *os.File, needed bool) error {
	was := make([]byte, 1)
	if n, _ := note.ReadAt(was, 0); n == 0 || string(was) != off { // nothing was recorded
		return nil
	}
	tables, err := said(ctx, "", "nft", "list", "tables")
	if err == nil {
		err = note.Truncate(0)
	}
	if err != nil || needed || strings.TrimSpace(tables) != "" {
		return err
	}
	return os.WriteFile(forwarding, []byte(off), 0)
}
