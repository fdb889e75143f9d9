// Package vmfactory keeps its host's pools at their targets: it destroys dirty
// VMs first, then creates clean ones, checks their health, and reconciles what
// Redis says with what is really on the host.
package vmfactory
