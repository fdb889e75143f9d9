// Package pattern has regular expressions that are compiled once they are first used. A program
// uses few of those that it has, and most commands none: compiled as it starts, they cost all of them.
package pattern

import (
	"regexp"
	"sync"
)

// New returns what compiles an expression when it is first asked for it, and panics if that cannot be.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
