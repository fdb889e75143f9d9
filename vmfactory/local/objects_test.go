package local

import (
	"os"
	"syscall"
	"testing"

	"drover/core/coretest/tier"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/attack"
)

// TestObjects has VMs make all kinds of objects as who we are.
func TestObjects(t *testing.T) { //nolint:paralleltest // it compares the memory of the whole host
	tier.OnlyInAll(t, tier.Long)
	attack.Objects(t, newLocal)
}

// TestObjectsAs does so in the other ways to make VMs.
func TestObjectsAs(t *testing.T) { //nolint:paralleltest // see TestObjects
	tier.OnlyInAll(t, tier.Long)
	providertest.Need(t, os.Geteuid() == 0, "root, to become others")
	again(t, nil, nobody, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}, "", "TestObjects")
	again(t, nil, 0, nil, CgroupsOff, "TestObjects")
}
