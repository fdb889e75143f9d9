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

// TaskKind is the declaration of a kind of task. Command line, API, pages, rates, rights and docs are made from it;
// the work itself is implemented in taskrunner.
type TaskKind struct {
	Name  string    // in rows, settings and calls
	Title string    // for people, such as "Gradebook"; pages translate it
	Does  string    // what the task does, in the imperative without a full stop; pages translate it
	Args  []TaskArg // in the order of forms and docs
	Right Action    // needed to start the task, retry it and fetch its file; "" for none
	Own   Action    // the right that suffices if the argument user is the requester; "" for none

	Command     string   // of the command line, such as "grades export"; "" for a kind that users cannot start by itself
	Schedulable bool     // a schedule can make it
	Shared      bool     // requesters with the same arguments share one waiting task; otherwise each has its own
	Rate        TaskRate // default; settings override it
}

// TaskArg is an argument of a kind of task.
type TaskArg struct {
	Name    string // key in JSON
	Type    ArgType
	Label   string // label of flags and forms; pages translate it
	Default string // the value if it is left out, as forms show it
	Most    int    // maximum in bytes; 0 is maxArg
	Choices string // words with | between them, one of which a text must be; "" is any text
}

// ArgType says which values an argument can have.
type ArgType string

// The types of arguments. The class or assignment among its arguments is what a task is about.
const (
	ArgClass      ArgType = "class"
	ArgAssignment ArgType = "assignment" // of that class
	ArgUser       ArgType = "user"
	ArgText       ArgType = "text"
	ArgFlag       ArgType = "flag"
	ArgTime       ArgType = "time" // a duration; nanoseconds in JSON, where its name ends in _ns
	ArgNumber     ArgType = "number"
)

// TaskKinds is a list of kinds, in the order in which people see them.
type TaskKinds []TaskKind

// Where returns the kinds for which want returns true.
func (ks TaskKinds) Where(want func(k *TaskKind) bool) TaskKinds {
	return slices.DeleteFunc(slices.Clone(ks), func(k TaskKind) bool { return !want(&k) })
}

// Names returns the names of ks.
func (ks TaskKinds) Names() []string {
	var names []string
	for i := range ks {
		names = append(names, ks[i].Name)
	}
	return names
}

// Rates returns the rates of ks, by name.
func (ks TaskKinds) Rates() map[string]TaskRate {
	rates := map[string]TaskRate{}
	for i := range ks {
		rates[ks[i].Name] = ks[i].Rate
	}
	return rates
}

// Find returns the kind of a name. Returns INVALID, with the list of names, if there is none.
func (ks TaskKinds) Find(name string) (TaskKind, error) {
	for i := range ks {
		if ks[i].Name == name {
			return ks[i], nil
		}
	}
	return TaskKind{}, Errorf(CodeInvalid, "kind", "no task of kind %.40q can be asked for: use %s", name, strings.Join(ks.Names(), ", "))
}

// maxArg bounds an argument without a bound of its own, in bytes.
const maxArg = 160

// Flag is the argument's name on the command line and in forms.
func (a TaskArg) Flag() string {
	return strings.ReplaceAll(strings.TrimSuffix(a.Name, "_ns"), "_", "-")
}

// invalid returns an error that says what the value must be.
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

// Options returns the arguments other than class and assignment.
func (k *TaskKind) Options() []TaskArg {
	return slices.DeleteFunc(slices.Clone(k.Args), func(a TaskArg) bool { return a.Type == ArgClass || a.Type == ArgAssignment })
}

// About returns what a task of the kind is about: an assignment, a class, or "" for neither.
func (k *TaskKind) About() ArgType {
	for _, about := range []ArgType{ArgAssignment, ArgClass} {
		if slices.ContainsFunc(k.Args, func(a TaskArg) bool { return a.Type == about }) {
			return about
		}
	}
	return ""
}

