package core

import (
	"slices"
	"strings"
)

// ProviderKind is all that a cluster knows of a provider of VMs; what it does is known
// to the hosts that have it.
type ProviderKind struct {
	Name   string // that pools and the setting provider have
	Images bool   // its VMs are made of images
}

// ProviderKinds are the providers that a pool can name. The first is that of a pool
// which names none.
func ProviderKinds() []ProviderKind {
	return []ProviderKind{{Name: "local"}, {Name: "lxc", Images: true}}
}

// ProviderNames are the names of those.
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
