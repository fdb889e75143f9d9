package redisstore_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain gives the model a size for a person at work, unless the command line has another,
// and looks for goroutines that are left.
func TestMain(m *testing.M) {
	flag.Parse()
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	size := map[string]string{"rapid.checks": "15", "rapid.nofailfile": "true", "rapid.shrinktime": "20s"}
	for name, value := range size {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if code == 0 {
		// The client's own probe of a dead server ends a second after it was closed.
		probe := goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
		if err := goleak.Find(probe); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
