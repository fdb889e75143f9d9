package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
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
	tests []string
}

// unitSize is how many tests of one package a unit has at most. Each unit links its package's tests once.
const unitSize = 8

// cut cuts the tests that make test leaves out into units, in an order that is the same wherever the source is.
func cut(packages []pkg) ([]unit, error) {
	var all []unit
	for _, p := range packages {
		tests, err := markedTests(p.files)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, m := range tests {
			names = append(names, m.name)
		}
		for some := range slices.Chunk(names, unitSize) {
			all = append(all, unit{p.path, some})
		}
	}
	return all, nil
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

// runShard runs units side by side, takes no more once its budget is spent, and says which it left.
func (r *runner) runShard(ctx context.Context, units []unit, budget time.Duration) error {
	began := time.Now()
	var (
		mu     sync.Mutex
		left   = units
		failed error
		wg     sync.WaitGroup
	)
	take := func() (u unit, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(left) == 0 || ctx.Err() != nil || time.Since(began) > budget {
			return unit{}, false
		}
		u, left = left[0], left[1:]
		return u, true
	}
	for range runtime.NumCPU() + 1 {
		wg.Go(func() {
			for u, ok := take(); ok; u, ok = take() {
				err := r.goTest(ctx, false, "^("+strings.Join(u.tests, "|")+")$", u.path)
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	fmt.Fprintf(os.Stderr, "ran %d of the shard's %d units\n", len(units)-len(left), len(units))
	for _, u := range left {
		fmt.Fprintf(os.Stderr, "left for want of time: %s %s\n", strings.TrimPrefix(u.path, module), strings.Join(u.tests, " "))
	}
	return errors.Join(failed, ctx.Err())
}
