package student

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/requests"
	"drover/web/page"
	"drover/web/transfer"
)

// resultsRead is how many results of a batch a download reads at a time: each has some output.
const resultsRead = 50

// results are the results of a batch in the order of its jobs.
type results = iter.Seq2[*requests.JobResult, error]

// downloadBatch delivers the results of a batch as a file. They are read while they are sent: all together may be
// large.
func (d *student) downloadBatch(r *page.Request, suffix string, write func(w io.Writer, all results) error) error {
	id := r.PathValue("id")
	some, err := d.deps.Requests.BatchResults(r.Context(), r.Actor(), id, 0, resultsRead)
	if err != nil {
		return err
	}
	all := func(yield func(*requests.JobResult, error) bool) {
		for {
			for i := range some.Items {
				if !yield(&some.Items[i], nil) {
					return
				}
			}
			if some.Next == 0 {
				return
			}
			if some, err = d.deps.Requests.BatchResults(r.Context(), r.Actor(), id, some.Next, resultsRead); err != nil {
				yield(nil, err)
				return
			}
		}
	}
	return d.sent(r, write(transfer.Attachment(r.W, "batch-"+id+suffix, -1), all))
}

// batchJSON delivers results as one list, with the fields of the API.
func (d *student) batchJSON(r *page.Request) error {
	return d.downloadBatch(r, ".json", func(w io.Writer, all results) error {
		before := "["
		for v, err := range all {
			if err != nil {
				return err
			}
			text, err := json.Marshal(v)
			if err != nil {
				return core.Wrap(err, core.CodeInternal, v.ID, "the result of request %s cannot be written as JSON", v.ID)
			}
			if _, err := w.Write(append([]byte(before+"\n"), text...)); err != nil {
				return err
			}
			before = ","
		}
		_, err := io.WriteString(w, strings.TrimPrefix(before, ",")+"\n]\n")
		return err
	})
}

// batchColumns are the columns of a batch's CSV.
var batchColumns = []string{
	"job", "request", "state", "exit_code", "signal", "score", "max_score", "blame", "reason", "attempts", "wait_ms", "run_ms", "cpu_ms",
	"memory_peak_bytes", "stdout", "stderr",
}

// batchCSV delivers results as a table.
func (d *student) batchCSV(r *page.Request) error {
	return d.downloadBatch(r, ".csv", func(w io.Writer, all results) error {
		table := csv.NewWriter(w)
		_ = table.Write(batchColumns) // Error below has it
		for v, err := range all {
			if err != nil {
				return err
			}
			if err := table.Write(cellsOf(r, v)); err != nil {
				return err
			}
		}
		table.Flush()
		return table.Error()
	})
}

// cellsOf returns a job's row of a CSV. A cell is empty if there is no such number.
func cellsOf(r *page.Request, v *requests.JobResult) []string {
	is := readResult(r, &v.Result, nil, "")
	ran := v.State.Terminal() && is.Ran >= 0
	cells := []string{
		strconv.Itoa(v.Job), v.ID, string(v.State), numberIf(ran, int64(v.ExitCode)), v.Signal, scoreOf(v.Score), scoreOf(v.MaxScore),
		string(v.Blame), v.Reason, numberIf(v.Attempt > 0, int64(v.Attempt)), numberIf(ran, is.Wait), numberIf(ran, is.Ran),
		numberIf(ran, v.Usage.CPUMs), numberIf(ran, v.Usage.MemoryPeakBytes), v.Stdout, v.Stderr,
	}
	for i := range cells {
		cells[i] = portable.Cell(cells[i])
	}
	return cells
}

func numberIf(known bool, n int64) string {
	if !known {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func scoreOf(f *float64) string {
	if f == nil {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}
