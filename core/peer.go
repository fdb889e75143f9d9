package core

import "strings"

// In a pool with Pool.Peer each VM is two containers that start and end as one: the VM itself, in which the submission
// runs, and its peer for the trusted part of a request. They share no file, user, network or namespace. Redis knows the
// VM alone, so a request gets both or neither. The names say which VMs are such pairs.
const (
	pairSuffix = "-pair"
	peerSuffix = "-peer"
)

// PairVM returns the name of a VM with a peer.
func PairVM(id string) string { return id + pairSuffix }

// PeerOf returns the name of a VM's peer, or "" for a VM that has none.
func PeerOf(vm string) string {
	if strings.HasSuffix(vm, pairSuffix) {
		return vm + peerSuffix
	}
	return ""
}

// PairOf returns the name of the VM of which vm is the peer, or "" if it is none.
func PairOf(vm string) string {
	if pair, ok := strings.CutSuffix(vm, peerSuffix); ok && PeerOf(pair) == vm {
		return pair
	}
	return ""
}
