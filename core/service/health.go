package service

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Check returns nil if its subject works. It should return soon after ctx ends.
type Check func(ctx context.Context) error

// checkTimeout bounds one check.
const checkTimeout = 3 * time.Second

// CheckReport is one check as /healthz shows it.
type CheckReport struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	TookMs int64  `json:"took_ms"`
	Error  string `json:"error,omitempty"`
}

// HealthReport is the answer of /healthz.
type HealthReport struct {
	OK     bool          `json:"ok"`
	Checks []CheckReport `json:"checks"` // by name
}

// health answers /healthz.
type health []*probe

// probe runs one check, never twice at a time: a check that hangs costs one goroutine, however often it is requested.
type probe struct {
	name  string
	check Check
	free  chan struct{} // holds one token while the check may be called
}

// HealthHandler answers /healthz: 200 if all checks pass, else 503, and the checks as JSON.
func HealthHandler(checks map[string]Check) http.Handler {
	var h health
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		p := &probe{name: name, check: checks[name], free: make(chan struct{}, 1)}
		p.free <- struct{}{}
		h = append(h, p)
	}
	return h
}

// ServeHTTP runs all checks at once and reports.
func (h health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	reports := make([]chan CheckReport, len(h))
	for i, p := range h {
		reports[i] = make(chan CheckReport, 1)
		go func() { reports[i] <- p.report(ctx) }()
	}
	report, status := HealthReport{OK: true, Checks: []CheckReport{}}, http.StatusOK
	for _, c := range reports {
		r := <-c
		report.Checks = append(report.Checks, r)
		if !r.OK {
			report.OK, status = false, http.StatusServiceUnavailable
		}
	}
	writeJSON(w, status, report)
}

// report calls the check and waits for it until ctx ends.
func (p *probe) report(ctx context.Context) CheckReport {
	start := time.Now()
	err := p.call(ctx)
	r := CheckReport{Name: p.name, OK: err == nil, TookMs: time.Since(start).Milliseconds()}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (p *probe) call(ctx context.Context) error {
	select {
	case <-p.free:
	case <-ctx.Done():
		return fmt.Errorf("an earlier call of the check has not returned: %w", ctx.Err())
	}
	answer := make(chan error, 1)
	go func() {
		defer func() { p.free <- struct{}{} }()
		defer func() {
			if r := recover(); r != nil {
				answer <- fmt.Errorf("the check panicked: %v", r)
			}
		}()
		answer <- p.check(ctx)
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer within %s: %w", checkTimeout, ctx.Err())
	}
}
