package cloud

import "encoding/json"

// Protocol is the version of what drover and an operator's program say to each other, which docs/elastic.md describes.
// Each side refuses what the other says by a version that it does not speak.
const Protocol = 1

// What is asked of a program.
const (
	OpCreate    = "create"
	OpTerminate = "terminate"
	OpList      = "list"
)

// Ask is what a program reads on stdin.
type Ask struct {
	Protocol    int             `json:"protocol"`
	Op          string          `json:"op"`
	Cluster     string          `json:"cluster"`
	Group       string          `json:"group"`
	Spot        bool            `json:"spot"`
	Settings    json.RawMessage `json:"settings,omitempty"` // of the profile, as they are
	Instance    string          `json:"instance,omitempty"`
	Machine     string          `json:"machine,omitempty"`      // of terminate, if its name is known
	ClientToken string          `json:"client_token,omitempty"` // of create: the same for all calls for one machine, and for no other
	Type        string          `json:"type,omitempty"`
	Labels      string          `json:"labels,omitempty"`
	Secret      string          `json:"secret,omitempty"`
	UserData    string          `json:"user_data,omitempty"`
}

// Answer is the first object that a program prints. That of list prints a core.Machine for each machine after it.
type Answer struct {
	Protocol int    `json:"protocol"`
	Machine  string `json:"machine,omitempty"` // of create
}

// Exit statuses of programs, as sysexits.h has them.
const (
	ExitUsage     = 64 // EX_USAGE: no such op
	ExitInput     = 65 // EX_DATAERR: the order or the settings are wrong
	ExitFull      = 69 // EX_UNAVAILABLE: no capacity, or a quota is reached
	ExitAgain     = 75 // EX_TEMPFAIL, as any other
	ExitProtocol  = 76 // EX_PROTOCOL: the program does not speak this version
	ExitForbidden = 77 // EX_NOPERM: the account has no right to do so
	ExitConfig    = 78 // EX_CONFIG
)
