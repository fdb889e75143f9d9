// Package vmfactory keeps its host's pools at their targets: it destroys dirty VMs first, then creates clean ones,
// checks their health, and reconciles Redis with the VMs that are really on the host.
package vmfactory
