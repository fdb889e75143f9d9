package judge0

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"drover/core"
)

type status struct {
	ID          int    `json:"id"`
	Description string `json:"description"`
}

type named struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Archived *bool  `json:"is_archived,omitempty"`
}

func (d *API) statuses(w http.ResponseWriter, _ *http.Request, _ *call) error {
	var all []status
	for i, name := range statusNames() {
		all = append(all, status{i + 1, name})
	}
	d.answer(w, http.StatusOK, all)
	return nil
}

// list lists the languages by name.
func (d *API) list(archived bool) []named {
	all := []named{}
	for _, l := range d.own.Languages {
		switch {
		case archived:
			all = append(all, named{l.ID, l.Name, &l.Archived})
		case !l.Archived:
			all = append(all, named{ID: l.ID, Name: l.Name})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.ID-b.ID) })
	return all
}

func (d *API) languages(w http.ResponseWriter, _ *http.Request, _ *call) error {
	d.answer(w, http.StatusOK, d.list(false))
	return nil
}

func (d *API) allLanguages(w http.ResponseWriter, _ *http.Request, _ *call) error {
	d.answer(w, http.StatusOK, d.list(true))
	return nil
}

func (d *API) language(w http.ResponseWriter, r *http.Request, _ *call) error {
	id, _ := strconv.Atoi(r.PathValue("id")) // 0 is none
	l := d.known[id]
	if l == nil {
		return core.Errorf(core.CodeNotFound, "", "there is no language %.40q", r.PathValue("id"))
	}
	d.answer(w, http.StatusOK, l)
	return nil
}

func (d *API) authenticate(w http.ResponseWriter, _ *http.Request, _ *call) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

func (d *API) about(w http.ResponseWriter, _ *http.Request, _ *call) error {
	d.answer(w, http.StatusOK, map[string]string{"version": apiVersion, "homepage": "/", "source_code": "", "maintainer": "drover " + d.own.Version})
	return nil
}

// apiVersion is the version of Judge0 whose interface this is.
const apiVersion = "1.13.1"

func (d *API) version(w http.ResponseWriter, _ *http.Request, _ *call) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(apiVersion)) // the caller has gone away
	return nil
}

// systemInfo describes VMs, not hosts: those are for operators.
func (d *API) systemInfo(w http.ResponseWriter, r *http.Request, _ *call) error {
	p, err := d.pool(r.Context())
	if err != nil {
		return err
	}
	d.answer(w, http.StatusOK, map[string]any{
		"drover": d.own.Version, "pool": p.Name, "provider": p.Provider, "image": p.Image, "memory_kb": p.Limits.Memory / 1024,
		"thousandths_of_a_processor": p.Limits.CPU,
	})
	return nil
}

func (d *API) configInfo(w http.ResponseWriter, r *http.Request, _ *call) error {
	p, err := d.pool(r.Context())
	if err != nil {
		return err
	}
	l := d.own.Limits.in(p)
	d.answer(w, http.StatusOK, map[string]any{
		"maintenance_mode": p.Paused, "enable_wait_result": true, "enable_compiler_options": true, "allowed_languages_for_compile_options": []string{},
		"enable_command_line_arguments": true, "enable_submission_delete": false, "enable_callbacks": true, "callbacks_max_tries": core.CallbackTries, "callbacks_timeout": core.CallbackTimeout.Seconds(), "enable_additional_files": true,
		"max_queue_size": p.MaxWaiting, "cpu_time_limit": l.CPU, "max_cpu_time_limit": l.MaxCPU, "cpu_extra_time": l.Extra, "max_cpu_extra_time": l.MaxExtra,
		"wall_time_limit": l.Wall, "max_wall_time_limit": l.MaxWall, "memory_limit": l.Memory, "max_memory_limit": l.MaxMemory,
		"stack_limit": l.Stack, "max_stack_limit": l.MaxStack, "max_processes_and_or_threads": l.Processes, "max_max_processes_and_or_threads": l.MaxProcesses,
		"enable_per_process_and_thread_time_limit": false, "allow_enable_per_process_and_thread_time_limit": false,
		"enable_per_process_and_thread_memory_limit": false, "allow_enable_per_process_and_thread_memory_limit": false,
		"max_file_size": l.FileSize, "max_max_file_size": l.MaxFileSize, "number_of_runs": l.Runs, "max_number_of_runs": l.MaxRuns,
		"redirect_stderr_to_stdout": false, "max_extract_size": l.MaxExtract, "enable_batched_submissions": true, "max_submission_batch_size": d.own.MaxBatch,
		"allow_enable_network": false, "enable_network": false,
	})
	return nil
}
