package core

// HostNotes is what a vmfactory lets operators know of its host, beside counts.
type HostNotes struct {
	Broken    map[string]string // pool → why its VMs cannot be made there
	Fetching  map[string]string // pool → what is on its way there, before which none can
	Providers []ProviderNote    // in the order of their names
}

// ProviderNote is how one provider of VMs fares on a host.
type ProviderNote struct {
	Name     string      `json:"name"`
	Missing  string      `json:"missing,omitempty"`  // why it makes no VMs; "" if it can
	Since    int64       `json:"since_ms,omitempty"` // when that began, ms since 1970 by the host's clock
	Limits   []LimitNote `json:"limits,omitempty"`
	SelfTest *SelfTest   `json:"self_test,omitempty"` // nil: none was made
}

// LimitNote says what holds one limit on a host.
type LimitNote struct {
	Name   string `json:"name"`
	HeldBy string `json:"held_by,omitempty"` // "" if nothing does
	Note   string `json:"note,omitempty"`    // what is missing and how to mend it
	Weak   bool   `json:"weak,omitempty"`    // it can be outrun for a moment
}

// SelfTest is what became of attacks on a disposable VM, by which a host proves
// that a provider holds them before it takes work.
type SelfTest struct {
	At      int64       `json:"at_ms"`           // when, ms since 1970 by the host's clock
	TookMs  int64       `json:"took_ms"`         //
	Of      string      `json:"of"`              // what was tested: drover's version, the kernel's, the image
	Fault   string      `json:"fault,omitempty"` // why it could not be made to its end
	Attacks []SelfCheck `json:"attacks"`
}

// SelfCheck is one attack of a self-test.
type SelfCheck struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text,omitempty"` // what was seen, where it was not simply held
}

// Verdict is how an attack ended.
type Verdict string

// The verdicts, from the best to the worst.
const (
	VerdictHeld Verdict = "held"
	VerdictWeak Verdict = "weak" // held by what can be outrun, or not to be tried here
	VerdictFail Verdict = "failed"
)

// Verdict is the worst of all.
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

// Reason says in one sentence what was not held; "" if all was.
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
