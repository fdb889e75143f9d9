package core

// HostNotes is what a vmfactory reports to operators about its host, besides counts.
type HostNotes struct {
	Broken    map[string]string // pool → why its VMs cannot be made there
	Fetching  map[string]string // pool → what is being fetched for it; until then none of its VMs can be made there
	Providers []ProviderNote    // in order of name
	Serves    []string          // pools whose VMs it makes, in order
	MaxVMs    int               // most VMs of all pools; 0: no limit
	Takes     map[string]int64  // pool → ms that making one of its VMs took of late
}

// ProviderNote is the state of one provider of VMs on a host.
type ProviderNote struct {
	Name     string      `json:"name"`
	Missing  string      `json:"missing,omitempty"`  // why it makes no VMs; "" if it can
	Since    int64       `json:"since_ms,omitempty"` // since when, ms since 1970 by the host's clock
	Limits   []LimitNote `json:"limits,omitempty"`
	SelfTest *SelfTest   `json:"self_test,omitempty"` // nil: no self-test was made
}

// LimitNote says what enforces one limit on a host.
type LimitNote struct {
	Name   string `json:"name"`
	HeldBy string `json:"held_by,omitempty"` // "" if nothing does
	Note   string `json:"note,omitempty"`    // what is missing and how to mend it
	Weak   bool   `json:"weak,omitempty"`    // a program can exceed it for a moment
}

// SelfTest is the result of attacks on a disposable VM, by which a host proves that a provider withstands them before
// the host takes work.
type SelfTest struct {
	At      int64       `json:"at_ms"`           // when, ms since 1970 by the host's clock
	TookMs  int64       `json:"took_ms"`         //
	Of      string      `json:"of"`              // what was tested: the versions of drover and the kernel, and the image
	Fault   string      `json:"fault,omitempty"` // why it could not be completed
	Attacks []SelfCheck `json:"attacks"`
}

// SelfCheck is one attack of a self-test.
type SelfCheck struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text,omitempty"` // what was observed, unless the attack was simply withstood
}

// Verdict is how an attack ended.
type Verdict string

// The verdicts, from the best to the worst.
const (
	VerdictHeld Verdict = "held"
	VerdictWeak Verdict = "weak" // withstood for the most part, or could not be tried here
	VerdictFail Verdict = "failed"
)

// Verdict is the worst verdict of all checks.
func (s SelfTest) Verdict() Verdict {
	worst := VerdictHeld
	if s.Fault != "" {
		worst = VerdictFail
	}
	for _, a := range s.Attacks {
		switch {
		case a.Verdict == VerdictFail:
			worst = VerdictFail
		case a.Verdict == VerdictWeak && worst == VerdictHeld:
			worst = VerdictWeak
		}
	}
	return worst
}

// Reason says in one sentence which attacks succeeded; "" if none did.
func (s SelfTest) Reason() string {
	if s.Fault != "" {
		return s.Fault
	}
	for _, want := range []Verdict{VerdictFail, VerdictWeak} {
		for _, a := range s.Attacks {
			if a.Verdict == want {
				return a.Name + ": " + a.Text
			}
		}
	}
	return ""
}
