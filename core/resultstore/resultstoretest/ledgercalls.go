package resultstoretest

import (
	"context"

	"drover/core"
)

// ledgerCalls returns the calls of TaskLedger, Webhooks and Schedules.
func ledgerCalls() map[string]func(ctx context.Context, s core.ResultStore) error {
	return map[string]func(ctx context.Context, s core.ResultStore) error{
		"CreateTask": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.CreateTask(ctx, Task("t"))
			return err
		},
		"EndTask": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.EndTask(ctx, core.TaskEnd{ID: "t", Generation: 1, State: core.TaskDone})
			return err
		},
		"GetTask": func(ctx context.Context, s core.ResultStore) error { _, err := s.GetTask(ctx, "t"); return err },
		"FailTask": func(ctx context.Context, s core.ResultStore) error {
			return s.FailTask(ctx, "t", core.TaskFailure{Generation: 1, Attempt: 1})
		},
		"RetryTask": func(ctx context.Context, s core.ResultStore) error { _, err := s.RetryTask(ctx, "t", 5); return err },
		"CountChildren": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.CountChildren(ctx, "t")
			return err
		},
		"PutWebhook": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.PutWebhook(ctx, Webhook("w"))
			return err
		},
		"GetWebhook": func(ctx context.Context, s core.ResultStore) error { _, err := s.GetWebhook(ctx, "w"); return err },
		"ListWebhooks": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ListWebhooks(ctx, "", "", 10)
			return err
		},
		"DeleteWebhook": func(ctx context.Context, s core.ResultStore) error { return s.DeleteWebhook(ctx, "w") },
		"Outbox":        func(ctx context.Context, s core.ResultStore) error { _, err := s.Outbox(ctx, 10); return err },
		"Sent": func(ctx context.Context, s core.ResultStore) error {
			return s.Sent(ctx, []core.Notice{{Event: core.EventTaskEnded, Key: "t-1"}})
		},
		"PutSchedule": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.PutSchedule(ctx, Schedule("s"))
			return err
		},
		"DeleteSchedule": func(ctx context.Context, s core.ResultStore) error { return s.DeleteSchedule(ctx, "s") },
		"ListSchedules":  func(ctx context.Context, s core.ResultStore) error { _, err := s.ListSchedules(ctx); return err },
		"UnfinishedTasks": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.UnfinishedTasks(ctx, "", 1)
			return err
		},
		"ListTasks": func(ctx context.Context, s core.ResultStore) error {
			_, err := s.ListTasks(ctx, core.TaskFilter{})
			return err
		},
	}
}