// Write makes a task's arguments from texts by Flag; arguments without a text are left out. Returns INVALID.
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

// About returns the class, or class/assignment; "" for neither.
func (t TaskTarget) About() string { return strings.TrimSuffix(t.Class+"/"+t.Assignment, "/") }

// Read checks a task's arguments and returns what they name. Returns INVALID.
func (k *TaskKind) Read(args json.RawMessage) (TaskTarget, error) {
	var t TaskTarget
	values, err := k.values(args)
	for _, a := range k.Args {
		text, _ := values[a.Name].(string)
		switch a.Type {
		case ArgClass:
			t.Class = text
		case ArgAssignment:
			t.Assignment = text
		case ArgUser:
			t.User = text
		default:
		}
	}
	return t, err
}

// Canonical checks a task's arguments and returns them in the one form that all have which ask for
// the same: in order of their names, without those that say what counts anyway. Returns INVALID.
func (k *TaskKind) Canonical(args json.RawMessage) (json.RawMessage, error) {
	values, err := k.values(args)
	if err != nil {
		return nil, err
	}
	for _, a := range k.Args {
		switch value := values[a.Name]; {
		case a.Type == ArgText && value == a.Default, a.Default == "" && (value == "" || value == false || value == int64(0)):
			delete(values, a.Name)
		default:
		}
	}
	raw, err := json.Marshal(values)
	return raw, Wrap(err, CodeInternal, k.Name, "the arguments of a task %s cannot be written", k.Name)
}

// values checks a task's arguments and returns those that are there, by name. Returns INVALID.
func (k *TaskKind) values(args json.RawMessage) (map[string]any, error) {
	given := map[string]json.RawMessage{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &given); err != nil {
			return nil, Wrap(err, CodeInvalid, k.Name, "the arguments of a task %s cannot be read", k.Name)
		}
	}
	values := map[string]any{}
	var names []string
	for _, a := range k.Args {
		value, err := a.read(given[a.Name])
		if err != nil {
			return nil, err
		}
		if value != nil {
			values[a.Name] = value
		}
		names = append(names, a.Name)
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return nil, Errorf(CodeInvalid, k.Name, "a task %s has no argument %.40q, only %s", k.Name, name, strings.Join(names, ", "))
		}
	}
	return values, nil
}

// read checks one argument and returns a string, a bool or an int64; nil if it is left out.
func (a TaskArg) read(raw json.RawMessage) (any, error) {
	if named := a.Type == ArgClass || a.Type == ArgAssignment; len(raw) == 0 || string(raw) == "null" {
		if named {
			return nil, a.invalid(string(raw))
		}
		return nil, nil
	}
	switch a.Type {
	case ArgFlag:
		var flag bool
		if json.Unmarshal(raw, &flag) != nil {
			return nil, a.invalid(string(raw))
		}
		return flag, nil
	case ArgTime, ArgNumber:
		var number int64
		if json.Unmarshal(raw, &number) != nil || a.Type == ArgTime && number <= 0 {
			return nil, a.invalid(string(raw))
		}
		return number, nil
	default:
	}
	return a.readText(raw)
}

func (a TaskArg) readText(raw json.RawMessage) (any, error) {
	var text string
	err := json.Unmarshal(raw, &text)
	if err == nil && text != "" && a.Choices != "" && !slices.Contains(strings.Split(a.Choices, "|"), text) {
		return nil, Errorf(CodeInvalid, a.Name, "%s must be %s, not %.60q", a.Flag(), strings.ReplaceAll(a.Choices, "|", " or "), text)
	}
	empty := text == "" && (a.Type == ArgClass || a.Type == ArgAssignment)
	if err != nil || empty || len(text) > a.most() || !utf8.ValidString(text) || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' }) {
		return nil, a.invalid(string(raw))
	}
	if a.Type == ArgUser && text != "" {
		return text, CheckName(a.Name, text)
	}
	return text, nil
}
