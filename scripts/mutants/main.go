// Command mutants seeds bugs into the source, one at a time, and says which tests notice them: those of make test, only
// those of make test-all, or none. The tree is not changed: go test gets the file with the bug as an overlay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"drover/core/service/pattern"
)

func main() {
	which := flag.String("bugs", "", "only the bugs whose names, rooms or files match the `REGEXP`")
	tier := flag.String("tier", tierAll, "the last tier that may notice them: `test` or all")
	atOnce := flag.Int("at-once", 1, "how many bugs to seed at once")
	page := flag.String("page", "docs/reliability.md", "the page that has the table of all bugs and tiers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := work(ctx, *which, *tier, *atOnce, *page)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func work(ctx context.Context, which, tier string, atOnce int, page string) error {
	bugs, err := read(records)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	h := &hunt{root: root, tier: tier}
	if err := h.list(ctx); err != nil {
		return err
	}
	var some []*bug
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, b := range bugs {
		if !pattern.New(which)().MatchString(b.name + " " + b.room + " " + b.file) {
			continue
		}
		some = append(some, b)
		g.Go(func() error {
			err := h.notice(ctx, b)
			fmt.Fprintln(os.Stderr, b.name, b.by)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	text, survive := table(some)
	if len(some) == len(bugs) && tier == tierAll {
		err = put(page, text)
	} else {
		_, err = os.Stdout.WriteString(text)
	}
	if len(survive) > 0 {
		err = errors.Join(err, fmt.Errorf("no test notices %s", strings.Join(survive, ", ")))
	}
	return err
}

// table returns the table of bugs, and those that no test notices though one is said to.
func table(bugs []*bug) (text string, survive []string) {
	room, sums := "", map[string]int{}
	text = "| bug | what goes wrong | `make test` | only `make test-all` | none |\n|---|---|---|---|---|\n"
	for _, b := range bugs {
		if b.room != room {
			room = b.room
			text += "| **" + room + "** | | | | |\n"
		}
		cells := map[string]string{b.by.tier: strings.TrimSpace("`" + strings.TrimPrefix(b.by.pkg, module) + "` " + b.by.test)}
		if b.by.pkg == "" {
			cells[""] = "×"
			if !b.known {
				survive = append(survive, b.name)
			}
		}
		sums[b.by.tier]++
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", b.name, b.harm, cells[tierTest], cells[tierAll], cells[""])
	}
	return text + fmt.Sprintf("| **%d bugs** | | **%d** | **%d** | **%d** |\n", len(bugs), sums[tierTest], sums[tierAll], sums[""]), survive
}

// put writes the table to its place in a page.
func put(page, table string) error {
	had, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(had), "<!-- mutants: ")
	how, _, _ := strings.Cut(rest, "\n")
	_, after, ends := strings.Cut(rest, "<!-- end -->")
	if !found || !ends {
		return fmt.Errorf("%s has no place for the table of mutants", page)
	}
	return os.WriteFile(page, []byte(before+"<!-- mutants: "+how+"\n"+table+"<!-- end -->"+after), 0o600)
}
