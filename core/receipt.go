package core

// Receipt says by what, and in what surroundings, a result came about, beside its Image, Host and Attempt. What could not
// be read is empty.
type Receipt struct {
	Drover     string `json:"drover"`            // version of the testrunner's program
	Kernel     string `json:"kernel"`            // of the host
	CPU        string `json:"cpu"`               // model of the host's processors
	Processors int    `json:"processors"`        // of the host
	Harness    string `json:"harness,omitempty"` // digest; "" of a plain command
	Files      string `json:"files,omitempty"`   // digest of paths, modes and contents of the files; "" if there are none
	Limits     Limits `json:"limits"`            // of the whole run, as applied
	Network    string `json:"network,omitempty"` // what its VM could reach, as Pool.Network says; "" is not known
	Peer       bool   `json:"peer,omitempty"`    // its VM had a peer
	Noise      *Noise `json:"noise,omitempty"`   // nil if nothing ran

	BuildMs int64 `json:"build_ms,omitempty"` // of a grading by the stock harness: by the clock, until the first test could start
	AgainMs int64 `json:"again_ms,omitempty"` // of its processor time: of runs of tests that count for nothing, because the host was noisy
}

// Noise is what else happened on the host while a request ran there. A nil field was not measured.
type Noise struct {
	Ms      int64  `json:"ms"`            // for how long it was watched
	Waited  *int64 `json:"cpu_waited_ms"` // time in which some process of the host waited for a processor
	Stolen  *int64 `json:"stolen_ms"`     // time that the hypervisor took from the host's processors, of all together
	Running *int   `json:"running"`       // processes of the host that ran or waited for a processor at its end

	Others *int  `json:"others"`          // percent of the host's processors that others used
	Doubt  Doubt `json:"doubt,omitempty"` // why an exceeded limit of time may be owed to that; "" if there was little noise
}

// Decision says what decided the verdict of a test, and within which limits the test ran. Limits that are not known are 0.
type Decision struct {
	By        DecidedBy `json:"by"`
	TimeMs    int64     `json:"time_ms,omitempty"`    // limit of processor time
	WallMs    int64     `json:"wall_ms,omitempty"`    // limit by the clock
	LostMs    int64     `json:"lost_ms,omitempty"`    // by which that was put off: the run waited for processors that others used
	PartnerMs int64     `json:"partner_ms,omitempty"` // of lost_ms: its interactor waited for them
	Memory    int64     `json:"memory,omitempty"`     // limit, bytes
	Output    int64     `json:"output,omitempty"`     // limit of each stream, bytes
	Pids      int       `json:"pids,omitempty"`       // limit
}

// Checked says that the verdict of a test was in doubt, because of noise, and what was done about it. The last run counts.
type Checked struct {
	Because Doubt    `json:"because"`
	Verdict string   `json:"verdict,omitempty"`      // of the first run
	Usage   *Usage   `json:"usage,omitempty"`        // of the first run
	Others  int      `json:"others,omitempty"`       // percent of the host's processors that others used during the first run,
	Again   *int     `json:"others_again,omitempty"` // and during the last; nil if there was no other
	Runs    int      `json:"runs,omitempty"`         // how many there were after the first
	Left    LeftSuch `json:"left,omitempty"`         // why there was none
}

// Public is what the submitter may know: that a test was checked again, and why. What the first run used may tell about a
// hidden test. It returns nil if there was no second run.
func (c *Checked) Public() *Checked {
	if c.Again == nil {
		return nil
	}
	return &Checked{Because: c.Because}
}

// Doubt is why a verdict was in doubt.
type Doubt string

// The doubts.
const (
	DoubtBusy   Doubt = "busy"   // other programs used the host's processors
	DoubtStolen Doubt = "stolen" // the machine below the host took their time
	DoubtHot    Doubt = "hot"    // they were slowed down by heat
	DoubtClose  Doubt = "close"  // the program ended soon after its limit of processor time
)

// LeftSuch is why a test in doubt was not run again.
type LeftSuch string

// Why a test was not run again.
const (
	LeftSlow LeftSuch = "slow" // earlier tests of the submission came to the same verdict again, or took the time for it
	LeftHost LeftSuch = "host" // the host had used its share of time for it, or did not become quiet
)

// DecidedBy is what a verdict of a test follows from.
type DecidedBy string

// What decides: a limit, how the program ended, how its output compares, or what the rest of the grading came to.
const (
	ByTime     DecidedBy = "time"       // the limit of processor time
	ByClock    DecidedBy = "clock"      // the limit by the clock
	ByMemory   DecidedBy = "memory"     // the limit of memory
	ByPids     DecidedBy = "pids"       // the limit of processes
	ByOutput   DecidedBy = "output"     // the limit of output
	BySignal   DecidedBy = "signal"     // a signal ended it
	ByExit     DecidedBy = "exit code"  // its exit code
	ByStart    DecidedBy = "start"      // it could not be started
	ByEnd      DecidedBy = "end"        // it ended as it should; its output is not compared
	ByRoom     DecidedBy = "room"       // there was no room for its files
	ByWhole    DecidedBy = "whole"      // the time of the whole grading was up
	ByBuild    DecidedBy = "build"      // the submission could not be built
	ByNeed     DecidedBy = "need"       // tests that it needs were not passed
	ByExact    DecidedBy = "exact"      // its output, byte by byte
	ByTrimmed  DecidedBy = "trimmed"    // its output, but for white space at ends of lines
	ByTokens   DecidedBy = "tokens"     // its output, word by word
	ByFloat    DecidedBy = "float"      // its output, numbers within a tolerance
	ByRegex    DecidedBy = "regex"      // its output, by a pattern
	ByChecker  DecidedBy = "checker"    // the checker
	ByInteract DecidedBy = "interactor" // the interactor
)

// DecidedBys lists all that can decide.
func DecidedBys() []DecidedBy {
	return []DecidedBy{
		ByTime, ByClock, ByMemory, ByPids, ByOutput, BySignal, ByExit, ByStart, ByEnd, ByRoom, ByWhole, ByBuild, ByNeed,
		ByExact, ByTrimmed, ByTokens, ByFloat, ByRegex, ByChecker, ByInteract,
	}
}
