package operator

import (
	"math"
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
		reservedCPUs("reserve_cpu", &s.Reserve.CPU),
		size("reserve_memory", page.Sentence("Memory kept for the host"), &s.Reserve.Memory),
		size("reserve_disk", page.Sentence("Disk kept for the host"), &s.Reserve.Disk),
		factor("overcommit_cpu", page.Sentence("Overcommit of processors"), page.Sentence("0: the default, 4."), &s.Overcommit.CPU),
		factor("overcommit_memory", page.Sentence("Overcommit of memory"), page.Sentence("0: the default, 1. Above 1, VMs may be killed for what others use."), &s.Overcommit.Memory),
		factor("overcommit_disk", page.Sentence("Overcommit of disk"), page.Sentence("0: the default, 1."), &s.Overcommit.Disk),
	}
}

// reservedCPUs is a number of processors, kept in thousandths.
func reservedCPUs(name string, into *int64) field {
	whole := float64(*into) / 1000
	f := factor(name, page.Sentence("Processors kept for the host"), "", &whole)
	read := f.read
	f.read = func(text string) error {
		err := read(text)
		if err == nil && (math.IsNaN(whole) || whole < 0 || whole > core.MaxCPU/1000) {
			return core.Errorf(core.CodeInvalid, name, "%s: %.60q is no number of processors between 0 and %d", name, text, core.MaxCPU/1000)
		}
		*into = int64(math.Round(whole * 1000))
		return err
	}
	return f
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
