// Command drover-cloud-ec2 makes, ends and lists machines of EC2 for host groups of provider command. It answers one call
// of drover, by the protocol of docs/elastic.md, and keeps nothing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"drover/core"
	"drover/core/cloud"
)

// version is set by the build.
var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Fprintf(os.Stdout, "%s, protocol %d\n", version, cloud.Protocol)
		return
	}
	os.Exit(run(context.Background(), os.Stdin, os.Stdout, os.Stderr))
}

// run answers one call, and returns the exit status.
func run(ctx context.Context, in io.Reader, out, errs io.Writer) int {
	var ask cloud.Ask
	if err := json.NewDecoder(in).Decode(&ask); err != nil {
		fmt.Fprintln(errs, "stdin must have one call of drover, as docs/elastic.md has it:", err)
		return cloud.ExitInput
	}
	if ask.Protocol != cloud.Protocol {
		fmt.Fprintf(errs, "drover-cloud-ec2 %s speaks protocol %d, and was asked by protocol %d\n", version, cloud.Protocol, ask.Protocol)
		return cloud.ExitProtocol
	}
	said, err := answer(ctx, ask)
	text := json.NewEncoder(out)
	for i := 0; err == nil && i < len(said); i++ {
		err = text.Encode(said[i])
	}
	if err != nil {
		fmt.Fprintln(errs, err)
	}
	return status(err)
}

// answer does what is asked, and returns what is printed of it.
func answer(ctx context.Context, ask cloud.Ask) ([]any, error) {
	m, err := open(ctx, ask)
	if err != nil {
		return nil, err
	}
	a := cloud.Answer{Protocol: cloud.Protocol}
	switch ask.Op {
	case cloud.OpCreate:
		a.Machine, err = m.create(ctx)
		return []any{a}, err
	case cloud.OpTerminate:
		return []any{a}, m.terminate(ctx)
	case cloud.OpList:
		all, err := m.list(ctx)
		said := []any{a}
		for _, one := range all {
			said = append(said, one)
		}
		return said, err
	}
	return nil, core.Errorf(core.CodeInvalid, "", "op %.40q is none of protocol %d", ask.Op, cloud.Protocol)
}

func status(err error) int {
	switch core.CodeOf(err) {
	case "":
		return 0
	case core.CodeInvalid:
		return cloud.ExitInput
	case core.CodeForbidden:
		return cloud.ExitForbidden
	case core.CodeLimit:
		return cloud.ExitFull
	default:
		return cloud.ExitAgain
	}
}
