package intake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"drover/core"
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
	spec.ID = cmp.Or(spec.ID, in.newID())
	spec.Generation = cmp.Or(spec.Generation, 1)
	spec.Priority = cmp.Or(spec.Priority, core.PriorityNormal)
	spec.Submitted = in.now().UnixMilli()
	for _, check := range []func(*core.Spec) error{checkNames, checkCommand, checkInput, checkFiles, checkCollect, checkLimits} {
		if err := check(&spec); err != nil {
			return core.Spec{}, err
		}
	}
	pool, err := in.pool(ctx, spec.Pool)
	if err != nil {
		return core.Spec{}, err
	}
	if spec.Limits, err = pool.Within(spec.Limits); err != nil {
		return core.Spec{}, err
	}
	if err := in.checkSize(ctx, pool); err != nil {
		return core.Spec{}, err
	}
	if err := checkFits(&spec); err != nil {
		return core.Spec{}, err
	}
	if err := in.checkNotify(ctx, spec.ID, spec.Assignment, spec.Notify); err != nil {
		return core.Spec{}, err
	}
	if err := in.checkCallback(ctx, &spec); err != nil {
		return core.Spec{}, err
	}
	return spec, in.checkBlobs(ctx, &spec)
}

func invalid(spec *core.Spec, format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, spec.ID, format, args...)
}

func checkNames(s *core.Spec) error {
	if id, err := ulid.ParseStrict(s.ID); err != nil || strings.ToLower(id.String()) != s.ID {
		return invalid(s, "request id %q is not a lower-case ULID: leave it out to get one", s.ID)
	}
	if s.Generation != 1 {
		return invalid(s, "a new request is of generation 1, not %d: use rerun for the next", s.Generation)
	}
	if !s.Priority.Valid() {
		return invalid(s, "priority %q is none: use high, normal or low", s.Priority)
	}
	if err := core.CheckName("submitter", s.Submitter); err != nil {
		return err
	}
	if s.OnHostLoss != "" && s.OnHostLoss != core.OnHostLossRequeue && s.OnHostLoss != core.OnHostLossFail {
		return invalid(s, "on host loss %q is none: use %s or %s, or leave it out for the pool's", s.OnHostLoss, core.OnHostLossRequeue, core.OnHostLossFail)
	}
	if s.Supersede && s.Assignment == "" {
		return invalid(s, "only a request that names its assignment can supersede older ones for it")
	}
	for name, text := range map[string]string{"assignment": s.Assignment, "idempotency key": s.Idempotency} {
		if text != "" && (len(text) > maxText || !printable().MatchString(text)) {
			return invalid(s, "the %s must be 1 to %d printable ASCII characters without spaces", name, maxText)
		}
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
	case s.Stdin != nil && s.Harness != nil:
		return invalid(s, "a harness gets its input from drover: stdin is for plain commands")
	case len(s.Env) > maxEnv:
		return core.Errorf(core.CodeLimit, s.ID, "the environment has %d variables, at most %d are allowed", len(s.Env), maxEnv)
	}
	for _, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			return invalid(s, "the command %q holds a zero byte, which no program can be given", word)
		}
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
	l := s.Limits
	if l.Timeout < 0 || min(l.Memory, l.Disk, l.FileSize, int64(l.Pids), int64(l.OpenFiles), int64(l.CPU), l.Output) < 0 {
		return invalid(s, "a limit is negative: leave it out to get the pool's")
	}
	return nil
}

// checkFits bounds the size of the whole spec, once its limits are known.
func checkFits(s *core.Spec) error {
	if total := totalSize(s); total > s.Limits.Disk {
		return core.Errorf(core.CodeLimit, s.ID, "the files have %d bytes together, but the disk of the request only %d: bring less, or raise its disk limit",
			total, s.Limits.Disk)
	}
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
