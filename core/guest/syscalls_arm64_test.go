package guest_test

import "syscall"

var mkdirCalls = []uint32{syscall.SYS_MKDIRAT}
