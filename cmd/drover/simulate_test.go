package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The whole report of four requests on one host: two find its warm VMs, one waits for the next, one comes later.
func TestTheReportOfATinyTrace(t *testing.T) {
	t.Parallel()
	const trace = `{"at_ms":0,"pool":"p","submitter":"ann","run_ms":1000}
{"at_ms":0,"pool":"p","submitter":"ann","run_ms":1000}
{"at_ms":0,"pool":"p","priority":"high","submitter":"bob","run_ms":500,"due_ms":2000}
{"at_ms":9000,"pool":"p","submitter":"ann","run_ms":1000,"due_ms":9500}
`
	const want = `                                      AS SET
 requests                             4
 hosts                                1
 lasts                                10s
 found a clean VM at once             75.0 %
 cold starts                          1
 wait p50                             0s
 wait p95                             2s
 wait p99                             2s
 longest wait                         2s
 ended after they were due            2
 VMs made                             5
 VM-hours warm                        0.0
 VM-hours in the making               0.0
 VM-hours busy                        0.0
 VMs used, of their time              14.9 %
 slots used                           4.4 %
 memory taken by VMs                  3.7 %
 submitters                           2
 fairness (Jain's index)              0.692
 p95 wait of the worst off submitter  2s
 p95 wait of the middle one           0s

waits, as set
 OF                REQUESTS  COLD STARTS  WAIT P50  P95  P99  LONGEST
 pool      p              4            1  0s        2s   2s   2s
 priority  high           1            1  2s        2s   2s   2s
 priority  normal         3            0  0s        0s   0s   0s
 who sent  1 to 9         4            1  0s        2s   2s   2s
`
	var got, errs strings.Builder
	code := typeIn(context.Background(), []string{"drover", "simulate", "-", "--hosts", "1"}, strings.NewReader(trace), &got, &errs)
	require.Zero(t, code, errs.String())
	require.Equal(t, want, got.String())
}
