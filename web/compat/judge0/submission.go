package judge0

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// submission is what was submitted, as stored in the request's attachment.
type submission struct {
	Language     int     `json:"language_id"`
	Source       []byte  `json:"source_code"`
	Options      string  `json:"compiler_options"`
	Arguments    string  `json:"command_line_arguments"`
	Stdin        []byte  `json:"stdin"`           // nil: none
	Expected     []byte  `json:"expected_output"` // nil: any output is right
	CPU          float64 `json:"cpu_time_limit"`  // seconds
	Extra        float64 `json:"cpu_extra_time"`  // seconds
	Wall         float64 `json:"wall_time_limit"` // seconds
	Memory       float64 `json:"memory_limit"`    // KB
	Stack        int64   `json:"stack_limit"`     // KB
	Processes    int64   `json:"max_processes_and_or_threads"`
	FileSize     int64   `json:"max_file_size"` // KB
	Runs         int64   `json:"number_of_runs"`
	MergeStderr  bool    `json:"redirect_stderr_to_stdout"`
	Callback     string  `json:"callback_url"`
	MoreFiles    []byte  `json:"additional_files"` // a zip
	TimeEach     bool    `json:"enable_per_process_and_thread_time_limit"`
	MemoryEach   bool    `json:"enable_per_process_and_thread_memory_limit"`
	WithNetwork  bool    `json:"enable_network"`
	languageSaid bool

	SignedBy string `json:"signed_by,omitempty"` // the secret for the callback
}

// problems are what is wrong with a submission, by its attributes.
type problems map[string][]string

func (p problems) add(field, format string, args ...any) {
	p[field] = append(p[field], fmt.Sprintf(format, args...))
}

// form reads the attributes of a submission. As in Judge0, numbers may be texts, and unknown attributes are ignored.
type form struct {
	values map[string]json.RawMessage
	base64 bool // of the texts that a program reads or writes
	wrong  problems
}

func (f *form) given(name string) bool {
	v, ok := f.values[name]
	return ok && string(v) != "null"
}

func (f *form) text(name string) string {
	if !f.given(name) {
		return ""
	}
	var s string
	if err := json.Unmarshal(f.values[name], &s); err != nil {
		if v := string(f.values[name]); v[0] != '{' && v[0] != '[' {
			return v // a number or a truth value
		}
		f.wrong.add(name, "is not a text")
	}
	return s
}

func (f *form) bytes(name string, encoded bool) []byte {
	if !f.given(name) {
		return nil
	}
	s := f.text(name)
	if !encoded {
		return []byte(s)
	}
	b, err := base64.StdEncoding.DecodeString(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s))
	if err != nil {
		f.wrong.add(name, "is not valid Base64")
	}
	return append([]byte{}, b...)
}

func (f *form) boolean(name string) bool {
	switch s := f.text(name); s {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	default:
		f.wrong.add(name, "is neither true nor false")
		return false
	}
}

func (f *form) number(name string, otherwise, least, most float64) float64 {
	s := f.text(name)
	if s == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || v != v:
		f.wrong.add(name, "is not a number")
	case v < least:
		f.wrong.add(name, "must be greater than or equal to %s", short(least))
	case v > most:
		f.wrong.add(name, "must be less than or equal to %s", short(most))
	default:
		return v
	}
	return otherwise
}

func (f *form) integer(name string, otherwise, least, most int64) int64 {
	v := f.number(name, float64(otherwise), float64(least), float64(most))
	if v != float64(int64(v)) {
		f.wrong.add(name, "must be an integer")
	}
	return int64(v)
}

func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// submission reads all attributes within the limits.
func (f *form) submission(most Limits) submission {
	s := submission{
		Source:    f.bytes("source_code", f.base64),
		Options:   f.line("compiler_options"),
		Arguments: f.line("command_line_arguments"),
		Stdin:     f.bytes("stdin", f.base64),
		Expected:  f.bytes("expected_output", f.base64),
		CPU:       f.number("cpu_time_limit", most.CPU, 0, most.MaxCPU),
		Extra:     f.number("cpu_extra_time", most.Extra, 0, most.MaxExtra),
		Wall:      f.number("wall_time_limit", most.Wall, 1, most.MaxWall),
		Memory:    f.number("memory_limit", float64(most.Memory), leastKB, float64(most.MaxMemory)),
		Stack:     f.integer("stack_limit", most.Stack, 0, most.MaxStack),
		Processes: f.integer("max_processes_and_or_threads", most.Processes, 1, most.MaxProcesses),
		FileSize:  f.integer("max_file_size", most.FileSize, 0, most.MaxFileSize),
		Runs:      f.integer("number_of_runs", most.Runs, 1, most.MaxRuns),

		MergeStderr: f.boolean("redirect_stderr_to_stdout"),
		Callback:    f.text("callback_url"),
		MoreFiles:   f.bytes("additional_files", true),
	}
	for _, name := range []string{"enable_per_process_and_thread_time_limit", "enable_per_process_and_thread_memory_limit"} {
		if f.boolean(name) {
			f.wrong.add(name, "this option cannot be enabled")
		}
	}
	if f.boolean("enable_network") {
		f.wrong.add("enable_network", "enabling network is not allowed")
	}
	if s.languageSaid = f.given("language_id"); s.languageSaid {
		s.Language = int(f.integer("language_id", 0, -1<<31, 1<<31))
	}
	return s
}

const maxLine = 512 // characters

// line reads words for a command.
func (f *form) line(name string) string {
	s := f.text(name)
	if utf8.RuneCountInString(s) > maxLine {
		f.wrong.add(name, "is too long (maximum is %d characters)", maxLine)
	}
	return s
}

// shellSigns are left out of what is added to commands, as in Judge0.
var shellSigns = strings.NewReplacer("$", "", "&", "", ";", "", "<", "", ">", "", "|", "", "`", "", "\x00", "", "\n", " ")

// check returns what is wrong with a submission in its language, nil if that is unknown.
func (s *submission) check(l *Language, most Limits, wrong problems) {
	switch {
	case !s.languageSaid:
		wrong.add("language_id", "can't be blank")
	case l == nil && len(wrong["language_id"]) == 0:
		wrong.add("language_id", "language with id %d doesn't exist", s.Language)
	case l != nil && l.Archived:
		wrong.add("language_id", "language with id %d is archived and cannot be used anymore", s.Language)
	}
	if l == nil {
		l = &Language{Source: "unknown", Compile: "unknown"}
	}
	switch blank := len(strings.TrimSpace(string(s.Source))) == 0; {
	case l.Source != "" && blank && len(wrong["source_code"]) == 0:
		wrong.add("source_code", "can't be blank")
	case l.Source == "" && !blank:
		wrong.add("source_code", "must be blank")
	case l.Source == "" && len(s.MoreFiles) == 0 && len(wrong["additional_files"]) == 0:
		wrong.add("additional_files", "can't be blank")
	}
	if s.Options != "" && (l.Source == "" || !strings.Contains(l.Compile, "%s")) && l.Source != "unknown" {
		wrong.add("compiler_options", "setting compiler options is only allowed for compiled languages")
	}
	total := most.total
	if l.Compile != "" {
		total -= most.MaxWall
	}
	if s.Wall*float64(s.Runs) > total {
		wrong.add("number_of_runs", "must be less than or equal to %d with this wall_time_limit", int(total/s.Wall))
	}
}
