package course

import (
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// maxTextBytes bounds the file of --text-file, before the text itself is checked.
const maxTextBytes = 1 << 20

func assignmentFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: "title", Usage: "its `TITLE`, as people read it", DefaultText: "its handle"},
		&cli.StringFlag{Name: "text-file", Usage: "what is to be done, as Markdown in the file `PATH`, or - for standard input"},
		&cli.StringFlag{Name: "due", Usage: "what comes after `TIME` is late: " + terminal.MomentHelp},
		&cli.StringFlag{Name: "cutoff", Usage: "nothing is taken after `TIME`, which is not before --due"},
		&cli.StringFlag{Name: "hide-until", Usage: "students do not see it before `TIME`"},
		terminal.ZoneFlag(),
		&cli.BoolFlag{Name: "final", Usage: "let submissions be final (--final=false for no)"},
		&cli.StringFlag{Name: "counts", Usage: "which submission counts: `POLICY` newest, best or final, which needs --final", DefaultText: string(school.CountsNewest)},
		&cli.IntFlag{Name: "grace", Usage: "`MINUTES` after --due that are not late"},
		&cli.Float64Flag{Name: "penalty", Usage: "`PERCENT` of the score that each started day after --due costs"},
		&cli.Float64Flag{Name: "penalty-floor", Usage: "`PERCENT` of the score that penalties leave at least"},
		&cli.StringSliceFlag{Name: "require", Usage: "every submission must have the file `PATH`; may be repeated, and --require '' requires none"},
		&cli.BoolFlag{Name: "show-output", Usage: "let students see what the harness prints (--show-output=false for no)"},
		&cli.StringFlag{Name: "pool", Usage: "grade in VMs of `POOL`", DefaultText: access.DefaultPool},
		&cli.StringFlag{Name: "priority", Usage: "of the requests: `PRIORITY` high, normal or low", DefaultText: string(core.PriorityNormal)},
		&cli.IntFlag{Name: "max-files", Usage: "most files of a submission; 0 is 1000"},
		&cli.StringFlag{Name: "max-bytes", Usage: "most bytes of a submission, such as `10MiB`; 0 is what the pool's disk holds"},
		&cli.StringFlag{Name: "harness", Usage: "grade by the harness in the folder, or the tar or zip of one, `DIR`"},
	}, terminal.LimitFlags())
}

// applyAssignmentFlags changes the settings whose flags are given.
func applyAssignmentFlags(c *cli.Context, as *school.Assignment) error {
	for name, into := range map[string]*string{"title": &as.Title, "pool": &as.Pool} {
		if c.IsSet(name) {
			*into = c.String(name)
		}
	}
	for name, into := range map[string]*int64{"due": &as.Due, "cutoff": &as.Cutoff, "hide-until": &as.HideUntil} {
		if err := terminal.MomentFlag(c, name, into); err != nil {
			return err
		}
	}
	if c.IsSet("priority") {
		as.Priority = core.Priority(c.String("priority"))
	}
	if c.IsSet("final") {
		as.AllowFinal = c.Bool("final")
	}
	applyRules(c, &as.Rules)
	if c.IsSet("show-output") {
		as.ShowOutput = c.Bool("show-output")
	}
	if c.IsSet("max-files") {
		as.MaxFiles = c.Int("max-files")
	}
	if err := terminal.SizeFlag(c, "max-bytes", &as.MaxBytes); err != nil {
		return err
	}
	if err := terminal.ApplyLimitFlags(c, &as.Limits); err != nil {
		return err
	}
	if !c.IsSet("text-file") {
		return nil
	}
	in, err := openIn(c, c.String("text-file"))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(in, maxTextBytes))
	as.Text = string(text)
	return core.Wrap(err, core.CodeInvalid, "text-file", "the file %s cannot be read", c.String("text-file"))
}

// applyRules changes what counts.
func applyRules(c *cli.Context, r *school.Rules) {
	if c.IsSet("counts") {
		r.Counts = school.Policy(c.String("counts"))
	}
	if c.IsSet("grace") {
		r.Grace = c.Int("grace")
	}
	if c.IsSet("penalty") {
		r.Penalty = c.Float64("penalty")
	}
	if c.IsSet("penalty-floor") {
		r.Floor = c.Float64("penalty-floor")
	}
	if c.IsSet("require") {
		r.Required = slices.DeleteFunc(c.StringSlice("require"), func(path string) bool { return path == "" })
	}
}

// packFlag packs the harness that --harness names; nil for none.
func packFlag(c *cli.Context) (*harness.Package, error) {
	if !c.IsSet("harness") {
		return nil, nil //nolint:nilnil // no harness is no fault
	}
	pack, err := harness.Pack(c.String("harness"))
	return &pack, err
}

func addAssignment(c *cli.Context, d access.Backend) error {
	name, err := terminal.OneArg(c, "new assignment, as CLASS/HANDLE")
	if err != nil {
		return err
	}
	query, handle, ok := strings.Cut(name, "/")
	if !ok {
		return core.Errorf(core.CodeInvalid, name, "%.80q says no class: write CLASS/HANDLE, such as cs101/%.80s", name, name)
	}
	class, err := d.FindClass(c.Context, query)
	if err != nil {
		return err
	}
	as := school.Assignment{Class: class.Handle, Handle: handle, Title: handle, Pool: access.DefaultPool}
	if err := applyAssignmentFlags(c, &as); err != nil {
		return err
	}
	pack, err := packFlag(c)
	if err != nil {
		return err
	}
	if as, err = d.CreateAssignment(c.Context, as); err != nil {
		return err
	}
	return withHarness(c, d, as, pack, "is made")
}

func setAssignment(c *cli.Context, d access.Backend) error {
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	if err := applyAssignmentFlags(c, &as); err != nil {
		return err
	}
	pack, err := packFlag(c)
	if err != nil {
		return err
	}
	if as, err = d.EditAssignment(c.Context, as); err != nil {
		return err
	}
	return withHarness(c, d, as, pack, "is set")
}

func removeAssignment(c *cli.Context, d access.Backend) error {
	name, err := terminal.OneArg(c, "assignment's whole name, as CLASS/HANDLE")
	if err != nil {
		return err
	}
	class, handle, _ := strings.Cut(name, "/")
	t, err := d.DeleteAssignment(c.Context, class, handle)
	if err != nil {
		return err
	}
	return task.Deletion(c, d, t, "assignment "+name)
}
