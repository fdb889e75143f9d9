package operator

import (
	"strconv"

	"drover/core"
	"drover/web/page"
)

// hostFields are a host's settings; reading a field changes them. The reserve must be there.
func hostFields(s *core.HostSettings) []field {
	return []field{
		{
			Name: "labels", Label: page.Sentence("Labels"), Help: page.Sentence("What pools may require, such as gpu=yes,zone=a."),
			Value: core.FormatLabels(s.Labels),
			read: func(text string) (err error) {
				s.Labels, err = core.ParseLabels(text)
				return err
			},
		},
		cpus("reserve_cpu", page.Sentence("Processors kept for the host"), "", &s.Reserve.CPU),
		size("reserve_memory", page.Sentence("Memory kept for the host"), &s.Reserve.Memory),
		size("reserve_disk", page.Sentence("Disk kept for the host"), &s.Reserve.Disk),
		factor("overcommit_cpu", page.Sentence("Overcommit of processors"), page.Sentence("0: the default, 4."), &s.Overcommit.CPU),
		factor("overcommit_memory", page.Sentence("Overcommit of memory"), page.Sentence("0: the default, 1. Above 1, VMs may be killed for what others use."), &s.Overcommit.Memory),
		factor("overcommit_disk", page.Sentence("Overcommit of disk"), page.Sentence("0: the default, 1."), &s.Overcommit.Disk),
	}
}

func factor(name, label, help string, into *float64) field {
	return field{Name: name, Label: label, Help: help, Value: strconv.FormatFloat(*into, 'g', -1, 64), read: func(text string) error {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return core.Errorf(core.CodeInvalid, name, "%s: %.60q is no number: write one such as 1.5", name, text)
		}
		*into = n
		return nil
	}}
}
