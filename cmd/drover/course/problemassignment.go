package course

import (
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/harness/problem"
	"drover/core/school"
)

// problemAssignment makes or updates the assignment of a package: title, the limit of source code, the pool.
func problemAssignment(c *cli.Context, d access.Backend, p *problem.Problem, name string) (school.Assignment, error) {
	query, handle, ok := strings.Cut(name, "/")
	if !ok {
		return school.Assignment{}, core.Errorf(core.CodeInvalid, name, "%.80q says no class: write CLASS/HANDLE, such as cs101/%.80s", name, name)
	}
	class, err := d.FindClass(c.Context, query)
	if err != nil {
		return school.Assignment{}, err
	}
	entry, err := d.ViewAssignment(c.Context, class.Handle, handle)
	as := entry.Assignment
	is := err == nil
	if !is {
		if core.CodeOf(err) != core.CodeNotFound {
			return as, err
		}
		as = school.Assignment{Class: class.Handle, Handle: handle, Pool: access.DefaultPool}
	}
	as.Title = p.Title
	if p.Limits.Code > 0 {
		as.MaxBytes = p.Limits.Code
	}
	if c.IsSet("pool") {
		as.Pool = c.String("pool")
	}
	if is {
		return d.EditAssignment(c.Context, as)
	}
	return d.CreateAssignment(c.Context, as)
}
