package auditlog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account/auditlog"
)

// kept is an audit log that takes whatever it is given.
type kept []core.AuditEntry

func (k *kept) AddAuditEntry(_ context.Context, d core.AuditEntry) error {
	*k = append(*k, d)
	return nil
}

func TestAnEntryThatCannotBeIsNotWrittenAndNothingIsDone(t *testing.T) {
	t.Parallel()
	var k kept
	log := auditlog.Log{Store: &k, Now: time.Now}
	done := 0
	do := func() error { done++; return nil }
	good := core.AuditEntry{Action: core.ActUserManage, Class: "cs101", Subject: "ann", Text: "a\x1b[0m\nb\xff"}
	require.NoError(t, log.Do(t.Context(), core.System(), good, do))
	require.Len(t, k, 1)
	require.Equal(t, "a [0m b\ufffd", k[0].Text)
	for name, change := range map[string]func(d *core.AuditEntry){
		"subject": func(d *core.AuditEntry) { d.Subject = "a\nb" },
		"long":    func(d *core.AuditEntry) { d.Subject = strings.Repeat("x", core.MaxSubject+1) },
		"class":   func(d *core.AuditEntry) { d.Class = "../a" },
		"action":  func(d *core.AuditEntry) { d.Action = "" },
	} {
		d := good
		change(&d)
		require.Error(t, log.Do(t.Context(), core.System(), d, do), name)
	}
	require.Len(t, k, 1)
	require.Equal(t, 1, done)
}
