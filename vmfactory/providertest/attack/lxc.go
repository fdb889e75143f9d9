package attack

// LXC is the provider lxc, which needs root and cgroups.
var LXC = Column{Title: "lxc", except: map[int]exception{3: full, 32: locked, 42: told}}
