package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
	"drover/core/requests/intake"
)

// BatchCommand is drover batch.
func BatchCommand() *cli.Command {
	key := &cli.StringFlag{Name: "key", Usage: "an idempotency key: the same `KEY` and content again get the first batch"}
	return &cli.Command{
		Name: "batch", Usage: "submit many jobs at once, and follow them as one", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("submit", "submit the jobs of a file in YAML or JSON, all or nothing", "FILE|-", "drover batch submit jobs.yaml", []cli.Flag{key}, submitBatch),
			access.BackendCommand("list", "list batches, newest first", "", "drover batch list", []cli.Flag{
				&cli.StringFlag{Name: "submitter", Usage: "only those of `S`"},
				&cli.StringFlag{Name: "before", Usage: "the page after the one that ended with batch `ID`"},
				&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 500", Value: 50},
			}, listBatches),
			access.BackendCommand("show", "show a batch, and how many of its requests are in which state", "ID", "drover batch show 01j8x3k4", nil, showBatch),
			access.BackendCommand("results", "list the results of a batch in the order of its jobs", "ID", "drover batch results 01j8x3k4", []cli.Flag{
				&cli.IntFlag{Name: "from", Usage: "begin with job `N`; the first is 0"},
				&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 100", Value: 100},
			}, batchResults),
			access.BackendCommand("cancel", "cancel all requests of a batch that have not ended", "ID", "drover batch cancel 01j8x3k4", nil, cancelBatch),
			access.BackendCommand("rerun", "run the jobs of an ended batch again, as a new batch", "ID", "drover batch rerun 01j8x3k4", []cli.Flag{key}, rerunBatch),
		},
	}
}

// batchFile is a batch as people write it: the fields of the API, and files by their paths.
type batchFile struct {
	requests.BatchDraft

	Files   []string  `json:"files,omitempty"`
	Harness string    `json:"harness,omitempty"`
	Jobs    []fileJob `json:"jobs"`
}

type fileJob struct {
	requests.Job

	Files []string `json:"files,omitempty"`
}

// maxBatchFile bounds a file of jobs.
const maxBatchFile = 2 * core.MaxBatchBytes

// readBatch reads a file of jobs. Paths in it are relative to its folder.
func readBatch(c *cli.Context, at string) (requests.BatchDraft, error) {
	from, dir := c.App.Reader, "."
	if at != "-" {
		in, _, err := openPlain(at, true)
		if err != nil {
			return requests.BatchDraft{}, err
		}
		defer in.Close() //nolint:errcheck // only read from
		from, dir = in, filepath.Dir(at)
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxBatchFile+1))
	if err != nil {
		return requests.BatchDraft{}, core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
	}
	if len(raw) > maxBatchFile {
		return requests.BatchDraft{}, core.Errorf(core.CodeLimit, at, "%s has more than %d bytes: put what is long into files of their own", at, maxBatchFile)
	}
	var f batchFile
	if err := decodeBatch(raw, &f); err != nil {
		return requests.BatchDraft{}, core.Wrap(err, core.CodeOr(err, core.CodeInvalid), at, "%s cannot be read as a batch", at)
	}
	return f.draft(dir)
}

