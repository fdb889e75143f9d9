package redisstore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

// rules are those that interleavings force, and the tests that attack each: a folder of the
// repository and the test's name. TestModel plays them all against one another.
var rules = []struct {
	rule  string
	tests []string
}{
	{"1 the result store is the ledger", []string{"core/redisstore TestModel", "core/intake TestCrashInSubmit", "core/intake TestSweepAfterTotalLoss", "core/intake TestSweepReadsTwice"}},
	{"2 who reaps asks the store after fencing; a rerun is a new generation", []string{"core/recovery TestResultOfTheLastBreathCounts", "core/recovery TestCrashAfterEveryStep", "core/intake TestRerun"}},
	{"3 a VM serves one assignment", []string{"core/redisstore TestModel", "core/redisstore TestNothingIsClaimedBeforeReconciling", "core/redisstore TestReconcile", "core/guest TestAssignmentRace", "vmfactory TestAnotherIncarnationDuringALook"}},
	{"4 a lost reply strands nothing", []string{"core/redisstore TestModel", "core/redisstore TestLanes", "core/redisstore TestLateCopyOfAnEmptyCallTakesNothing", "core/claims TestLostReplyStrandsNothing", "core/claims TestStrangeSlotIsReleased", "core/claims TestFinishGoesThroughAfterItsContextEnded"}},
	{"5 a verdict per item", []string{"core/redisstore TestModel", "core/redisstore TestFinishVerdictPerItem", "core/redisstore TestEnqueueVerdictPerItem", "core/claims TestVerdictPerItem"}},
	{"6 a fenced owner cannot come back by a proof of life", []string{"core/redisstore TestModel", "core/redisstore TestAFencedOwnerCannotBeatBack", "core/redisstore TestBury", "core/claims TestFencedWhileWorkRuns"}},
	{"7 lateness: from the start of Redis, and a grace for most", []string{"core/redisstore TestNobodyIsLateFromBeforeRedisBegan", "core/redisstore TestMassLatenessGetsAGrace", "core/redisstore TestJudgeWaitsWhileMostAreLate", "core/redisstore TestJudgeCountsFromRedisStart"}},
	{"8 a host is down when all its owners are late", []string{"core/redisstore TestModel", "core/redisstore TestOneLiveOwnerKeepsAHost", "overseer TestALostHostIsTakenDown"}},
	{"9 a full Redis does not kill the herd", []string{"core/redisstore TestAFullRedisDoesNotKillTheHerd", "core/redisstore TestHealingPassesWhenFull", "core/redisstore TestEnqueueRefusesWhatIsTooMuch", "core/intake TestFull"}},
	{"10 a cancel has a place that all read", []string{"core/redisstore TestModel", "core/redisstore TestCancelIsSeenByAll", "core/redisstore TestWhereverItWaitsItCanBeWithdrawn", "core/redisstore TestCancelOfWhatIsParkedReachesItsClaim", "core/intake TestClaimDuringCancelHearsOfIt"}},
	{"11 one way into a queue and one out", []string{"core/redisstore TestModel", "core/redisstore TestStaleTurnsAreSkipped", "core/redisstore TestTurnsInBatches"}},
	{"12 what makes a pair possible rings", []string{"core/redisstore TestWhatMakesAPairPossibleRings", "core/redisstore TestBellsRingOnce", "core/redisstore TestTheRingGoesToWhoCanUseIt", "core/redisstore TestWhatIsParkedRings", "core/redisstore TestAHostOnProbationIsNotWoken", "core/claims TestBellsAloneBringWork"}},
	{"13 a VM becomes clean once", []string{"core/redisstore TestModel", "core/redisstore TestAVMIsCleanOnce", "vmfactory TestAHealthCheckLeavesClaimedVMsAlone"}},
	{"14 one vmfactory a host", []string{"core/redisstore TestRegisterRefuses", "vmfactory TestOneFactoryAHost", "vmfactory TestEvictingAFrozenFactory"}},
	{"15 drain is a flag that each claim reads", []string{"core/redisstore TestModel", "core/redisstore TestDrainAndPauseStopClaims", "core/redisstore TestDownFencesAllOfTheHost", "core/redisstore TestADrainedHostTakesNoTasks"}},
	{"16 live output is kept by claim", []string{"core/redisstore TestOutput", "testrunner TestLiveOutputOfAnAttemptThatFailed"}},
	{"17 the target follows what waits; runners rotate among pools", []string{"vmfactory TestPlan", "vmfactory TestIdleVMsGiveWay", "core/claims TestRotatesAmongPools"}},
	{"18 a host is forgotten after fencing only; what will not die is set aside", []string{"core/redisstore TestModel", "core/redisstore TestForgetHost", "core/redisstore TestAFailedHostIsForgotten", "vmfactory TestAVMThatWillNotDieIsSetAside"}},
	{"19 what ended leaves a tombstone; each structure is trimmed", []string{"core/redisstore TestModel", "core/redisstore TestTombstonesAndTrim", "core/redisstore TestEventsAreCapped", "core/redisstore TestOutputIsBounded"}},
	{"20 another schema may not join", []string{"core/redisstore TestSchemasDoNotMix"}},
	{"21 braces keep a herd on one shard", []string{"core/redisstore TestAHerdInBraces", "core/redisstore TestKeys"}},
}

func TestEachRuleIsAttacked(t *testing.T) {
	t.Parallel()
	require.Len(t, rules, 21)
	for _, r := range rules {
		require.NotEmpty(t, r.tests, r.rule)
		for _, test := range r.tests {
			folder, name, _ := strings.Cut(test, " ")
			require.True(t, hasTest(t, folder, name), "rule %s is attacked by %s, which is not in %s", r.rule, name, folder)
		}
	}
}

// hasTest says whether a folder of the repository has the test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	begins := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(t \*testing\.T\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if begins.Match(text) {
			return true
		}
	}
	return false
}

// Rule 21: in a namespace in braces every key has them, so that a Cluster keeps all on one
// shard, and everything works, also the audit, whose patterns meet the braces.
func TestAHerdInBraces(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t)
	b.Namespace = "{" + b.Namespace + "}"
	b.Mini.SetTime(start)
	x := &suite{Herd: coretest.NewHerd(t, b.Open(t), "h1", "p1"), b: b}
	one := x.claim(t, 1, "a")
	x.claim(t, 2, "b")
	x.Exchange(t, 3, 0, end(one, core.OutcomeDone))
	x.Submit(t, coretest.Spec("c", "p1", "ann"))
	require.NoError(t, x.Store.Append(t.Context(), one.Key, one.Token, []core.OutputChunk{{Stream: "stdout", Data: []byte("x")}}))
	keys, err := b.Admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Greater(t, len(keys), 15)
	for _, key := range keys {
		require.True(t, strings.HasPrefix(key, b.Namespace+":"), key)
	}
	coretest.RequireSound(t, x.Store)
	require.NoError(t, b.Admin.HSet(t.Context(), x.key("attempts"), "nobody", "1").Err())
	found, err := x.Store.Audit(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1, "the audit reads what is in braces")
}
