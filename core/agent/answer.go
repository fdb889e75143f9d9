package agent

import (
	"context"
	"errors"
	"maps"

	"drover/core"
	"drover/core/agent/wire"
)

// Answer runs in this VM what a harness in another one calls drover-run for, and tells the caller how it ended or why
// it was not run. Nothing of former runs is there: the command finds what the caller sends of the place "submission",
// and the state that it asks for in "work", where it begins. If the caller is gone, the command is ended. Returns what
// the command used; BADVM if this VM fails, and an error that wraps the context's if that of the call's NextCall ends.
func (c *Client) Answer(call *Call, limits core.Limits) (Exit, error) {
	exit, err := c.box(call, limits)
	switch {
	case err == nil:
		call.end(exit)
	case errors.Is(context.Cause(call.ctx), errCallerGone):
	case core.Is(err, core.CodeInvalid), core.Is(err, core.CodeLimit):
		call.refuse(err)
	default:
		return exit, err
	}
	return exit, nil
}

func (c *Client) box(call *Call, limits core.Limits) (Exit, error) {
	spec, ctx := &call.spec, call.ctx
	if !spec.Files {
		return Exit{}, core.Errorf(core.CodeInvalid, "", "%s is not in the environment of %s, which does not know that its box is another VM", wire.EnvPeer, wire.BoxProgram)
	}
	for _, name := range []string{spec.With, spec.Save} {
		if name == "" {
			continue
		}
		if err := wire.CheckState(name); err != nil {
			return Exit{}, err
		}
	}
	if err := c.Reset(ctx, spec.With); err != nil {
		return Exit{}, err
	}
	if err := c.put(ctx, wire.PathLay+wire.Submission, call.body, sameEntries); err != nil {
		return Exit{}, err
	}
	exit, err := c.Run(ctx, Run{
		Args: spec.Args, Env: spec.Env, Called: true, Limits: limits, Share: spec.Share, CPU: spec.CPU, Stretch: spec.Stretch, Stdin: call.body,
	}, call.print)
	if err != nil {
		return exit, err
	}
	if exit.HeldBy = maps.Clone(exit.HeldBy); exit.HeldBy == nil {
		exit.HeldBy = map[string]string{}
	}
	exit.HeldBy[wire.LimitHarness] = wire.HeldByPeer
	if spec.Save == "" {
		return exit, nil
	}
	err = c.Keep(ctx, spec.Save)
	if core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) {
		exit.Unsaved, err = err.Error(), nil
	}
	return exit, err
}
