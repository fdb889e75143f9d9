package attack

// LXC is the provider lxc, which needs root and cgroups.
var LXC = Column{Title: "lxc", except: map[int]exception{32: locked, 42: told, More + 17: numbered, More + 25: beside, More + 27: logged}}
