package redisstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// rules are those that interleavings force, and the tests that attack each: a folder of the
// repository and the test's name, and tests on real processes, which are in cmd/drover.
// TestModel plays them all against one another.
var rules = []struct {
	rule      string
	tests     []string
	processes []string
}{
	{"1 the result store is the ledger", []string{"core/redisstore TestModel", "core/requests/intake TestCrashInSubmit", "core/requests/intake TestSweepAfterTotalLoss", "core/requests/intake TestSweepReadsTwice"}, []string{"TestRedisWipedWhileClaimsAreInFlight", "TestASubmitThatReachesRedisAfterTheEnd", "TestASupersedeThatDiesInTheMiddle"}},
	{"2 who reaps asks the store after fencing; a rerun is a new generation", []string{"core/cluster/recovery TestResultOfTheLastBreathCounts", "core/cluster/recovery TestCrashAfterEveryStep", "core/requests/intake TestRerun"}, []string{"TestARunnerThatFreezesBetweenRecordAndFinish", "TestThreeOverseersEvacuateAHostOnce"}},
	{"3 a VM serves one assignment", []string{"core/redisstore TestModel", "core/redisstore TestNothingIsClaimedBeforeReconciling", "core/redisstore TestReconcile", "core/agent TestAssignmentRace", "vmfactory TestAnotherIncarnationDuringALook"}, []string{"TestRedisWipedWhileClaimsAreInFlight", "TestChecksAndClaimsShareNoVM"}},
	{"4 a lost reply strands nothing", []string{"core/redisstore TestModel", "core/redisstore TestLanes", "core/redisstore TestLateCopyOfAnEmptyCallTakesNothing", "core/worker TestLostReplyStrandsNothing", "core/worker TestStrangeSlotIsReleased", "core/worker TestFinishGoesThroughAfterItsContextEnded"}, []string{"TestLostAnswersStrandNothing"}},
	{"5 a verdict per item", []string{"core/redisstore TestModel", "core/redisstore TestFinishVerdictPerItem", "core/redisstore TestEnqueueVerdictPerItem", "core/worker TestVerdictPerItem"}, []string{"TestOneStaleFinishHoldsNoOtherBack"}},
	{"6 a fenced owner cannot come back by a heartbeat", []string{"core/redisstore TestModel", "core/redisstore TestAFencedOwnerCannotBeatBack", "core/worker TestFencedWhileWorkRuns"}, []string{"TestAZombieThatWakes"}},
	{"7 lateness: from the start of Redis, and a grace for most", []string{"core/redisstore TestNobodyIsLateFromBeforeRedisBegan", "core/redisstore TestMassLatenessGetsAGrace", "core/redisstore TestJudgeWaitsWhileMostAreLate", "core/redisstore TestJudgeCountsFromRedisStart"}, []string{"TestARedisThatIsSilentFencesNobody"}},
	{"8 a host is down when all its owners are late", []string{"core/redisstore TestModel", "core/redisstore TestOneLiveOwnerKeepsAHost", "overseer TestALostHostIsTakenDown"}, []string{"TestAHostIsDownWhenAllItsOwnersAreLate"}},
	{"9 a full Redis does not kill the cluster", []string{"core/redisstore TestAFullRedisDoesNotKillTheCluster", "core/redisstore TestEveryScriptWhileRedisIsFull", "core/redisstore TestEnqueueRefusesWhatIsTooMuch", "core/requests/intake TestFull"}, []string{"TestAFullRedisKillsNothing"}},
	{"10 a cancel has a place that all read", []string{"core/redisstore TestModel", "core/redisstore TestCancelIsSeenByAll", "core/requests/intake TestClaimDuringCancelHearsOfIt"}, []string{"TestACancelIsHeardInEveryPlace"}},
	{"11 one way into a queue and one out", []string{"core/redisstore TestModel", "core/redisstore TestStaleTurnsAreSkipped", "core/redisstore TestTurnsInBatches"}, []string{"TestStaleTurnsHoldNobodyUp", "TestThreeOverseersEvacuateAHostOnce"}},
	{"12 what makes a pair possible rings", []string{"core/redisstore TestWhatMakesAPairPossibleRings", "core/redisstore TestBellsRingOnce", "core/redisstore TestTheRingGoesToWhoCanUseIt", "core/worker TestBellsAloneBringWork"}, []string{"TestBellsAloneBringWork", "TestBellsThatLieChangeNothing"}},
	{"13 a VM becomes clean once", []string{"core/redisstore TestModel", "core/redisstore TestAVMIsCleanOnce", "vmfactory TestAHealthCheckLeavesClaimedVMsAlone"}, []string{"TestChecksAndClaimsShareNoVM", "TestLostAnswersStrandNothing"}},
	{"14 one vmfactory a host", []string{"core/redisstore TestRegisterRefuses", "vmfactory TestOneFactoryAHost", "vmfactory TestEvictingAFrozenFactory"}, []string{"TestOneVMFactoryWorksOnAHost"}},
	{"15 drain is a flag that each claim reads", []string{"core/redisstore TestModel", "core/redisstore TestDrainAndPauseStopClaims", "core/redisstore TestDownFencesAllOfTheHost", "core/redisstore TestADrainedHostTakesNoTasks"}, []string{"TestADrainedHostThatDiesComesBackDrained"}},
	{"16 live output is kept by claim", []string{"core/redisstore TestOutput", "testrunner TestLiveOutputOfAnAttemptThatFailed"}, []string{"TestAZombieThatWakes"}},
	{"17 the target follows what waits; runners rotate among pools", []string{"vmfactory TestPlan", "vmfactory TestIdleVMsGiveWay", "core/worker TestRotatesAmongPools"}, []string{"TestRoomFollowsTheWork"}},
	{"18 a host is forgotten after fencing only; what will not die is quarantined", []string{"core/redisstore TestModel", "core/redisstore TestForgetHost", "vmfactory TestAVMThatWillNotDieIsQuarantined"}, []string{"TestThreeOverseersEvacuateAHostOnce", "TestAVMThatCannotBeDestroyedIsQuarantined"}},
	{"19 what ended leaves a tombstone; each structure is trimmed", []string{"core/redisstore TestModel", "core/redisstore TestTombstonesAndTrim", "core/redisstore TestEventsAreCapped", "core/redisstore TestOutputIsBounded"}, []string{"TestASubmitThatReachesRedisAfterTheEnd"}},
	{"20 another schema may not join", []string{"core/redisstore TestSchemasDoNotMix"}, []string{"TestAnotherSchemaMayNotJoin"}},
}