// decodeBatch reads YAML, of which JSON is a part, by the names of JSON. Returns core.Faults that name each wrong field
// of each job.
func decodeBatch(raw []byte, f *batchFile) error {
	var top map[string]any
	if err := yaml.Unmarshal(raw, &top); err != nil {
		return err
	}
	if all, _ := top["jobs"].([]any); top["jobs"] == nil || all != nil {
		if err := intake.CheckJobs(len(all)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(top)
	if err != nil {
		return err
	}
	var said any
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	known := huma.NewMapRegistry("", huma.DefaultSchemaNamer)
	found := huma.ValidateResult{}
	huma.Validate(known, known.Schema(reflect.TypeFor[batchFile](), false, ""), huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, said, &found)
	var faults core.Faults
	for _, err := range found.Errors {
		one := &huma.ErrorDetail{Message: err.Error()}
		errors.As(err, &one)
		faults = append(faults, core.Fault{Field: one.Location, Err: core.Errorf(core.CodeInvalid, "", "%s", one.Message)})
	}
	if len(faults) > 0 {
		return faults
	}
	return json.Unmarshal(text, f)
}

// draft returns the batch with its files.
func (f *batchFile) draft(dir string) (requests.BatchDraft, error) {
	d := f.BatchDraft
	if d.Type == "" && d.Pool == "" {
		d.Pool = access.DefaultPool
	}
	var pack *harness.Package
	if f.Harness != "" {
		p, err := harness.Pack(inFolder(dir, f.Harness)[0])
		if err != nil {
			return d, core.Wrap(err, core.CodeOf(err), f.Harness, "harness")
		}
		pack = &p
	}
	own := make([][]string, len(f.Jobs))
	for i, j := range f.Jobs {
		d.Jobs, own[i] = append(d.Jobs, j.Job), inFolder(dir, j.Files...)
	}
	d.Files = batchFiles(pack, inFolder(dir, f.Files...), own)
	return d, checkUploads(d.Files)
}

// GradingBatch puts a harness into a batch, and what is to be graded by it: a job for each submission.
func GradingBatch(draft *requests.BatchDraft, pack *harness.Package, submissions [][]string, kind string) error {
	draft.Input, draft.Jobs = harness.NewInput(pack.Config, kind), make([]requests.Job, len(submissions))
	draft.Files = batchFiles(pack, nil, submissions)
	return checkUploads(draft.Files)
}

// batchFiles yields a harness, or none, and the files of all jobs and of each.
func batchFiles(pack *harness.Package, ofAll []string, own [][]string) iter.Seq2[requests.JobUpload, error] {
	return func(yield func(requests.JobUpload, error) bool) {
		if pack != nil && !yield(requests.JobUpload{Job: requests.AllJobs, Upload: intake.Upload{Part: intake.PartHarness, Path: harness.TarFile, Content: pack.Tar()}}, nil) {
			return
		}
		if !ofJob(requests.AllJobs, Uploads(ofAll), yield) {
			return
		}
		for i, paths := range own {
			if !ofJob(i, Uploads(paths), yield) {
				return
			}
		}
	}
}

// inFolder returns paths that are relative to a folder.
func inFolder(dir string, paths ...string) []string {
	all := make([]string, len(paths))
	for i, p := range paths {
		if all[i] = p; !filepath.IsAbs(p) {
			all[i] = filepath.Join(dir, p)
		}
		if strings.HasSuffix(p, string(os.PathSeparator)) {
			all[i] = strings.TrimSuffix(all[i], string(os.PathSeparator)) + string(os.PathSeparator)
		}
	}
	return all
}

// ofJob yields the files of a job, and returns false once no more are wanted.
func ofJob(job int, files iter.Seq2[intake.Upload, error], yield func(requests.JobUpload, error) bool) bool {
	field := "files"
	if job != requests.AllJobs {
		field = fmt.Sprintf("jobs[%d].files", job)
	}
	for u, err := range files {
		err = core.Wrap(err, core.CodeOf(err), u.Path, "%s", field)
		if !yield(requests.JobUpload{Job: job, Upload: u}, err) || err != nil {
			return false
		}
	}
	return true
}

func submitBatch(c *cli.Context, d access.Backend) error {
	at, err := terminal.OneArg(c, "file of jobs, or -")
	if err != nil {
		return err
	}
	draft, err := readBatch(c, at)
	if err != nil {
		return err
	}
	draft.Idempotency = c.String("key")
	v, err := d.SubmitBatch(c.Context, draft)
	if err != nil {
		return err
	}
	return terminal.Say(c, v, "%s", v.ID)
}

func listBatches(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	if limit := c.Int("limit"); limit < 1 || limit > 500 {
		return core.Errorf(core.CodeInvalid, "", "--limit %d must be between 1 and 500", limit)
	}
	all, err := d.ListBatches(c.Context, core.BatchFilter{Submitter: c.String("submitter"), Before: c.String("before"), Limit: c.Int("limit")})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i, v := range all {
		rows[i] = table.Row{v.ID, v.State, v.Jobs, v.Submitter, terminal.Since(v.Created), v.Of, v.Cancelled}
	}
	return terminal.PrintTable(c.App.Writer, "no batches", table.Row{"id", "state", "jobs", "submitter", "submitted", "rerun of", "cancelled by"}, rows)
}

func showBatch(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "batch id")
	if err != nil {
		return err
	}
	v, err := d.ViewBatch(c.Context, id)
	if err != nil {
		return err
	}
	return printBatch(c, v)
}

func printBatch(c *cli.Context, v requests.BatchView) error {
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, v)
	}
	rows := []table.Row{{"batch", v.ID}, {"state", v.State}, {"submitter", v.Submitter}, {"submitted", terminal.Since(v.Created)}, {"jobs", v.Jobs}}
	for _, state := range slices.Sorted(maps.Keys(v.Counts)) {
		rows = append(rows, table.Row{"  " + string(state), v.Counts[state]})
	}
	if v.Deleted > 0 {
		rows = append(rows, table.Row{"  deleted since", v.Deleted})
	}
	if v.Of != "" {
		rows = append(rows, table.Row{"rerun of", v.Of})
	}
	if v.Cancelled != "" {
		rows = append(rows, table.Row{"cancelled by", v.Cancelled})
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, rows)
}

func batchResults(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "batch id")
	if err != nil {
		return err
	}
	page, err := d.BatchResults(c.Context, id, c.Int("from"), c.Int("limit"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(page.Items))
	}
	rows := make([]table.Row, len(page.Items))
	for i, v := range page.Items {
		code := ""
		if v.State.Terminal() {
			code = fmt.Sprint(v.ExitCode)
		}
		rows[i] = table.Row{v.Job, v.ID, v.State, code, score(v.View), v.Blame, terminal.FirstLine(v.Stdout), terminal.FirstLine(v.Reason)}
	}
	err = terminal.PrintTable(c.App.Writer, "no results", table.Row{"job", "request", "state", "exit code", "score", "blame", "output", "reason"}, rows)
	if err == nil && page.Next > 0 {
		_, err = fmt.Fprintf(c.App.Writer, "more: drover batch results --from %d %s\n", page.Next, id)
	}
	return err
}

func cancelBatch(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "batch id")
	if err != nil {
		return err
	}
	v, err := d.CancelBatch(c.Context, id)
	if err != nil {
		return err
	}
	return printBatch(c, v)
}

func rerunBatch(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "batch id")
	if err != nil {
		return err
	}
	v, err := d.RerunBatch(c.Context, id, c.String("key"))
	if err != nil {
		return err
	}
	return terminal.Say(c, v, "%s", v.ID)
}
