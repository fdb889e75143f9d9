package access

// Version is set by the build.
var Version = "dev"
