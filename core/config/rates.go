package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// Bounds of a rate.
const (
	maxRateCount = 100_000
	maxRateTime  = 31 * 24 * time.Hour
	minRateEvery = time.Millisecond // Redis counts in them
)

// Rates returns the rates of kinds of task: their own, overridden by the settings. Returns INVALID for an unknown
// kind.
func (c *Config) Rates(own map[string]core.TaskRate) (map[string]core.TaskRate, error) {
	if slices.Equal(c.TaskRates, []string{RatesNone}) {
		return nil, nil
	}
	set, problems := parseRates(c.TaskRates)
	all := maps.Clone(own)
	for _, kind := range slices.Sorted(maps.Keys(set)) {
		if _, ok := own[kind]; !ok {
			problems = append(problems, fmt.Errorf("%q is no kind of task: there are %s", kind, strings.Join(slices.Sorted(maps.Keys(own)), ", ")))
		}
		all[kind] = set[kind]
	}
	for i, p := range problems {
		problems[i] = c.problem("task_rates", "%w", p)
	}
	maps.DeleteFunc(all, func(_ string, r core.TaskRate) bool { return r == core.TaskRate{} })
	return all, errors.Join(problems...)
}

func (c *Config) checkRates() error {
	_, problems := parseRates(c.TaskRates)
	for i, p := range problems {
		problems[i] = c.problem("task_rates", "%w", p)
	}
	return errors.Join(problems...)
}

// Submits returns how often a student may submit; zero for any number.
func (c *Config) Submits() core.Rate {
	rate, _ := parseSubmits(c.SubmitRate)
	return rate
}

func (c *Config) checkSubmits() error {
	if _, err := parseSubmits(c.SubmitRate); err != nil {
		return c.problem("submit_rate", "%w", err)
	}
	return nil
}

// parseSubmits reads N/TIME:burst=N.
func parseSubmits(text string) (core.Rate, error) {
	if text == RatesNone {
		return core.Rate{}, nil
	}
	r, err := parseRate(text)
	if err == nil && (r.Every == 0 || r.Most != 0) {
		err = fmt.Errorf("%q is not of the form N/TIME:burst=N, such as 60/1h:burst=20", text)
	}
	if err != nil {
		return core.Rate{}, err
	}
	return core.Rate{Every: r.Every, Burst: max(r.Burst, 1)}, nil
}

// parseRates reads words of the form KIND=N/TIME:burst=N:most=N.
func parseRates(words []string) (map[string]core.TaskRate, []error) {
	rates := map[string]core.TaskRate{}
	if slices.Equal(words, []string{RatesNone}) {
		return rates, nil
	}
	var problems []error
	for _, word := range words {
		kind, text, ok := strings.Cut(word, "=")
		_, twice := rates[kind]
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("%q is not of the form KIND=N/TIME:burst=N:most=N, such as rerun=1/30s", word))
			continue
		case twice:
			problems = append(problems, fmt.Errorf("%s is named twice", kind))
			continue
		}
		rate, err := parseRate(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", kind, err))
		}
		rates[kind] = rate
	}
	return rates, problems
}

// parseRate reads N/TIME:burst=N:most=N, each part optional, or none.
func parseRate(text string) (r core.TaskRate, err error) {
	if text == RatesNone {
		return r, nil
	}
	for part := range strings.SplitSeq(text, ":") {
		name, value, named := strings.Cut(part, "=")
		switch {
		case !named && r.Every == 0:
			r.Every, err = parseEvery(part)
		case named && name == "burst" && r.Burst == 0:
			r.Burst, err = parseCount(name, value)
		case named && name == "most" && r.Most == 0:
			r.Most, err = parseCount(name, value)
		default:
			err = fmt.Errorf("%q is there twice, or is neither N/TIME, burst=N nor most=N", part)
		}
		if err != nil {
			return core.TaskRate{}, err
		}
	}
	if r.Burst > 0 && r.Every == 0 {
		return core.TaskRate{}, errors.New("a burst needs a rate that it is a burst of, such as 1/30s:burst=5")
	}
	return r, nil
}

// parseEvery reads N/TIME and returns the time for each one of N.
func parseEvery(text string) (time.Duration, error) {
	count, span, ok := strings.Cut(text, "/")
	if !ok {
		return 0, fmt.Errorf("%q is no rate: write N/TIME, such as 1/30s or 20/1s", text)
	}
	n, err := parseCount("the number before the slash", count)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(span)
	if err != nil || d <= 0 || d > maxRateTime {
		return 0, fmt.Errorf("%q is no time of a rate: write one up to %s with its unit, such as 30s", span, maxRateTime)
	}
	if d /= time.Duration(n); d < minRateEvery {
		return 0, fmt.Errorf("%s is more than one for each %s", text, minRateEvery)
	}
	return d, nil
}

func parseCount(what, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxRateCount {
		return 0, fmt.Errorf("%s must be a whole number from 1 to %d, not %q", what, maxRateCount, text)
	}
	return n, nil
}
