package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// marked is a test that make test leaves out, and the reasons for it.
type marked struct {
	name    string
	reasons []string
}

// markedTests reads the calls of tier.OnlyInAll from the test functions of files.
func markedTests(files []string) ([]marked, error) {
	var all []marked
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			m := marked{name: f.Name.Name}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, is := n.(*ast.CallExpr); is && len(call.Args) == 2 && isSelector(call.Fun, "tier", "OnlyInAll") {
					if reason, is := call.Args[1].(*ast.SelectorExpr); is {
						m.reasons = append(m.reasons, reason.Sel.Name)
					}
				}
				return true
			})
			if len(m.reasons) > 0 {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b marked) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

func isSelector(e ast.Expr, of, name string) bool {
	s, is := e.(*ast.SelectorExpr)
	if !is || s.Sel.Name != name {
		return false
	}
	x, is := s.X.(*ast.Ident)
	return is && x.Name == of
}

func list(w io.Writer, packages []pkg) error {
	for _, p := range packages {
		tests, err := markedTests(p.files)
		if err != nil {
			return err
		}
		for _, m := range tests {
			if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", strings.TrimPrefix(p.path, module), m.name, strings.Join(m.reasons, ", ")); err != nil {
				return err
			}
		}
	}
	return nil
}

// unit is some tests of one package: what a shard takes or leaves.
type unit struct {
	path  string
	race  bool
	tests []string
}

// unitSize is how many tests of one package a unit has at most. Each unit links its package's tests once.
const unitSize = 8

// cut cuts the tests that make test leaves out into units, in an order that is the same wherever the source is.
func cut(packages []pkg, race bool) ([]unit, error) {
	var all []unit
	for _, p := range packages {
		tests, err := markedTests(p.files)
		if err != nil {
			return nil, err
		}
		long := longUnits(p.path, tests)
		tests = slices.DeleteFunc(tests, marked.isLong)
		all = append(append(all, long...), units(p.path, race && isRaced(p.path), tests)...)
	}
	return all, nil
}

// isLong says that a test is long. Such tests play games and scenes of one goroutine, and the race detector makes them
// ten times slower: they run without it.
func (m marked) isLong() bool { return slices.Contains(m.reasons, "Long") }

func longUnits(path string, tests []marked) []unit {
	return units(path, false, slices.DeleteFunc(slices.Clone(tests), func(m marked) bool { return !m.isLong() }))
}

func units(path string, race bool, tests []marked) (all []unit) {
	for some := range slices.Chunk(tests, unitSize) {
		u := unit{path: path, race: race}
		for _, m := range some {
			u.tests = append(u.tests, m.name)
		}
		all = append(all, u)
	}
	return all
}

// pick returns the units of a shard. Each unit is in one of them, and neighbours, which cost alike, are in different ones.
// Where the time is too short for a shard, the next run of the same one begins elsewhere.
func pick(all []unit, number, of int) []unit {
	var some []unit
	for i := number % of; i < len(all); i += of {
		some = append(some, all[i])
	}
	if len(some) == 0 {
		return nil
	}
	first := number / of % len(some)
	return slices.Concat(some[first:], some[:first])
}

// runShard runs units until its budget is spent, and says which it left.
func (r *runner) runShard(ctx context.Context, units []unit, budget time.Duration) error {
	began := time.Now()
	left, err := r.runWhile(ctx, units, func() bool { return time.Since(began) <= budget })
	fmt.Fprintf(r.out, "ran %d of the shard's %d units\n", len(units)-len(left), len(units))
	for _, u := range left {
		fmt.Fprintf(r.out, "left for want of time: %s %s\n", strings.TrimPrefix(u.path, module), strings.Join(u.tests, " "))
	}
	return err
}

// runUnits runs all units.
func (r *runner) runUnits(ctx context.Context, units []unit) error {
	_, err := r.runWhile(ctx, units, func() bool { return true })
	return err
}

// runWhile runs units side by side, and begins none once more says so. It returns those that it left.
func (r *runner) runWhile(ctx context.Context, units []unit, more func() bool) (left []unit, failed error) {
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	left = units
	take := func() (u unit, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(left) == 0 || ctx.Err() != nil || !more() {
			return unit{}, false
		}
		u, left = left[0], left[1:]
		return u, true
	}
	for range runtime.NumCPU() + 1 {
		wg.Go(func() {
			for u, ok := take(); ok; u, ok = take() {
				err := r.goTest(ctx, job{race: u.race, run: anyOf(u.tests), packages: []string{u.path}})
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return left, errors.Join(failed, ctx.Err())
}

// anyOf is a regular expression of tests.
func anyOf(tests []string) string {
	if len(tests) == 0 {
		return ""
	}
	return "^(" + strings.Join(tests, "|") + ")$"
}
