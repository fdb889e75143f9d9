package core

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// JobType is a named kind of request. A request that names it need not say what the type says, and can only ask for
// less: it is resolved when it is submitted, so a later change of the type, or its deletion, does not affect it.
//
//	of the type     a request that names it
//	pool            runs there; it may name that pool, and no other
//	command         runs it; it may not bring a command or a harness of its own
//	harness, input  is graded by it; it may bring an input of its own
//	env, collect    has them; of a variable that both set, its own value counts; its own paths replace the type's
//	limits          has them; it may lower them
//	priority        has it; it may ask for a lower one
//	submitters      must be of one of them; without any, of a user who may make requests
type JobType struct {
	Name       string          `json:"name"`
	Pool       string          `json:"pool"`
	Command    []string        `json:"command,omitempty"`
	Harness    *File           `json:"harness,omitempty"` // a tar of the harness folder
	Input      json.RawMessage `json:"input,omitempty"`   // of the harness
	Env        []string        `json:"env,omitempty"`     // NAME=value
	Collect    []string        `json:"collect,omitempty"`
	Limits     Limits          `json:"limits"`   // zero fields are the pool's
	Priority   Priority        `json:"priority"` // also the highest
	Submitters []string        `json:"submitters,omitempty"`
}

// JobTypes keeps the types of jobs.
type JobTypes interface {
	// PutJobType creates or replaces a type. Returns INVALID, LIMIT.
	PutJobType(ctx context.Context, t JobType) error
	// GetJobType returns NOTFOUND for an unknown name.
	GetJobType(ctx context.Context, name string) (JobType, error)
	// JobTypes lists all types by name.
	JobTypes(ctx context.Context) ([]JobType, error)
	// DeleteJobType returns NOTFOUND for an unknown name.
	DeleteJobType(ctx context.Context, name string) error
}

// Bounds of a type.
const (
	MaxTypeSubmitters = 1000
	MaxTypeBytes      = MaxSpecBytes // encoded
)

// NoJobType is the error for an unknown type.
func NoJobType(name string) error {
	return Errorf(CodeNotFound, name, "there is no job type %.80q", name)
}

// Check returns what is wrong with the type by itself, by its fields; core/requests/intake checks it as a request.
func (t JobType) Check() Faults {
	var faults Faults
	wrong := func(field string, err error) {
		if err != nil {
			faults = append(faults, Fault{field, err})
		}
	}
	wrong("name", CheckName("job type", t.Name))
	wrong("pool", CheckName("pool", t.Pool))
	if !t.Priority.Valid() {
		wrong("priority", Errorf(CodeInvalid, t.Name, "priority %.40q is none: use high, normal or low", t.Priority))
	}
	if len(t.Submitters) > MaxTypeSubmitters {
		wrong("submitters", Errorf(CodeLimit, t.Name, "there are %d submitters, at most %d are allowed", len(t.Submitters), MaxTypeSubmitters))
	}
	for _, s := range t.Submitters {
		if err := CheckName("submitter", s); err != nil {
			wrong("submitters", err)
			break
		}
	}
	if len(t.Command) > 0 && t.Harness != nil {
		wrong("command", Errorf(CodeInvalid, t.Name, "a job type has either a command or a harness, not both: remove one"))
	}
	if t.Harness == nil && len(t.Input) > 0 {
		wrong("input", Errorf(CodeInvalid, t.Name, "an input is for a harness, and the job type has none"))
	}
	if t.Harness != nil && len(t.Collect) > 0 {
		wrong("collect", Errorf(CodeInvalid, t.Name, "only commands leave files to keep, and the job type has a harness"))
	}
	return faults
}

// CheckBytes returns LIMIT for a type that is too large, INVALID for one that cannot be written.
func (t JobType) CheckBytes() error {
	text, err := json.Marshal(t)
	if err != nil {
		return Wrap(err, CodeInvalid, t.Name, "job type %s cannot be written as JSON", t.Name)
	}
	if len(text) > MaxTypeBytes {
		return Errorf(CodeLimit, t.Name, "job type %s has %d bytes, at most %d are allowed", t.Name, len(text), MaxTypeBytes)
	}
	return nil
}

// Takes reports whether requests of a submitter may name the type.
func (t JobType) Takes(submitter string) bool {
	return len(t.Submitters) == 0 || slices.Contains(t.Submitters, submitter)
}

// Apply fills a spec from the type, and returns what in it exceeds the type, by fields of a request.
func (t JobType) Apply(s *Spec) Faults {
	var faults Faults
	wrong := func(field, format string, args ...any) {
		faults = append(faults, Fault{field, Errorf(CodeInvalid, t.Name, format, args...)})
	}
	if s.Pool = cmp.Or(s.Pool, t.Pool); s.Pool != t.Pool {
		wrong("pool", "jobs of type %s run in pool %s: leave the pool out", t.Name, t.Pool)
	}
	if len(t.Command) > 0 || t.Harness != nil {
		if len(s.Command) > 0 && !slices.Equal(s.Command, t.Command) {
			wrong("command", "job type %s says what is run: leave the command out", t.Name)
		}
		if s.Harness != nil && (t.Harness == nil || *s.Harness != *t.Harness) {
			wrong("harness", "job type %s says what is run: leave the harness out", t.Name)
		}
		s.Command, s.Harness = t.Command, t.Harness
	}
	if len(s.Input) == 0 && s.Harness != nil {
		s.Input = t.Input
	}
	s.Env = MergeEnv(t.Env, s.Env)
	if len(s.Collect) == 0 && s.Harness == nil {
		s.Collect = t.Collect
	}
	if s.Priority = cmp.Or(s.Priority, t.Priority); slices.Index(Priorities(), s.Priority) < slices.Index(Priorities(), t.Priority) && s.Priority.Valid() {
		wrong("priority", "priority %s is above that of job type %s, %s: ask for that or a lower one", s.Priority, t.Name, t.Priority)
	}
	for _, e := range s.Limits.Exceeding(t.Limits) {
		wrong("limits."+e.Field, "%s %s is more than job type %s allows (%s): ask for less", e.Name, e.Got, t.Name, e.Most)
	}
	s.Limits, s.Type = s.Limits.Or(t.Limits), t.Name
	return faults
}

// MergeEnv adds own variables to those of a type or batch, in place of those of the same names.
func MergeEnv(of, own []string) []string {
	named := make(map[string]bool, len(own))
	for _, v := range own {
		if name, _, ok := strings.Cut(v, "="); ok {
			named[name] = true
		}
	}
	all := slices.Grow([]string(nil), len(of)+len(own))
	for _, v := range of {
		if name, _, _ := strings.Cut(v, "="); !named[name] {
			all = append(all, v)
		}
	}
	return append(all, own...)
}