func TestEachRuleIsAttacked(t *testing.T) {
	t.Parallel()
	require.Len(t, rules, 20)
	for _, r := range rules {
		require.NotEmpty(t, r.tests, r.rule)
		require.NotEmpty(t, r.processes, "rule %s is not attacked on real processes", r.rule)
		number, _, _ := strings.Cut(r.rule, " ")
		for _, test := range r.processes {
			require.True(t, hasTest(t, "cmd/drover", test), "rule %s is attacked by %s, which is not in cmd/drover", r.rule, test)
			require.Contains(t, numbersOf(t, "cmd/drover", test), number, "%s does not say that it attacks rule %s", test, r.rule)
		}
		for _, test := range r.tests {
			folder, name, _ := strings.Cut(test, " ")
			require.True(t, hasTest(t, folder, name), "rule %s is attacked by %s, which is not in %s", r.rule, name, folder)
		}
	}
}

// hasTest says whether a folder of the repository has the test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	return commentOf(t, folder, name) != nil
}

// testsOf is the text of a folder's tests, read once.
var testsOf sync.Map

func textOf(t *testing.T, folder string) []byte {
	t.Helper()
	if text, known := testsOf.Load(folder); known {
		return text.([]byte)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all = append(append(all, '\n'), text...)
	}
	testsOf.Store(folder, all)
	return all
}

// commentOf returns the lines of a test's comment and its first; nil if there is no such test.
func commentOf(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, first := textOf(t, folder), "\nfunc "+name+"(t *testing.T)"
	at := bytes.Index(text, []byte(first))
	if at < 0 {
		return nil
	}
	begin := at
	for begin > 0 {
		line := bytes.LastIndexByte(text[:begin], '\n')
		if !bytes.HasPrefix(text[line+1:begin], []byte("//")) {
			break
		}
		begin = line
	}
	return text[begin+1 : at+len(first)]
}

var (
	ruleList   = regexp.MustCompile(`^// Rules? ([0-9, and\n/]+)`)
	ruleNumber = regexp.MustCompile(`[0-9]+`)
)

// numbersOf returns the rules that a test's comment begins with.
func numbersOf(t *testing.T, folder, name string) []string {
	t.Helper()
	list := ruleList.FindSubmatch(commentOf(t, folder, name))
	require.NotNil(t, list, "%s does not begin with the rules that it attacks", name)
	return ruleNumber.FindAllString(string(list[1]), -1)
}
