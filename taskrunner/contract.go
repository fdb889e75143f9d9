package taskrunner

import (
	"context"
	"time"

	"drover/core"
)

// queue is what core.Tasks will have.
type queue interface {
	ProgressTask(ctx context.Context, owner string, epoch int64, key, token string, p core.TaskProgress, limit time.Duration) error
	WakeTask(ctx context.Context, key string) error
	SetTaskRates(ctx context.Context, rates map[string]core.TaskRate) error
}

type noQueue struct{}

func (noQueue) ProgressTask(context.Context, string, int64, string, string, core.TaskProgress, time.Duration) error {
	return nil
}
func (noQueue) WakeTask(context.Context, string) error                       { return nil }
func (noQueue) SetTaskRates(context.Context, map[string]core.TaskRate) error { return nil }

func wide(t core.Tasks) queue {
	if q, ok := t.(queue); ok {
		return q
	}
	return noQueue{}
}
