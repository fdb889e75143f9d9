package intake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/service/pattern"

	"github.com/oklog/ulid/v2"
)

// Bounds on texts from outside, in bytes or numbers.
const (
	maxText = 128 // an assignment, an idempotency key, or the name of a requester
	maxEnv  = 256 // variables of a command's environment
)

var (
	variable  = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*=`)
	printable = pattern.New(`^[!-~]+$`)
)

// Check returns the spec that Submit would make durable, or the refusal: INVALID or LIMIT, NOTFOUND for a pool,
// webhook or file, FULL for a callback, UNAVAILABLE.
func (in *Intake) Check(ctx context.Context, spec core.Spec) (core.Spec, error) {
	c := checking{in: in}
	spec, faults, err := c.spec(ctx, spec)
	if len(faults) > 0 {
		return core.Spec{}, faults.First()
	}
	if err != nil {
		return core.Spec{}, err
	}
	return spec, in.checkBlobs(ctx, &spec)
}

// checking checks specs, and looks up once what several of them name.
type checking struct {
	in    *Intake
	known map[string]error // of what was looked up
	pools map[string]core.Pool
}

// once returns the error of looking something up.
func (c *checking) once(what string, look func() error) error {
	err, ok := c.known[what]
	if ok {
		return err
	}
	if c.known == nil {
		c.known = map[string]error{}
	}
	err = look()
	c.known[what] = err
	return err
}

// pool returns a pool of which hosts could hold VMs.
func (c *checking) pool(ctx context.Context, name string) (core.Pool, error) {
	err := c.once("pool "+name, func() error {
		p, err := c.in.pool(ctx, name)
		if err != nil {
			return err
		}
		if c.pools == nil {
			c.pools = map[string]core.Pool{}
		}
		c.pools[name] = p
		return c.in.checkSize(ctx, p)
	})
	return c.pools[name], err
}

// spec returns the spec that Submit would make durable, unless there are faults, by the fields of a request. Files are
// not looked for. Returns FULL for a callback, UNAVAILABLE.
func (c *checking) spec(ctx context.Context, spec core.Spec) (core.Spec, core.Faults, error) {
	spec.ID = cmp.Or(spec.ID, c.in.newID())
	spec.Generation = cmp.Or(spec.Generation, 1)
	spec.Priority = cmp.Or(spec.Priority, core.PriorityNormal)
	spec.Submitted = c.in.now().UnixMilli()
	var faults core.Faults
	for _, one := range checks {
		if err := one.check(&spec); err != nil {
			faults = append(faults, core.Fault{Field: one.field, Err: err})
		}
	}
	for _, field := range spec.Limits.Negative() {
		faults = append(faults, core.Fault{Field: "limits." + field, Err: checkLimits(&spec)})
	}
	pool, err := c.pool(ctx, spec.Pool)
	switch {
	case faulty(err):
		faults = append(faults, core.Fault{Field: "pool", Err: err})
	case err != nil:
		return spec, faults, err
	default:
		faults = append(faults, pool.Exceeded(spec.Limits)...)
		spec.Limits = spec.Limits.Or(pool.Limits)
		if err := checkRoom(&spec); err != nil {
			faults = append(faults, core.Fault{Field: "files", Err: err})
		}
	}
	if err := checkBytes(&spec); err != nil {
		faults = append(faults, core.Fault{Field: "command", Err: err})
	}
	err = c.once("notify "+spec.Assignment+" "+strings.Join(spec.Notify, " "), func() error {
		return c.in.checkNotify(ctx, spec.ID, spec.Assignment, spec.Notify)
	})
	if faulty(err) {
		faults, err = append(faults, core.Fault{Field: "notify", Err: err}), nil
	}
	if err == nil && len(faults) == 0 && spec.Callback != "" {
		err = c.once("callback "+spec.Callback+" "+spec.Submitter, func() error { return c.in.checkCallback(ctx, &spec) })
	}
	return spec, faults, err
}

// faulty reports whether an error is the fault of an input, and not a reason to try later.
func faulty(err error) bool {
	return core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) || core.Is(err, core.CodeNotFound)
}

// checks are what is checked of a spec by itself, with the field of a request that is wrong then.
var checks = []struct {
	field string
	check func(*core.Spec) error
}{
	{"id", checkID},
	{"priority", checkPriority},
	{"submitter", func(s *core.Spec) error { return core.CheckName("submitter", s.Submitter) }},
	{"on_host_loss", checkOnHostLoss},
	{"supersede", checkSupersede},
	{"assignment", func(s *core.Spec) error { return checkLabel(s, "assignment", s.Assignment) }},
	{"idempotency_key", func(s *core.Spec) error { return checkLabel(s, "idempotency key", s.Idempotency) }},
	{"command", checkCommand},
	{"stdin", checkStdin},
	{"env", checkEnv},
	{"input", checkInput},
	{"files", checkFiles},
	{"collect", checkCollect},
}

func invalid(spec *core.Spec, format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, spec.ID, format, args...)
}

func checkID(s *core.Spec) error {
	if id, err := ulid.ParseStrict(s.ID); err != nil || strings.ToLower(id.String()) != s.ID {
		return invalid(s, "request id %q is not a lower-case ULID: leave it out to get one", s.ID)
	}
	if s.Generation != 1 {
		return invalid(s, "a new request is of generation 1, not %d: use rerun for the next", s.Generation)
	}
	return nil
}

func checkPriority(s *core.Spec) error {
	if !s.Priority.Valid() {
		return invalid(s, "priority %q is none: use high, normal or low", s.Priority)
	}
	return nil
}

func checkOnHostLoss(s *core.Spec) error {
	if s.OnHostLoss != "" && s.OnHostLoss != core.OnHostLossRequeue && s.OnHostLoss != core.OnHostLossFail {
		return invalid(s, "on host loss %q is none: use %s or %s, or leave it out for the pool's", s.OnHostLoss, core.OnHostLossRequeue, core.OnHostLossFail)
	}
	return nil
}

func checkSupersede(s *core.Spec) error {
	if s.Supersede && s.Assignment == "" {
		return invalid(s, "only a request that names its assignment can supersede older ones for it")
	}
	return nil
}

func checkLabel(s *core.Spec, name, text string) error {
	if text != "" && (len(text) > maxText || !printable().MatchString(text)) {
		return invalid(s, "the %s must be 1 to %d printable ASCII characters without spaces", name, maxText)
	}
	return nil
}

func checkCommand(s *core.Spec) error {
	switch {
	case len(s.Command) == 0 && s.Harness == nil:
		return invalid(s, "a request needs a command or a harness")
	case len(s.Command) > 0 && s.Harness != nil:
		return invalid(s, "a request has either a command or a harness, not both")
	case len(s.Command) > core.MaxArgs:
		return core.Errorf(core.CodeLimit, s.ID, "the command has %d words, at most %d are allowed", len(s.Command), core.MaxArgs)
	case len(s.Command) > 0 && s.Command[0] == "":
		return invalid(s, "the command's first word, the program, is empty")
	}
	for _, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			return invalid(s, "the command %q holds a zero byte, which no program can be given", word)
		}
	}
	return nil
}

func checkStdin(s *core.Spec) error {
	if s.Stdin != nil && s.Harness != nil {
		return invalid(s, "a harness gets its input from drover: stdin is for plain commands")
	}
	return nil
}

func checkEnv(s *core.Spec) error {
	if len(s.Env) > maxEnv {
		return core.Errorf(core.CodeLimit, s.ID, "the environment has %d variables, at most %d are allowed", len(s.Env), maxEnv)
	}
	for _, v := range s.Env {
		if !variable().MatchString(v) || strings.ContainsRune(v, 0) {
			name, _, _ := strings.Cut(v, "=") // the value may be a secret
			return invalid(s, "environment variable %q is not of the form NAME=value", name)
		}
	}
	return nil
}

func checkInput(s *core.Spec) error {
	if len(s.Input) == 0 {
		return nil
	}
	if s.Harness == nil {
		return invalid(s, "input is for a harness: a plain command reads stdin")
	}
	if !json.Valid(s.Input) || !bytes.HasPrefix(bytes.TrimSpace(s.Input), []byte("{")) {
		return invalid(s, "the input of the harness is not a JSON object")
	}
	return nil
}

// checkLimits refuses negative limits, which would otherwise count as not given.
func checkLimits(s *core.Spec) error {
	if len(s.Limits.Negative()) > 0 {
		return invalid(s, "a limit is negative: leave it out to get the pool's")
	}
	return nil
}

// checkRoom checks that the files fit, once the limits are known.
func checkRoom(s *core.Spec) error {
	total := totalSize(s)
	if total > s.Limits.Disk && s.Harness != nil {
		if in, err := harness.ParseInput(s.Input); err == nil && in.Stock {
			total -= s.Harness.Size // it stays on the host
		}
	}
	if total > s.Limits.Disk {
		return core.Errorf(core.CodeLimit, s.ID, "the files have %d bytes together, but the disk of the request only %d: bring less, or raise its disk limit",
			total, s.Limits.Disk)
	}
	return nil
}

// checkBytes bounds the size of the whole spec.
func checkBytes(s *core.Spec) error {
	text, err := json.Marshal(s)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, s.ID, "request %s cannot be written as JSON", s.ID)
	}
	if len(text) > core.MaxSpecBytes {
		return core.Errorf(core.CodeLimit, s.ID, "the request has %d bytes beside its files, at most %d are allowed: put long arguments and inputs into files",
			len(text), core.MaxSpecBytes)
	}
	return nil
}
