package core

import (
	"slices"
	"strings"
)

// ProviderKind is what a cluster knows about a provider of VMs; only hosts that have the provider know how it works.
type ProviderKind struct {
	Name   string // as pools and the setting provider name it
	Images bool   // its VMs are made of images

	InMemory bool // what its VMs write is in their memory, and takes nothing of the host's disk
}

// ProviderKinds are the providers that a pool can name. The first is the default.
func ProviderKinds() []ProviderKind {
	return []ProviderKind{{Name: "local", InMemory: true}, {Name: "lxc", Images: true, InMemory: true}}
}

// ProviderNames returns the names of ProviderKinds.
func ProviderNames() []string {
	var names []string
	for _, p := range ProviderKinds() {
		names = append(names, p.Name)
	}
	return names
}

// CheckProvider returns INVALID if no provider has the name.
func CheckProvider(name string) error {
	if slices.Contains(ProviderNames(), name) {
		return nil
	}
	return Errorf(CodeInvalid, name, "there is no provider %q in this program: use %s", name, strings.Join(ProviderNames(), " or "))
}
