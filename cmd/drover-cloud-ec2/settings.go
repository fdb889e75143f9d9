package main

import (
	"bytes"
	"encoding/json"
	"strings"

	"drover/core"
)

// settings are those of a host group's profile. Who asks EC2 is found as all programs of AWS do: by the environment,
// files of the account, or the role of the machine that this runs on.
type settings struct {
	Places          []place           `json:"places"`                     // in the order in which they are tried while one has no capacity
	InstanceProfile string            `json:"instance_profile,omitempty"` // name of the role of its machines
	Key             string            `json:"key,omitempty"`              // name of a key pair, for people
	DiskGiB         int32             `json:"disk_gib,omitempty"`         // of the root disk; 0: the image's own
	MaxPrice        string            `json:"max_price,omitempty"`        // of a spot machine an hour, in dollars; "": the price on demand
	Tags            map[string]string `json:"tags,omitempty"`             // beside drover's own
	Endpoint        string            `json:"endpoint,omitempty"`         // another server that speaks the API of EC2
}

// place is where machines are made.
type place struct {
	Region         string   `json:"region"`
	Image          string   `json:"image"` // id; it differs by region
	Subnet         string   `json:"subnet,omitempty"`
	SecurityGroups []string `json:"security_groups,omitempty"` // ids
}

const (
	maxPlaces   = 20
	maxUserData = 12 << 10 // EC2 allows 16 KiB, encoded
)

func read(text json.RawMessage) (settings, error) {
	var s settings
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, core.Wrap(err, core.CodeInvalid, "", "the settings of the host group's profile cannot be read: see docs/elastic.md")
	}
	switch {
	case len(s.Places) == 0 || len(s.Places) > maxPlaces:
		return s, wrong("places must name 1 to %d regions with their images", maxPlaces)
	case s.DiskGiB < 0:
		return s, wrong("disk_gib must not be below 0")
	}
	for _, place := range s.Places {
		if place.Region == "" || place.Image == "" {
			return s, wrong("each place needs a region and an image")
		}
	}
	for name := range s.Tags {
		if strings.HasPrefix(name, "drover-") || strings.HasPrefix(name, "aws:") {
			return s, wrong("tag %s is not free: choose a name that begins with neither drover- nor aws:", name)
		}
	}
	return s, nil
}

func wrong(format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, "", "host group: "+format, args...)
}
