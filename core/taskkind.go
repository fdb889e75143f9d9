package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// TaskKind is all that is declared of a kind of task: command line, API, pages, rates, rights
// and docs are made from it. What does the work is known to taskrunners alone.
type TaskKind struct {
	Name  string    // in rows, settings and calls
	Title string    // for people, such as "Gradebook"; pages translate it
	Does  string    // what the task does, as an order without a full stop; pages translate it
	Args  []TaskArg // in the order in which forms and docs have them
	Right Action    // needed to ask for the task, to try it again and to fetch its file; "" for none
	Own   Action    // the right that is enough where the argument user names who asks; "" for none

	Command     string   // of the command line, such as "grades export"; "" for a kind that nobody asks for by itself
	Schedulable bool     // a schedule can make it
	Shared      bool     // one that waits stands for all who ask for the same; else for its requester alone
	Rate        TaskRate // unless the settings say otherwise
}

// TaskArg is an argument of a kind of task.
type TaskArg struct {
	Name    string // in JSON
	Type    ArgType
	Label   string // what flags and forms say of it; pages translate it
	Default string // what counts where it is left out, as forms show it
	Most    int    // bytes; 0 is maxArg
}

// ArgType says which values an argument can have.
type ArgType string

// The types of arguments. A task is about the class or the assignment of its arguments.
const (
	ArgClass      ArgType = "class"
	ArgAssignment ArgType = "assignment" // of the class
	ArgUser       ArgType = "user"
	ArgText       ArgType = "text"
	ArgFlag       ArgType = "flag"
	ArgTime       ArgType = "time" // nanoseconds in JSON, where its name ends in _ns
	ArgNumber     ArgType = "number"
)

// TaskKinds are some kinds of task, in the order in which people are shown them.
type TaskKinds []TaskKind

// Where are those of ks that want reports.
func (ks TaskKinds) Where(want func(k *TaskKind) bool) TaskKinds {
	return slices.DeleteFunc(slices.Clone(ks), func(k TaskKind) bool { return !want(&k) })
}

// Names are the names of ks.
func (ks TaskKinds) Names() []string {
	var names []string
	for i := range ks {
		names = append(names, ks[i].Name)
	}
	return names
}

// Rates are the rates of ks, by name.
func (ks TaskKinds) Rates() map[string]TaskRate {
	rates := map[string]TaskRate{}
	for i := range ks {
		rates[ks[i].Name] = ks[i].Rate
	}
	return rates
}

// Find returns a kind by its name. Returns INVALID, with the names that there are.
func (ks TaskKinds) Find(name string) (TaskKind, error) {
	for i := range ks {
		if ks[i].Name == name {
			return ks[i], nil
		}
	}
	return TaskKind{}, Errorf(CodeInvalid, "kind", "no task of kind %.40q can be asked for: use %s", name, strings.Join(ks.Names(), ", "))
}

// maxArg bounds an argument that says no bound of its own.
const maxArg = 160

// Flag is the argument's name on the command line and in forms.
func (a TaskArg) Flag() string {
	return strings.ReplaceAll(strings.TrimSuffix(a.Name, "_ns"), "_", "-")
}

// invalid says what a value has to be.
func (a TaskArg) invalid(value string) error {
	must := map[ArgType]string{
		ArgFlag: "true or false", ArgTime: "a time above 0 with its unit, such as 10m", ArgNumber: "a whole number",
	}[a.Type]
	if must == "" {
		must = fmt.Sprintf("one line of 1 to %d bytes", a.most())
	}
	return Errorf(CodeInvalid, a.Name, "%s must be %s, not %.60q", a.Flag(), must, value)
}

func (a TaskArg) most() int {
	if a.Most > 0 {
		return a.Most
	}
	return maxArg
}

// Options are the arguments that do not say what a task is about.
func (k *TaskKind) Options() []TaskArg {
	return slices.DeleteFunc(slices.Clone(k.Args), func(a TaskArg) bool { return a.Type == ArgClass || a.Type == ArgAssignment })
}

// About says what a task is about: an assignment, a class, or "" for neither.
func (k *TaskKind) About() ArgType {
	for _, about := range []ArgType{ArgAssignment, ArgClass} {
		if slices.ContainsFunc(k.Args, func(a TaskArg) bool { return a.Type == about }) {
			return about
		}
	}
	return ""
}

// Write makes a task's arguments of texts by Flag; what has none is left out. Returns INVALID.
func (k *TaskKind) Write(texts map[string]string) (json.RawMessage, error) {
	values := map[string]any{}
	for _, a := range k.Args {
		text, ok := texts[a.Flag()]
		if !ok || text == "" && a.Type != ArgText {
			continue
		}
		var err error
		switch a.Type {
		case ArgFlag:
			values[a.Name], err = strconv.ParseBool(text)
		case ArgTime:
			values[a.Name], err = time.ParseDuration(text)
		case ArgNumber:
			values[a.Name], err = strconv.ParseInt(text, 10, 64)
		default:
			values[a.Name] = text
		}
		if err != nil {
			return nil, a.invalid(text)
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(values)
	return raw, Wrap(err, CodeInternal, k.Name, "the arguments of a task %s cannot be written", k.Name)
}

// TaskTarget is what the arguments of a task name.
type TaskTarget struct{ Class, Assignment, User string }

// About is the class, or class/assignment; "" for neither.
func (t TaskTarget) About() string { return strings.TrimSuffix(t.Class+"/"+t.Assignment, "/") }

// Read checks a task's arguments and returns what they name. Returns INVALID.
func (k *TaskKind) Read(args json.RawMessage) (TaskTarget, error) {
	var t TaskTarget
	given := map[string]json.RawMessage{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &given); err != nil {
			return t, Wrap(err, CodeInvalid, k.Name, "the arguments of a task %s cannot be read", k.Name)
		}
	}
	var names []string
	for _, a := range k.Args {
		text, err := a.read(given[a.Name])
		if err != nil {
			return t, err
		}
		switch a.Type {
		case ArgClass:
			t.Class = text
		case ArgAssignment:
			t.Assignment = text
		case ArgUser:
			t.User = text
		default:
		}
		names = append(names, a.Name)
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return t, Errorf(CodeInvalid, k.Name, "a task %s has no argument %.40q, only %s", k.Name, name, strings.Join(names, ", "))
		}
	}
	return t, nil
}

// read checks one argument, and returns it if it is a text.
func (a TaskArg) read(raw json.RawMessage) (text string, err error) {
	var number int64
	into := any(&text)
	switch a.Type {
	case ArgFlag:
		into = new(bool)
	case ArgTime, ArgNumber:
		into = &number
	default:
	}
	named := a.Type == ArgClass || a.Type == ArgAssignment
	switch {
	case len(raw) == 0 && !named:
		return "", nil
	case len(raw) > 0 && json.Unmarshal(raw, into) != nil, a.Type == ArgTime && number <= 0, named && text == "",
		len(text) > a.most(), !utf8.ValidString(text), strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }):
		return "", a.invalid(string(raw))
	case a.Type == ArgUser && text != "":
		return text, CheckName(a.Name, text)
	}
	return text, nil
}
