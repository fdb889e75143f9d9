package explain

import (
	"maps"
	"slices"

	"drover/core"
)

// The sentences about attempts and the whole run.
const (
	sayFaultOf    = "An earlier attempt, of %s, ended without a result and counts for nothing"
	sayFault      = "An earlier attempt ended without a result and counts for nothing"
	sayAttempt    = "This is the result of attempt %d: faults of the platform ended those before it"
	sayGeneration = "Somebody had it run again: this is run %d"

	sayUnfinished = "It has not ended yet"
	sayCancelled  = "It was cancelled, so there is no verdict"
	sayDead       = "It is not run again, because of what became of its attempts; nobody's program is blamed"
	sayPlatform   = "The platform failed, so there is no verdict"
	sayWaited     = "It waited for longer than it may, and was not run"
	sayHarness    = "The grading program failed, so there is no verdict; the submission is not to blame"
	sayRefused    = "The grading program refused to grade it"
	sayUnstarted  = "The command could not be started"
	saySignal     = "The signal %s ended the command"
	sayExit       = "The command ended by itself, with exit code %d"
	sayHidden     = "What its tests found is for the staff of its class"

	sayWholeTimeOf   = "The whole run took %s by the clock; its limit is %s. It computed for %s"
	sayWholeTime     = "The whole run took longer than its time limit"
	sayWholeMemoryOf = "The whole run needed more memory than its limit of %s; %s were counted"
	sayWholeMemory   = "The whole run needed more memory than its limit"
	sayWholePidsOf   = "The whole run started more processes than its limit of %d"
	sayWholePids     = "The whole run started more processes than its limit"
	sayWholeOutputOf = "The whole run printed more than its limit of %s"
	sayWholeOutput   = "The whole run printed more than its limit"
	sayWholeOther    = "The whole run went over its limit: %s"

	sayNoScore  = "The grading program gave no score"
	saySum      = "The score is the sum of the tests' points: %s of %s"
	sayScore    = "The grading program gave a score of %s, without a maximum"
	sayScoreOf  = "The grading program gave a score of %s of %s"
	sayOtherSum = "The score is %s of %s; the points shown with its tests add up to %s of %s, because a group's points count as a whole or the grading program says so"

	sayBusy       = "The host was busy: in %s of the %s that it ran, some process waited for a processor"
	sayStolen     = "The machine below the host took %s of processor time from it while it ran"
	sayUnmeasured = "How busy the host was is not known: its kernel does not measure it"
)

// The sentences about tests.
const (
	sayTime   = "Test %s computed for %s, and its limit of processor time is %s: %s"
	sayClock  = "Test %s took %s by the clock, where its limit is %s, and computed for %s of it: %s"
	sayMemory = "Test %s needed more memory than its limit of %s; %s were counted: %s"
	sayPids   = "Test %s started more processes than its limit of %d: %s"
	sayOutput = "Test %s printed more than its limit of %s: %s"

	sayBuild      = "The submission could not be built"
	sayOwn        = "The grading program gave test %s %s of %s points"
	sayOwnVerdict = "The grading program judged test %s: %s, %s of %s points"
	sayDecided    = "Test %s: %s"
	sayMore       = "and %d more tests"
	sayOthersFine = "Tests passed: %d"
	sayLost       = "Test %s lost time to others on the host: its limit of %s by the clock did not count %s of it"
	sayPartner    = "The interactor of test %s lost time to others on the host: the test's limit of %s by the clock did not count %s of it"
	sayClose      = "Of those passed, %s came closest to its limit: it computed for %s of %s"
)

// The sentences about tests that were in doubt, by why they were, and by why they were not run again.
var (
	doubted = map[core.Doubt]string{
		core.DoubtBusy:   "Test %s was checked again, because other programs used %d %% of the host's processors while it ran: the first run computed for %s, and its verdict was: %s",
		core.DoubtStolen: "Test %s was checked again, because the machine below the host took processor time from it while it ran; others used %d %%. The first run computed for %s, and its verdict was: %s",
		core.DoubtHot:    "Test %s was checked again, because heat slowed the host's processors down while it ran; others used %d %%. The first run computed for %s, and its verdict was: %s",
		core.DoubtClose:  "Test %s was checked again, because it was over its limit of processor time by a tenth at most; others used %d %% of the host's processors. The first run computed for %s, and its verdict was: %s",
	}
	undecided = map[core.LeftSuch]string{
		core.LeftSlow: "Test %s was not checked again, although its verdict was in doubt; others used %d %% of the host's processors: tests before it came to the same verdict again, or took the time for it",
		core.LeftHost: "Test %s was not checked again, although its verdict was in doubt; others used %d %% of the host's processors: the host had used its share of time for that, or did not become quiet",
	}
)

