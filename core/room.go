package core

// Room is what a host can still take: it is up, and nothing forbids placing work there.
type Room struct {
	Host   string
	CPU    int64               // thousandths of a processor that no VM has
	Memory int64               // bytes that no VM has
	Disk   int64               // bytes that no VM has
	Pools  map[string]PoolRoom // those that the host serves
}

// PoolRoom is what a host can take of one pool.
type PoolRoom struct {
	Idle int // clean VMs that nobody is aimed at
	More int // VMs that may still be made of it
}
