package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestRates(t *testing.T) {
	t.Parallel()
	c := Config{TaskRates: []string{"rerun=1/30s", "webhook=20/1s:burst=5:most=8", "archive=most=2"}}
	require.NoError(t, c.checkRates())
	own := map[string]core.TaskRate{"archive": {Most: 3}, "purge": {Most: 1}, "rerun": {}, "webhook": {Burst: 9, Every: 1}}
	rates, err := c.Rates(own)
	require.NoError(t, err)
	require.Equal(t, map[string]core.TaskRate{
		"rerun": {Every: 30 * time.Second}, "webhook": {Every: 50 * time.Millisecond, Burst: 5, Most: 8}, "archive": {Most: 2}, "purge": {Most: 1},
	}, rates)
	c.TaskRates = []string{"archive=none"}
	rates, err = c.Rates(own)
	require.NoError(t, err)
	require.Equal(t, map[string]core.TaskRate{"purge": {Most: 1}, "webhook": {Burst: 9, Every: 1}}, rates)
	c.TaskRates = []string{RatesNone}
	require.NoError(t, c.checkRates())
	rates, err = c.Rates(own)
	require.NoError(t, err)
	require.Empty(t, rates)
	for _, word := range []string{"wash=1/30s", "webhook = 20/1s:most = 8"} {
		c.TaskRates = []string{word}
		_, err = c.Rates(own)
		require.ErrorContains(t, err, "is no kind of task: there are archive, purge, rerun, webhook")
		require.ErrorContains(t, err, "task_rates")
	}
}

func TestRatesThatCannotBe(t *testing.T) {
	t.Parallel()
	for word, part := range map[string]string{
		"rerun":                    "not of the form KIND=",
		"":                         "not of the form KIND=",
		"none":                     "not of the form KIND=", // not alone
		"rerun=":                   "is no rate",
		"rerun=1":                  "write N/TIME",
		"rerun=x/30s":              "the number before the slash must be a whole number",
		"rerun=0/30s":              "must be a whole number from 1",
		"rerun=1/30":               `"30" is no time of a rate`,
		"rerun=1/-3s":              "is no time of a rate",
		"rerun=1/9999h":            "is no time of a rate",
		"rerun=2000/1s":            "more than one for each 1ms",
		"rerun=1/30s:burst=0":      "burst must be a whole number",
		"rerun=most=9999999":       "most must be a whole number",
		"rerun=burst=5":            "a burst needs a rate",
		"rerun=1/30s:1/10s":        "is there twice",
		"rerun=most=1:most=2":      "is there twice",
		"rerun=1/30s:least=2":      "neither N/TIME, burst=N nor most=N",
		"archive=most=1":           "archive is named twice",
		"rerun=1/30s:burst=5:":     "is there twice",
		"webhook = 20/1s:most = 8": "the number before the slash",
	} {
		c := Config{TaskRates: []string{"archive=most=2", word}}
		require.ErrorContains(t, c.checkRates(), part, word)
		require.ErrorContains(t, c.checkRates(), "task_rates", word)
	}
}

func TestHowOftenAStudentMaySubmit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]core.Rate{
		"60/1h:burst=20": {Every: time.Minute, Burst: 20}, "1/30s": {Every: 30 * time.Second, Burst: 1}, RatesNone: {},
	} {
		c := Config{SubmitRate: text}
		require.NoError(t, c.checkSubmits(), text)
		require.Equal(t, want, c.Submits(), text)
	}
	for _, text := range []string{"", "60", "most=2", "60/1h:most=2", "burst=2", "0/1h"} {
		c := Config{SubmitRate: text}
		require.ErrorContains(t, c.checkSubmits(), "submit_rate", text)
	}
}