// owed are the sentences about an exceeded limit of time that nobody checked again.
var owed = map[core.Doubt]string{
	core.DoubtBusy:   "A limit of time was exceeded while others used %d %% of the host's processors. Run again as it was, it may end otherwise",
	core.DoubtStolen: "A limit of time was exceeded while the machine below the host took processor time from it; others used %d %%. Run again as it was, it may end otherwise",
	core.DoubtHot:    "A limit of time was exceeded while heat slowed the host's processors down; others used %d %%. Run again as it was, it may end otherwise",
}

const (
	sayAgain = "In the second run of test %s others used %d %% of the host's processors; the verdict is that run's"
	sayLast  = "Test %s was run %d times more, until a run was in no doubt or it had run often enough. In the last others used %d %% of the host's processors; the verdict is that run's"
)

// decided are the sentences about a test that was not passed, by what decided it.
var decided = map[core.DecidedBy]string{
	core.BySignal:   "Test %s was ended by a signal: %s",
	core.ByExit:     "Test %s is judged by the exit code of the program: %s",
	core.ByStart:    "Test %s could not be started: %s",
	core.ByEnd:      "Test %s ended as it should, and its output is not compared: %s",
	core.ByRoom:     "Test %s had no room for its files: %s",
	core.ByWhole:    "Test %s: the time of the whole grading was up: %s",
	core.ByBuild:    "Test %s was not run, because the submission could not be built: %s",
	core.ByNeed:     "Test %s was not run, because of the result of earlier tests: %s",
	core.ByExact:    "The output of test %s is compared byte by byte: %s",
	core.ByTrimmed:  "The output of test %s is compared line by line, white space at ends of lines ignored: %s",
	core.ByTokens:   "The output of test %s is compared word by word: %s",
	core.ByFloat:    "The output of test %s is compared word by word, numbers within a tolerance: %s",
	core.ByRegex:    "The output of test %s is compared with a pattern: %s",
	core.ByChecker:  "The checker judged the output of test %s: %s",
	core.ByInteract: "The interactor judged test %s: %s",
}

// limits are decided by sentences with numbers of their own.
var limits = map[core.DecidedBy]string{
	core.ByTime: sayTime, core.ByClock: sayClock, core.ByMemory: sayMemory, core.ByPids: sayPids, core.ByOutput: sayOutput,
}

// passes are the sentences about tests that were passed, by what decided them.
var passes = map[core.DecidedBy]string{
	core.ByEnd:      "Tests that ended as they should: %d. Their output is not compared",
	core.ByExact:    "Tests whose output is right byte by byte: %d",
	core.ByTrimmed:  "Tests whose output is right, white space at ends of lines ignored: %d",
	core.ByTokens:   "Tests whose output is right word by word: %d",
	core.ByFloat:    "Tests whose output is right, numbers within a tolerance: %d",
	core.ByRegex:    "Tests whose output fits the pattern: %d",
	core.ByChecker:  "Tests that the checker accepted: %d",
	core.ByInteract: "Tests that the interactor accepted: %d",
}

// Sentences returns all sentences, for their translation.
func Sentences() []string {
	all := []string{
		sayFaultOf, sayFault, sayAttempt, sayGeneration, sayUnfinished, sayCancelled, sayDead, sayPlatform, sayWaited, sayHarness, sayRefused,
		sayUnstarted, saySignal, sayExit, sayHidden, sayWholeTimeOf, sayWholeTime, sayWholeMemoryOf, sayWholeMemory, sayWholePidsOf,
		sayWholePids, sayWholeOutputOf, sayWholeOutput, sayWholeOther, sayNoScore, saySum, sayScore, sayScoreOf, sayOtherSum, sayBusy,
		sayStolen, sayUnmeasured, sayAgain, sayLast, sayBuild, sayOwn, sayOwnVerdict, sayDecided, sayMore, sayOthersFine, sayLost, sayPartner, sayClose,
	}
	for _, group := range []map[core.DecidedBy]string{decided, limits, passes} {
		all = slices.AppendSeq(all, maps.Values(group))
	}
	all = slices.AppendSeq(all, maps.Values(doubted))
	all = slices.AppendSeq(all, maps.Values(owed))
	return slices.AppendSeq(all, maps.Values(undecided))
}
